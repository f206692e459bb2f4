"""What an answer or a look-up proves about an operation, and the state that follows. Pure.

Positive evidence (an object of ours at the provider) moves the operation whichever attempt it answers. Negative
evidence counts only for the newest attempt, and only if no earlier one may have executed. Silence and age prove
nothing, and a missing object proves absence only by the whole rule of ``_judge_missing``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Final

from refunds.gateways.port import LIST, AnswerClass, LookupAnswer, ProviderStatus, RefundFact
from refunds.states import OPERATION_TABLE, CheckVerdict, OperationState

MAX_EXECUTIONS: Final = 5  # attempts that may have executed; then people take over
_O = OperationState
_POSITIVE: Final = {
    AnswerClass.ACCEPTED: _O.COMPLETED,
    AnswerClass.PENDING: _O.PROVIDER_PENDING,
    AnswerClass.FAILED: _O.FAILED,
}
_BY_VERDICT: Final = {
    CheckVerdict.CONFIRMED_COMPLETED: _O.COMPLETED,
    CheckVerdict.CONFIRMED_PENDING: _O.PROVIDER_PENDING,
    CheckVerdict.CONFIRMED_FAILED: _O.FAILED,
}
_MISSING: Final = {
    CheckVerdict.CONFIRMED_ABSENT: _O.CONFIRMED_ABSENT,
    CheckVerdict.CONFIRMED_REJECTED: _O.REJECTED,
}
_IN_DOUBT: Final = frozenset({_O.STATUS_UNKNOWN, _O.MANUAL_REVIEW})
_FOR_PEOPLE: Final = (_O.MANUAL_REVIEW, _O.STATUS_UNKNOWN)  # SUBMITTED gets there by way of being in doubt
_PENDING: Final = frozenset({_O.PROVIDER_PENDING})
_WEAKER_THAN: Final = {_O.COMPLETED: _PENDING, _O.FAILED: _PENDING}  # pending after the end tells nothing new


# An object of ours, or no answer at all, means the same whatever came before.
JUDGED_BY_EARLIER_ANSWERS = frozenset({AnswerClass.NOT_EXECUTED, AnswerClass.REFUSED})


def state_after_answer(
    state: OperationState,
    answer: AnswerClass,
    *,
    earlier: Sequence[AnswerClass | None],
    went_back_before: bool = False,
) -> OperationState | None:
    """Return the state that an attempt's answer moves the operation to, or None if it moves nothing.

    ``earlier`` holds the answers of all earlier attempts; None is an attempt that was never answered.
    ``went_back_before``: refused because money of this payment is back already, so the books are asked whose doing
    that was before anything is called rejected.
    """
    if answer in _POSITIVE:
        return _legal(state, _POSITIVE[answer])
    if state is not _O.SUBMITTED:
        return None
    may_have_executed = any(cls is not AnswerClass.NOT_EXECUTED for cls in earlier)
    if answer is AnswerClass.NOT_EXECUTED and not may_have_executed:
        return _O.CREATED
    if answer is AnswerClass.REFUSED and not may_have_executed and not went_back_before:
        return _O.REJECTED
    return _O.STATUS_UNKNOWN


def state_after_check(state: OperationState, judgement: "Judgement") -> OperationState | None:
    """Return the state that a reconciliation check moves the operation to, or None if it moves nothing.

    Only an operation that is in doubt can be proven absent or rejected; what the provider shows moves every state.
    """
    verdict, refund = judgement.verdict, judgement.refund
    if state is _O.COMPLETED and refund is not None and refund.status is ProviderStatus.REQUIRES_ACTION:
        return _O.PROVIDER_PENDING  # the bank sent the money back, and the customer has to say where it goes
    if judgement.contradictory:
        return next((to for to in _FOR_PEOPLE if OPERATION_TABLE.allows(state, to)), None)
    if verdict in _BY_VERDICT:
        return _legal(state, _BY_VERDICT[verdict])
    return _MISSING.get(verdict) if state in _IN_DOUBT else None


@dataclass(frozen=True, slots=True)
class AttemptFacts:
    """One attempt: when its call began and what came of it; no class is an answer that never came."""

    started_at: datetime
    answer_class: AnswerClass | None
    http_status: int | None

    @property
    def may_have_executed(self) -> bool:
        """Tell whether the provider may have made a refund for this attempt."""
        return self.answer_class not in {AnswerClass.NOT_EXECUTED, AnswerClass.REFUSED}


@dataclass(frozen=True, slots=True)
class AbsenceRule:
    """The provider's windows: how long a call may still run, and how long a key stands for its first use."""

    in_flight_horizon: timedelta
    safe_resend: timedelta


