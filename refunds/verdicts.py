"""What an answer or a look-up proves about an operation, and the state that follows. Pure.

Positive evidence (an object of ours at the provider) moves the operation whichever attempt it answers. Negative
evidence counts only for the newest attempt, and only if no earlier one may have executed. Silence, age and a
missing object prove nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from refunds.gateways.port import AnswerClass, LookupAnswer, ProviderStatus, RefundFact
from refunds.states import OPERATION_TABLE, CheckVerdict, OperationState

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
_PENDING: Final = frozenset({_O.PROVIDER_PENDING})
_WEAKER_THAN: Final = {_O.COMPLETED: _PENDING, _O.FAILED: _PENDING}  # pending after the end tells nothing new


def state_after_answer(
    state: OperationState, answer: AnswerClass, *, earlier: Sequence[AnswerClass | None]
) -> OperationState | None:
    """Return the state that an attempt's answer moves the operation to, or None if it moves nothing.

    ``earlier`` holds the answers of all earlier attempts; None is an attempt that was never answered.
    """
    if answer in _POSITIVE:
        return _legal(state, _POSITIVE[answer])
    if state is not _O.SUBMITTED:
        return None
    may_have_executed = any(cls is not AnswerClass.NOT_EXECUTED for cls in earlier)
    if answer is AnswerClass.NOT_EXECUTED and not may_have_executed:
        return _O.CREATED
    if answer is AnswerClass.REFUSED and not may_have_executed:
        return _O.REJECTED
    return _O.STATUS_UNKNOWN


def state_after_check(state: OperationState, verdict: CheckVerdict) -> OperationState | None:
    """Return the state that a reconciliation verdict moves the operation to, or None if it moves nothing."""
    return _legal(state, _BY_VERDICT[verdict]) if verdict in _BY_VERDICT else None


@dataclass(frozen=True, slots=True)
class OperationFacts:
    """What a look-up result is compared with."""

    operation_id: str
    amount_minor_units: int
    currency: str
    processor_reference: str | None


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict of one check, the refund it rests on, and every step that led there."""

    verdict: CheckVerdict
    refund: RefundFact | None
    explanation: tuple[str, ...]
    contradictory: bool = False  # the provider shows what must not be: waiting will not help


def judge(facts: OperationFacts, lookups: Sequence[LookupAnswer]) -> Judgement:
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
        return _judge_found(refund, facts, lines)
    if any(lookup.complete for lookup in lookups):
        lines.append("not found in a complete list; it may still be executing, so absence is not proven")
        return Judgement(CheckVerdict.NOT_FOUND_YET, None, tuple(lines))
    lines.append("no source could be read completely; nothing is proven")
    return Judgement(CheckVerdict.STILL_AMBIGUOUS, None, tuple(lines))


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
    return Judgement(verdict, refund, tuple(lines))


def _is_ours(refund: RefundFact, facts: OperationFacts) -> bool:
    known = facts.processor_reference is not None and refund.processor_reference == facts.processor_reference
    return known or refund.operation_id == facts.operation_id


def _legal(state: OperationState, target: OperationState) -> OperationState | None:
    """Return the jump that positive evidence makes; a state that it contradicts is for people."""
    if target is state or target in _WEAKER_THAN.get(state, frozenset()):
        return None
    return target if OPERATION_TABLE.allows(state, target) else _O.MANUAL_REVIEW
