"""What it means that our refund is not to be seen: by itself nothing. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from refunds.gateways.contract import ProviderContract
from refunds.gateways.port import NO_MONEY, AnswerClass, LookupAnswer
from refunds.states import CheckVerdict
from refunds.verdicts.facts import AttemptFacts, Judgement, OperationFacts


def safe_until(attempts: Sequence[AttemptFacts], contract: ProviderContract) -> datetime | None:
    """Return when the key stops being safe to send again; it counts from its first use, None before any."""
    first_use = min((attempt.started_at for attempt in attempts), default=None)
    return first_use + timedelta(seconds=contract.safe_resend_seconds) if first_use is not None else None


def speaking(lookups: Sequence[LookupAnswer], contract: ProviderContract) -> tuple[LookupAnswer, ...]:
    """Return the complete reads of surfaces whose silence can mean something at this provider."""
    return tuple(
        lookup
        for lookup in lookups
        if lookup.complete
        and (surface := contract.surface(lookup.surface)) is not None
        and surface.proves_absence.value
        and surface.lag_seconds.value is not None
    )


@dataclass(frozen=True, slots=True)
class Silence:
    """A check in which no object of ours was seen; every method is one condition of the contract's absence rule.

    A condition returns why it does not hold, or None.
    """

    facts: OperationFacts
    lookups: Sequence[LookupAnswer]
    reads: tuple[LookupAnswer, ...]  # those of them whose silence can mean something; never empty
    contract: ProviderContract
    now: datetime

    def judge(self, lines: list[str]) -> Judgement:
        """Say what the silence proves, and every condition that led there."""
        facts, rule = self.facts, self.contract.absence
        if facts.processor_reference is not None:
            lines.append(f"{facts.processor_reference} was ours and is not listed; absence is not proven")
            return Judgement(CheckVerdict.STILL_AMBIGUOUS, None, tuple(lines))
        if rule.needs_same_account.value and (strange := self._elsewhere()):
            lines.append(f"an attempt went elsewhere than this look-up: {strange}; people find out")
            return Judgement(CheckVerdict.STILL_AMBIGUOUS, None, tuple(lines), hopeless=True)
        refused = facts.newest is not None and facts.newest.answer_class is AnswerClass.REFUSED
        conditions: tuple[Callable[[], str | None], ...] = (self._contract_is_current,)
        if facts.doubtful or not refused:
            conditions += (*self._about_time, *self._about_the_payment, self._refusal_is_explained)
        for condition in conditions:
            obstacle = condition()
            if obstacle is not None:
                lines.append(obstacle)
                return Judgement(CheckVerdict.NOT_FOUND_YET, None, tuple(lines))
        if refused:
            lines.append("not listed, and the newest attempt was refused: no refund was made")
            return Judgement(CheckVerdict.CONFIRMED_REJECTED, None, tuple(lines))
        return self._absent(lines)

    def _absent(self, lines: list[str]) -> Judgement:
        """Absence is of use only while the key is safe to send again."""
        ends = safe_until(self.facts.attempts, self.contract)
        if ends is None or self.now >= ends:
            lines.append("not listed, but the key is no longer safe to send again; people decide")
            return Judgement(CheckVerdict.NOT_FOUND_YET, None, tuple(lines))
        lines.append(f"not listed, and the whole absence rule holds; key safe until {ends.isoformat()}")
        return Judgement(CheckVerdict.CONFIRMED_ABSENT, None, tuple(lines))

    @property
    def _about_time(self) -> tuple[Callable[[], str | None], ...]:
        return (self._is_possible, self._no_late_effect, self._horizon_passed, self._lag_passed)

    @property
    def _about_the_payment(self) -> tuple[Callable[[], str | None], ...]:
        return (self._account_and_mode, self._untouched, self._key_is_burnt, self._nobody_elses)

    def _contract_is_current(self) -> str | None:
        if self.contract.is_current(self.now):
            return None
        ended = self.contract.review_ends.date().isoformat()
        return (
            f"not listed, but the contract's review ended on {ended}: silence is not weighed; people decide"
        )

    def _is_possible(self) -> str | None:
        if self.contract.absence.possible.value:
            return None
        return "not listed, but nothing that can be read at this provider proves absence"

    def _no_late_effect(self) -> str | None:
        late = self.contract.server_errors.late_effects.value
        statuses = [attempt.http_status for attempt in self.facts.doubtful if attempt.http_status in late]
        return (
            f"not listed, but an attempt ended in a {statuses[0]}: its effect may still come"
            if statuses
            else None
        )

    def _horizon_passed(self) -> str | None:
        if not self.contract.absence.waits_for_in_flight_horizon.value:
            return None
        horizon = self._newest_doubt + timedelta(seconds=self.contract.in_flight_horizon_seconds)
        if not self.facts.doubtful or self.now >= horizon:
            return None
        return f"not listed, but a call may still be executing until {horizon.isoformat()}"

    def _lag_passed(self) -> str | None:
        if self._in_sight:
            return None
        shown = min(self._shown_by(read) for read in self.reads)
        return f"not listed, but what was made may stay out of sight until {shown.isoformat()}"

    def _account_and_mode(self) -> str | None:
        if self.contract.absence.unknown_payment_is_an_error.value:
            return None
        return "not listed, but a payment of another account or mode would look the same"

    def _untouched(self) -> str | None:
        if not self.contract.absence.needs_untouched_payment.value:
            return None
        if any(read.payment_untouched for read in self._in_sight):
            return None
        return "not listed, but the payment does not say that no refund of it was ever made"

    def _key_is_burnt(self) -> str | None:
        code = self.contract.absence.needs_answer_code.value
        if code is None or any(attempt.error_code == code for attempt in self.facts.attempts):
            return None
        return (
            f"not listed, but no attempt was answered {code}: the provider does not say that it made nothing"
        )

    def _nobody_elses(self) -> str | None:
        if not self.contract.absence.needs_no_new_refund.value or not self.facts.attempts:
            return None
        first = self.facts.attempts[0].started_at
        new = [
            refund.processor_reference
            for lookup in self.lookups
            for refund in lookup.refunds
            if refund.created_at is None or refund.created_at >= first
        ]
        return f"not listed under our id, but {new[0]} is new and may be ours" if new else None

    def _refusal_is_explained(self) -> str | None:
        """A refusal because money is back already may speak of the very refund that an earlier attempt made.

        A dispute explains nothing here: it may be younger than the refusal, and has answers of its own.
        """
        newest, captured = self.facts.newest, self.facts.captured_minor_units
        if newest is None or not newest.went_back_before or not self.facts.doubtful:
            return None
        listed = {
            refund.processor_reference: refund.amount_minor_units
            for lookup in self.lookups
            for refund in lookup.refunds
            if refund.status not in NO_MONEY
        }
        too_much = captured is None or sum(listed.values()) + self.facts.amount_minor_units > captured
        if listed and too_much:
            return None
        return (
            "not listed, but the newest attempt was refused because money is back already, and the refunds that "
            "are listed do not account for it: ours may be among those that are not"
        )

    @property
    def _in_sight(self) -> tuple[LookupAnswer, ...]:
        """The reads that would show by now what the newest doubtful attempt made."""
        return tuple(
            read for read in self.reads if not self.facts.doubtful or self.now >= self._shown_by(read)
        )

    def _shown_by(self, read: LookupAnswer) -> datetime:
        surface = self.contract.surface(read.surface)
        lag = surface.lag_seconds.value if surface is not None else None
        return self._newest_doubt + timedelta(seconds=lag or 0)  # ``speaking`` took stated lags only

    def _elsewhere(self) -> str:
        """Return the accounts and modes of attempts that are not the operation's own, of today."""
        modes = {True: "live mode", False: "test mode"}
        found = {
            attempt.account or "the platform"
            for attempt in self.facts.attempts
            if attempt.account != self.facts.account
        } | {
            modes[attempt.livemode]
            for attempt in self.facts.attempts
            if attempt.livemode is not None and attempt.livemode is not self.facts.livemode
        }
        return ", ".join(sorted(found))

    @property
    def _newest_doubt(self) -> datetime:
        return max((attempt.started_at for attempt in self.facts.doubtful), default=self.now)
