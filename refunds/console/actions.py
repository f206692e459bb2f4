"""Which work a case offers to a reviewer, and why a piece of it is not possible now.

What stands here only saves people a refused attempt: the pipeline asks everything again under its locks.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from approvals.states import ApprovalState, CaseKind
from refunds.casework.cancellation import is_stale
from refunds.selectors.review_records import CaseEvidence, OperationFacts, Reviewer
from refunds.states import RESOLVED_OPERATION_STATES, OperationState, WorkflowState

_ON_A_REQUEST: Final = (
    ("read-again", "Read the evidence again"),
    ("rebuild", "Rebuild the command from facts"),
    ("close", "Close without a refund"),
)
_STANDING: Final = ("close-completed", "Close as completed: the refund stands")
_IN_DOUBT: Final = frozenset(
    {OperationState.STATUS_UNKNOWN, OperationState.MANUAL_REVIEW, OperationState.PROVIDER_PENDING}
)


@dataclass(frozen=True, slots=True)
class WorkLine:
    """One action; ``barred`` is the code that keeps it from being done now, or empty."""

    name: str
    label: str
    barred: str


@dataclass(frozen=True, slots=True)
class OperationWork:
    """What the reviewer may do with one operation that people own; each code says why not, empty means yes.

    ``proposal_id`` is the proposal that waits for a second person, if there is one, and ``decide_barred`` keeps this
    reviewer from deciding about it.
    """

    operation_id: str
    reference_barred: str
    cancel_barred: str
    proposal_id: str = ""
    decide_barred: str = ""


@dataclass(frozen=True, slots=True)
class Work:
    """What this reviewer may do with the case beside deciding about an approval."""

    claim: str  # the label of the claim button; empty where there is nothing to claim
    can_release: bool
    barred: str  # why nothing at all is offered
    lines: tuple[WorkLine, ...]
    look_ups: tuple[str, ...]
    operations: tuple[OperationWork, ...] = ()


def work_on(reviewer: Reviewer, case: CaseEvidence, *, now: datetime) -> Work:
    """Return the work that the case offers."""
    barred = _why_none(reviewer, case)
    if barred:
        return Work("", can_release=False, barred=barred, lines=(), look_ups=())
    mine = case.lease is not None and case.lease.runs and case.lease.is_mine
    foreign = case.lease is not None and case.lease.runs and not case.lease.is_mine
    return Work(
        claim="" if foreign else _claim_label(case, mine=mine),
        can_release=mine,
        barred="CLAIMED_BY_ANOTHER" if foreign else "",
        lines=() if foreign or case.kind == CaseKind.APPROVAL else _lines(case, mine=mine),
        look_ups=tuple(o.operation_id for o in case.operations if o.state in _IN_DOUBT),
        operations=tuple(
            _with_people(case, o, mine=mine, foreign=foreign, now=now)
            for o in case.operations
            if o.state == OperationState.MANUAL_REVIEW
        ),
    )


def why_not(reviewer: Reviewer, case: CaseEvidence, name: str, *, now: datetime) -> str:
    """Return the code that keeps the reviewer from this action now, or an empty text."""
    work = work_on(reviewer, case, now=now)
    found = next((line for line in work.lines if line.name == name), None)
    return work.barred or (found.barred if found else "NOT_IN_REVIEW")


def _why_none(reviewer: Reviewer, case: CaseEvidence) -> str:
    if case.closed_at is not None:
        return "CASE_CLOSED"
    if case.merchant_id not in reviewer.approves_for:
        return "NOT_ALLOWED"
    return "OWN_REQUEST" if case.about_customer_self or _is_makers(case) else ""


def _is_makers(case: CaseEvidence) -> bool:
    """Tell whether the case only waits for others than the reviewer, who made the command."""
    approval = case.approval
    if case.kind != CaseKind.APPROVAL or approval is None or approval.state != ApprovalState.PENDING:
        return False
    return case.about_reviewer or approval.by_reviewer


def _claim_label(case: CaseEvidence, *, mine: bool) -> str:
    if mine:
        return "Keep this case for 20 more minutes"
    return "Take this case over" if case.lease is not None else "Claim this case"


def operation_work(work: Work, operation_id: str) -> OperationWork | None:
    """Return what may be done with one of the case's operations, or None where people do not own it."""
    return next((line for line in work.operations if line.operation_id == operation_id), None)


def _with_people(
    case: CaseEvidence, operation: OperationFacts, *, mine: bool, foreign: bool, now: datetime
) -> OperationWork:
    waiting = next((p for p in operation.proposals if p.state == ApprovalState.PENDING), None)
    stale = waiting is not None and is_stale(created_at=waiting.made_at, now=now)
    held = "CLAIMED_BY_ANOTHER" if foreign else "" if mine else "NOT_CLAIMED"
    if case.state != WorkflowState.MANUAL_REVIEW:
        held = "NOT_IN_REVIEW"
    known = "REFERENCE_KNOWN" if operation.processor_reference else ""
    if waiting is None:
        return OperationWork(operation.operation_id, known or held, known or held)
    undecidable = "PROPOSED_BY_YOU" if waiting.by_reviewer else "CLAIMED_BY_ANOTHER" if foreign else ""
    return OperationWork(
        operation.operation_id,
        known or held,
        known or (held if stale else "PROPOSAL_PENDING"),
        waiting.approval_id,
        "PROPOSAL_STALE" if stale else undecidable,
    )


def _lines(case: CaseEvidence, *, mine: bool) -> tuple[WorkLine, ...]:
    refund_stands = any(operation.state == OperationState.COMPLETED for operation in case.operations)
    offered = (*_ON_A_REQUEST, *([_STANDING] if refund_stands else []))
    return tuple(WorkLine(name, label, _barred(case, name, mine=mine)) for name, label in offered)


def _barred(case: CaseEvidence, name: str, *, mine: bool) -> str:
    if not mine:
        return "NOT_CLAIMED"
    if case.state != WorkflowState.MANUAL_REVIEW:
        return "NOT_IN_REVIEW"
    if case.order is None and name != "close":
        return "ORDER_UNKNOWN"
    return _money(case.operations, standing=name == _STANDING[0])


def _money(operations: tuple[OperationFacts, ...], *, standing: bool) -> str:
    states = {operation.state for operation in operations}
    if not states <= RESOLVED_OPERATION_STATES:
        return "OPERATION_UNRESOLVED"
    if standing:
        return "" if OperationState.COMPLETED in states else "NO_REFUND_STANDS"
    return "REFUND_STANDS" if OperationState.COMPLETED in states else ""
