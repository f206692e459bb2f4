"""Which state an answer or a check moves an operation to. Pure."""

from collections.abc import Sequence
from typing import Final

from refunds.gateways.port import NO_MONEY, AnswerClass, ProviderStatus
from refunds.states import OPERATION_TABLE, CheckVerdict, OperationState
from refunds.verdicts.facts import Judgement

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
_UNDECIDED: Final = frozenset({_O.SUBMITTED, _O.STATUS_UNKNOWN, _O.PROVIDER_PENDING, _O.CONFIRMED_ABSENT})
_IN_DOUBT: Final = frozenset({_O.STATUS_UNKNOWN, _O.MANUAL_REVIEW})
_FOR_PEOPLE: Final = (_O.MANUAL_REVIEW, _O.STATUS_UNKNOWN)  # SUBMITTED gets there by way of being in doubt
_PENDING: Final = frozenset({_O.PROVIDER_PENDING})
_WEAKER_THAN: Final = {_O.COMPLETED: _PENDING, _O.FAILED: _PENDING}  # pending after the end tells nothing new

# The provider told that our refund exists: what was said never to have executed is contradicted.
_AFTER_NEWS: Final = {
    _O.CONFIRMED_ABSENT: _O.PROVIDER_PENDING,
    _O.CREATED: _O.MANUAL_REVIEW,
    _O.REJECTED: _O.MANUAL_REVIEW,
    _O.CANCELLED: _O.MANUAL_REVIEW,
}

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


def state_after_check(state: OperationState, judgement: Judgement) -> OperationState | None:
    """Return the state that a reconciliation check moves the operation to, or None if it moves nothing.

    Only an operation that is in doubt can be proven absent or rejected; what the provider shows moves every state.
    """
    verdict, refund = judgement.verdict, judgement.refund
    if state is _O.COMPLETED and refund is not None and refund.status is ProviderStatus.REQUIRES_ACTION:
        return _O.PROVIDER_PENDING  # the bank sent the money back, and the customer has to say where it goes
    if state is _O.FAILED and refund is not None and refund.status not in NO_MONEY:
        return _O.MANUAL_REVIEW  # the object itself says, later, that it is alive: its amount is not free
    if judgement.contradictory or (judgement.hopeless and state in _UNDECIDED):
        return next((to for to in _FOR_PEOPLE if OPERATION_TABLE.allows(state, to)), None)
    if verdict in _BY_VERDICT:
        return _legal(state, _BY_VERDICT[verdict])
    if judgement.told:
        return _AFTER_NEWS.get(state)
    return _MISSING.get(verdict) if state in _IN_DOUBT else None


def _legal(state: OperationState, target: OperationState) -> OperationState | None:
    """Return the jump that positive evidence makes; a state that it contradicts is for people."""
    if target is state or target in _WEAKER_THAN.get(state, frozenset()):
        return None
    return target if OPERATION_TABLE.allows(state, target) else _O.MANUAL_REVIEW
