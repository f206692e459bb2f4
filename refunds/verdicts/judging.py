"""Weighs everything that is known about one refund, by its provider's contract. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from typing import Final

from refunds.gateways.contract import ProviderContract
from refunds.gateways.port import (
    LIST,
    NO_MONEY,
    AnswerClass,
    EventFact,
    LookupAnswer,
    ProviderStatus,
    RefundFact,
    SettlementFact,
)
from refunds.states import CheckVerdict
from refunds.verdicts.facts import AttemptFacts, Judgement, OperationFacts
from refunds.verdicts.silence import Silence, speaking

_VERDICT_OF: Final = {
    ProviderStatus.SUCCEEDED: CheckVerdict.CONFIRMED_COMPLETED,
    ProviderStatus.PENDING: CheckVerdict.CONFIRMED_PENDING,
    ProviderStatus.REQUIRES_ACTION: CheckVerdict.CONFIRMED_PENDING,
    ProviderStatus.FAILED: CheckVerdict.CONFIRMED_FAILED,
    ProviderStatus.CANCELED: CheckVerdict.CONFIRMED_FAILED,
    ProviderStatus.UNRECOGNISED: CheckVerdict.STILL_AMBIGUOUS,
}


def judge(
    facts: OperationFacts,
    lookups: Sequence[LookupAnswer],
    *,
    contract: ProviderContract,
    now: datetime,
    events: Sequence[EventFact] = (),
    settlements: Sequence[SettlementFact] = (),
) -> Judgement:
    """Weigh what the provider showed and told. Only an object that carries our operation id is ours.

    ``events`` and ``settlements`` are those that name this operation or its refund: they prove that there is one,
    and never that it is complete.
    """
    return _Weighing(facts, lookups, contract, now, events, settlements).judge()


@dataclass(slots=True)
class _Weighing:
    facts: OperationFacts
    lookups: Sequence[LookupAnswer]
    contract: ProviderContract
    now: datetime
    events: Sequence[EventFact]
    settlements: Sequence[SettlementFact]
    lines: list[str] = field(default_factory=list)

    def judge(self) -> Judgement:
        """Go from the strongest evidence to the weakest: objects, contradictions, what was told, silence."""
        review = self.contract.review
        self.lines.append(f"by the contract of {self.contract.provider}, reviewed as {review.version.value}")
        self.lines += [_of_attempt(number, made) for number, made in enumerate(self.facts.attempts, start=1)]
        ours = self._objects()
        told = self._told()
        if len(ours) > 1:
            self.lines.append(f"more than one refund carries this operation's id: {', '.join(sorted(ours))}")
            return self._contradiction()
        if ours:
            (refund,) = ours.values()
            return self._found(refund)
        return self._without_object(told)

    def _objects(self) -> dict[str, RefundFact]:
        """Return the refund objects that are ours, by their reference."""
        ours: dict[str, RefundFact] = {}
        for lookup in self.lookups:
            surface = self.contract.surface(lookup.surface)
            shows = surface is None or surface.proves_presence.value
            mine = [refund for refund in lookup.refunds if shows and _is_ours(refund, self.facts)]
            ours |= {refund.processor_reference: refund for refund in mine}
            self.lines.append(
                f"{lookup.surface}: {'complete' if lookup.complete else 'incomplete'}, "
                f"{len(lookup.refunds)} refunds, {len(mine)} with this operation's id"
            )
        return ours

    def _told(self) -> list[str]:
        """Return what proves that our refund exists without showing it."""
        categories = self.contract.settlement.refund_categories.value
        collisions = self.contract.guard.collision_codes.value
        told = [
            f"event {event.event_type} {event.event_id}: {event.processor_reference}" for event in self.events
        ]
        told += [
            f"settled in {row.report} on {row.booked_at.date().isoformat()}: {row.processor_reference}"
            for row in self.settlements
            if row.category in categories
        ]
        told += [
            f"an attempt was answered {attempt.error_code}: its refund was there already"
            for attempt in self.facts.attempts
            if attempt.error_code in collisions
        ]
        told += [
            f"an attempt was answered {attempt.http_status}: it was done, and what it made could not be read"
            for attempt in self.facts.attempts
            if attempt.was_done_unread
        ]
        self.lines += told
        return told

    def _without_object(self, told: list[str]) -> Judgement:
        was_never_ours = self.facts.processor_reference is None
        if was_never_ours and any(self._is_mismatch(attempt) for attempt in self.facts.attempts):
            self.lines.append("the key was used with another request before; people find out which")
            return self._unproven(hopeless=True, told=bool(told))
        stated = self._stated_by_events()
        if stated is not None:
            return stated
        reads = speaking(self.lookups, self.contract)
        if not reads:
            nowhere = was_never_ours and self._payment_is_unknown()
            self.lines.append(
                "the provider knows no such payment in this account and mode; people check both"
                if nowhere
                else "no source could be read completely; nothing is proven"
            )
            return self._unproven(hopeless=nowhere, told=bool(told))
        if told:
            self.lines.append("not listed, but the provider told of it; it is looked up again")
            return Judgement(CheckVerdict.NOT_FOUND_YET, None, tuple(self.lines), told=True)
        return Silence(self.facts, self.lookups, reads, self.contract, self.now).judge(self.lines)

    def _stated_by_events(self) -> Judgement | None:
        """Return what events state by their own signed words, where the contract takes them; never completion.

        They come in any order: money that did not move, or came back, is the last word about one refund.
        """
        words = self.contract.status_words.of_events.value
        statuses = {words[event.event_type] for event in self.events if event.event_type in words}
        if not statuses:
            return None
        if statuses & NO_MONEY:
            self.lines.append("an event states that no money moved, or that it came back")
            return Judgement(CheckVerdict.CONFIRMED_FAILED, None, tuple(self.lines))
        self.lines.append("an event states that the refund was taken on; an event alone completes nothing")
        return Judgement(CheckVerdict.CONFIRMED_PENDING, None, tuple(self.lines))

    def _found(self, refund: RefundFact) -> Judgement:
        doubt = _why_not_this_one(refund, self.facts, self.lookups)
        if doubt is not None:
            self.lines.append(f"{refund.processor_reference} {doubt}")
            return self._contradiction()
        if _is_unplaced(refund, self.facts, self.lookups):
            self.lines.append(
                f"{refund.processor_reference} carries our id; that it is of our payment is for the list to say"
            )
            return self._unproven(hopeless=False, told=True)
        same = (refund.amount_minor_units, refund.currency) == (
            self.facts.amount_minor_units,
            self.facts.currency,
        )
        if not same:
            self.lines.append(f"{refund.processor_reference} carries our id but another amount or currency")
            return Judgement(CheckVerdict.STILL_AMBIGUOUS, refund, tuple(self.lines), contradictory=True)
        self.lines.append(
            f"{refund.processor_reference} is ours and its status is {refund.status} ({refund.words})"
        )
        unknown_word = refund.status is ProviderStatus.UNRECOGNISED  # waiting will not teach us a word
        return Judgement(_VERDICT_OF[refund.status], refund, tuple(self.lines), contradictory=unknown_word)

    def _contradiction(self) -> Judgement:
        return Judgement(CheckVerdict.STILL_AMBIGUOUS, None, tuple(self.lines), contradictory=True)

    def _unproven(self, *, hopeless: bool, told: bool) -> Judgement:
        return Judgement(CheckVerdict.STILL_AMBIGUOUS, None, tuple(self.lines), hopeless=hopeless, told=told)

    def _is_mismatch(self, attempt: AttemptFacts) -> bool:
        rule = self.contract.mismatch
        return (
            rule.http.value is not None
            and attempt.answer_class is AnswerClass.UNKNOWN
            and attempt.http_status == rule.http.value
            and rule.error_type.value in (None, attempt.error_type)
            and rule.code.value in (None, attempt.error_code)
        )

    def _payment_is_unknown(self) -> bool:
        """Tell whether the call and the look-up were both told that there is no such payment."""
        newest = self.facts.newest
        return (
            newest is not None
            and newest.http_status == HTTPStatus.NOT_FOUND
            and any(
                lookup.http_status == HTTPStatus.NOT_FOUND
                and (surface := self.contract.surface(lookup.surface)) is not None
                and surface.proves_absence.value
                for lookup in self.lookups
            )
        )


def _of_attempt(number: int, attempt: AttemptFacts) -> str:
    status = f" with {attempt.http_status}" if attempt.http_status else ""
    answer = f"answered {attempt.answer_class}{status}" if attempt.answer_class else "no answer"
    return f"attempt {number} at {attempt.started_at.isoformat()}: {answer}"


def _is_ours(refund: RefundFact, facts: OperationFacts) -> bool:
    known = facts.processor_reference is not None and refund.processor_reference == facts.processor_reference
    return known or refund.operation_id == facts.operation_id


def _why_not_this_one(
    refund: RefundFact, facts: OperationFacts, lookups: Sequence[LookupAnswer]
) -> str | None:
    """Return what speaks against a refund that carries our id, or None."""
    if refund.processor_reference in facts.references_of_others:
        return "carries our id, but is known as the refund of another operation"
    if facts.processor_reference not in (None, refund.processor_reference):
        return f"carries our id, but {facts.processor_reference} is known as ours"
    listed = [lookup for lookup in lookups if lookup.surface == LIST and lookup.complete]
    named = {found.processor_reference for lookup in listed for found in lookup.refunds}
    if listed and facts.processor_reference is None and refund.processor_reference not in named:
        return "carries our id, but is no refund of our payment"
    return None


def _is_unplaced(refund: RefundFact, facts: OperationFacts, lookups: Sequence[LookupAnswer]) -> bool:
    """Tell whether nothing shows that the refund is of our payment; anybody can copy an id into its metadata.

    Read by its own id it may name the payment otherwise than we do: then the payment's list must show it.
    """
    if facts.processor_reference is not None or facts.payment_reference in ("", refund.payment_reference):
        return False
    listed = {
        found.processor_reference for lookup in lookups if lookup.surface == LIST for found in lookup.refunds
    }
    return refund.processor_reference not in listed