@dataclass(frozen=True, slots=True)
class OperationFacts:
    """What a look-up result is compared with."""

    operation_id: str
    amount_minor_units: int
    currency: str
    processor_reference: str | None
    attempts: tuple[AttemptFacts, ...] = ()  # oldest first


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict of one check, the refund it rests on, and every step that led there."""

    verdict: CheckVerdict
    refund: RefundFact | None
    explanation: tuple[str, ...]
    contradictory: bool = False  # the provider shows what must not be: waiting will not help


def judge(
    facts: OperationFacts, lookups: Sequence[LookupAnswer], *, rule: AbsenceRule, now: datetime
) -> Judgement:
    """Weigh what the provider showed. Only an object that carries our operation id is ours."""
    lines: list[str] = []
    ours: dict[str, RefundFact] = {}
    for lookup in lookups:
        mine = [refund for refund in lookup.refunds if _is_ours(refund, facts)]
        ours |= {refund.processor_reference: refund for refund in mine}
        lines.append(
            f"{lookup.surface}: {'complete' if lookup.complete else 'incomplete'}, "
            f"{len(lookup.refunds)} refunds, {len(mine)} with this operation's id"
        )
    if len(ours) > 1:
        lines.append(f"more than one refund carries this operation's id: {', '.join(sorted(ours))}")
        return Judgement(CheckVerdict.STILL_AMBIGUOUS, None, tuple(lines), contradictory=True)
    if ours:
        (refund,) = ours.values()
        doubt = _why_not_this_one(refund, facts, lookups)
        if doubt is not None:
            lines.append(f"{refund.processor_reference} {doubt}")
            return Judgement(CheckVerdict.STILL_AMBIGUOUS, None, tuple(lines), contradictory=True)
        return _judge_found(refund, facts, lines)
    if any(lookup.complete and lookup.surface == LIST for lookup in lookups):
        return _judge_missing(facts, rule, now, lines)
    lines.append("no source could be read completely; nothing is proven")
    return Judgement(CheckVerdict.STILL_AMBIGUOUS, None, tuple(lines))


def _why_not_this_one(
    refund: RefundFact, facts: OperationFacts, lookups: Sequence[LookupAnswer]
) -> str | None:
    """Return what speaks against a refund that carries our id, or None."""
    if facts.processor_reference not in (None, refund.processor_reference):
        return f"carries our id, but {facts.processor_reference} is known as ours"
    listed = [lookup for lookup in lookups if lookup.surface == LIST and lookup.complete]
    named = {found.processor_reference for lookup in listed for found in lookup.refunds}
    if listed and facts.processor_reference is None and refund.processor_reference not in named:
        return "carries our id, but is no refund of our payment"
    return None


def _judge_missing(facts: OperationFacts, rule: AbsenceRule, now: datetime, lines: list[str]) -> Judgement:
    """Judge a complete list without our refund: by itself it proves nothing.

    Absence needs all of: no reference that was ever ours, the in-flight horizon passed since the last attempt that
    may have executed, and no attempt that ended in a 500, whose effect may come later. Absence is of use only while
    the key is safe to send again. A refusal of the newest attempt then says what became of the instruction.
    """
    if facts.processor_reference is not None:
        lines.append(f"{facts.processor_reference} was ours and is not listed; absence is not proven")
        return Judgement(CheckVerdict.STILL_AMBIGUOUS, None, tuple(lines))
    doubtful = [attempt for attempt in facts.attempts if attempt.may_have_executed]
    refused = bool(facts.attempts) and facts.attempts[-1].answer_class is AnswerClass.REFUSED
    if any(attempt.http_status == HTTPStatus.INTERNAL_SERVER_ERROR for attempt in doubtful):
        lines.append("not listed, but an attempt ended in a 500: its effect may still come")
        return Judgement(CheckVerdict.NOT_FOUND_YET, None, tuple(lines))
    horizon = max((attempt.started_at for attempt in doubtful), default=now) + rule.in_flight_horizon
    if doubtful and now < horizon:
        lines.append(f"not listed, but a call may still be executing until {horizon.isoformat()}")
        return Judgement(CheckVerdict.NOT_FOUND_YET, None, tuple(lines))
    if refused:
        lines.append("not listed, and the newest attempt was refused: no refund was made")
        return Judgement(CheckVerdict.CONFIRMED_REJECTED, None, tuple(lines))
    ends = safe_until(facts.attempts, rule)
    if ends is None or now >= ends:
        lines.append("not listed, but the key is no longer safe to send again; people decide")
        return Judgement(CheckVerdict.NOT_FOUND_YET, None, tuple(lines))
    lines.append(
        f"not listed after the in-flight horizon, no attempt ended in a 500, key safe until {ends.isoformat()}"
    )
    return Judgement(CheckVerdict.CONFIRMED_ABSENT, None, tuple(lines))


def safe_until(attempts: Sequence[AttemptFacts], rule: AbsenceRule) -> datetime | None:
    """Return when the key stops being safe to send again; it counts from its first use, None before any."""
    first_use = min((attempt.started_at for attempt in attempts), default=None)
    return first_use + rule.safe_resend if first_use is not None else None


def _judge_found(refund: RefundFact, facts: OperationFacts, lines: list[str]) -> Judgement:
    same = (refund.amount_minor_units, refund.currency) == (facts.amount_minor_units, facts.currency)
    if not same:
        lines.append(f"{refund.processor_reference} carries our id but another amount or currency")
        return Judgement(CheckVerdict.STILL_AMBIGUOUS, refund, tuple(lines), contradictory=True)
    verdict = {
        ProviderStatus.SUCCEEDED: CheckVerdict.CONFIRMED_COMPLETED,
        ProviderStatus.PENDING: CheckVerdict.CONFIRMED_PENDING,
        ProviderStatus.REQUIRES_ACTION: CheckVerdict.CONFIRMED_PENDING,
        ProviderStatus.FAILED: CheckVerdict.CONFIRMED_FAILED,
        ProviderStatus.CANCELED: CheckVerdict.CONFIRMED_FAILED,
        ProviderStatus.UNRECOGNISED: CheckVerdict.STILL_AMBIGUOUS,
    }[refund.status]
    lines.append(f"{refund.processor_reference} is ours and its status is {refund.status}")
    unknown_word = refund.status is ProviderStatus.UNRECOGNISED  # waiting will not teach us a word
    return Judgement(verdict, refund, tuple(lines), contradictory=unknown_word)


def _is_ours(refund: RefundFact, facts: OperationFacts) -> bool:
    known = facts.processor_reference is not None and refund.processor_reference == facts.processor_reference
    return known or refund.operation_id == facts.operation_id


def _legal(state: OperationState, target: OperationState) -> OperationState | None:
    """Return the jump that positive evidence makes; a state that it contradicts is for people."""
    if target is state or target in _WEAKER_THAN.get(state, frozenset()):
        return None
    return target if OPERATION_TABLE.allows(state, target) else _O.MANUAL_REVIEW
