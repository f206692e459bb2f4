"""Every state of a refund, the legal jumps, and how an operation's state moves its workflow. Pure.

The tables are read by django-fsm, by the database triggers and by the tests; nothing states them a second time.
"""

from enum import StrEnum
from typing import Final

from ledger.state_table import StateTable


class WorkflowState(StrEnum):
    """Where a customer's request is."""

    EVIDENCE_PENDING = "EVIDENCE_PENDING"
    EVIDENCE_VERIFIED = "EVIDENCE_VERIFIED"
    ACTION_PROPOSED = "ACTION_PROPOSED"
    PROPOSAL_VALIDATED = "PROPOSAL_VALIDATED"
    PROPOSAL_REJECTED = "PROPOSAL_REJECTED"
    REQUIRES_HUMAN_APPROVAL = "REQUIRES_HUMAN_APPROVAL"
    APPROVED = "APPROVED"
    EXECUTING = "EXECUTING"
    MANUAL_REVIEW = "MANUAL_REVIEW"
    COMPLETED = "COMPLETED"
    NO_REFUND_DUE = "NO_REFUND_DUE"
    REJECTED = "REJECTED"
    WITHDRAWN = "WITHDRAWN"


class OperationState(StrEnum):
    """What is known about one financial instruction."""

    CREATED = "CREATED"
    SUBMITTED = "SUBMITTED"
    PROVIDER_PENDING = "PROVIDER_PENDING"
    STATUS_UNKNOWN = "STATUS_UNKNOWN"
    CONFIRMED_ABSENT = "CONFIRMED_ABSENT"
    MANUAL_REVIEW = "MANUAL_REVIEW"
    COMPLETED = "COMPLETED"
    REJECTED = "REJECTED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class Origin(StrEnum):
    """Who opened a workflow."""

    CUSTOMER = "CUSTOMER"
    STAFF = "STAFF"


class CheckCause(StrEnum):
    """Why a reconciliation check is made."""

    SCHEDULED = "SCHEDULED"  # the contract's interval has passed: the only cause that uses its checks up
    WEBHOOK = "WEBHOOK"  # the provider sent an event about this refund
    PERSON = "PERSON"  # somebody asked for it
    LATE = "LATE"  # people have it, and evidence may still come


class WebhookOutcome(StrEnum):
    """What became of one stored event."""

    RECEIVED = "RECEIVED"  # waits to be applied
    APPLIED = "APPLIED"
    IGNORED = "IGNORED"  # not about a refund, or not about ours
    GIVEN_UP = "GIVEN_UP"  # the look-up kept failing; the scheduled checks go on without it


class WorkerFault(StrEnum):
    """What a worker could not do with a message; the scanners find the work that it was about."""

    TASK_UNKNOWN = "TASK_UNKNOWN"  # of a release that this worker is not
    MESSAGE_UNREADABLE = "MESSAGE_UNREADABLE"
    TASK_FAILED = "TASK_FAILED"  # also one with arguments that it does not take


class CheckVerdict(StrEnum):
    """What one reconciliation check established."""

    NOT_FOUND_YET = "NOT_FOUND_YET"
    CONFIRMED_ABSENT = "CONFIRMED_ABSENT"
    CONFIRMED_COMPLETED = "CONFIRMED_COMPLETED"
    CONFIRMED_PENDING = "CONFIRMED_PENDING"
    CONFIRMED_FAILED = "CONFIRMED_FAILED"
    CONFIRMED_REJECTED = "CONFIRMED_REJECTED"
    STILL_AMBIGUOUS = "STILL_AMBIGUOUS"


class DifferenceKind(StrEnum):
    """How three books about one refund can differ: ours, the provider's list, and the settlement reports."""

    MISSING_IN_SETTLEMENT = "MISSING_IN_SETTLEMENT"  # the reports reach further, and do not have it
    MISSING_AT_PROVIDER = "MISSING_AT_PROVIDER"  # the provider's complete list does not have it
    MISSING_OURS = "MISSING_OURS"  # the provider or a report has it, and we do not
    AMOUNT_DIFFERS = "AMOUNT_DIFFERS"
    CURRENCY_DIFFERS = "CURRENCY_DIFFERS"
    STATUS_DIFFERS = "STATUS_DIFFERS"
    UNKNOWN_OPERATION_ID = (
        "UNKNOWN_OPERATION_ID"  # a refund names an operation that this payment does not have
    )
    DUPLICATE_FOR_OPERATION = "DUPLICATE_FOR_OPERATION"  # more than one refund stands for one operation
    FAILED_BUT_SETTLED = "FAILED_BUT_SETTLED"  # ours moved no money, and a report says that it did
    COMPLETED_BUT_RETURNED = (
        "COMPLETED_BUT_RETURNED"  # ours stands, and a report says that the money came back
    )
    DISPUTE_MISSING_OURS = "DISPUTE_MISSING_OURS"
    REPORTS_DISAGREE = "REPORTS_DISAGREE"  # two reports tell one balance transaction differently


_W = WorkflowState
_O = OperationState

WORKFLOW_TABLE: Final = StateTable(
    initial=_W.EVIDENCE_PENDING,
    targets={
        _W.EVIDENCE_PENDING: frozenset({_W.EVIDENCE_VERIFIED, _W.MANUAL_REVIEW, _W.WITHDRAWN}),
        _W.EVIDENCE_VERIFIED: frozenset(
            {_W.ACTION_PROPOSED, _W.NO_REFUND_DUE, _W.MANUAL_REVIEW, _W.WITHDRAWN}
        ),
        _W.ACTION_PROPOSED: frozenset(
            {_W.PROPOSAL_VALIDATED, _W.PROPOSAL_REJECTED, _W.MANUAL_REVIEW, _W.WITHDRAWN}
        ),
        _W.PROPOSAL_VALIDATED: frozenset(
            {_W.APPROVED, _W.REQUIRES_HUMAN_APPROVAL, _W.MANUAL_REVIEW, _W.WITHDRAWN}
        ),
        _W.PROPOSAL_REJECTED: frozenset({_W.MANUAL_REVIEW}),
        _W.REQUIRES_HUMAN_APPROVAL: frozenset(
            {_W.APPROVED, _W.REJECTED, _W.MANUAL_REVIEW, _W.EVIDENCE_PENDING, _W.WITHDRAWN}
        ),
        _W.APPROVED: frozenset({_W.EXECUTING, _W.EVIDENCE_PENDING, _W.MANUAL_REVIEW, _W.WITHDRAWN}),
        _W.EXECUTING: frozenset({_W.COMPLETED, _W.MANUAL_REVIEW, _W.REJECTED, _W.EVIDENCE_PENDING}),
        _W.MANUAL_REVIEW: frozenset(
            {
                _W.EVIDENCE_PENDING,
                _W.REQUIRES_HUMAN_APPROVAL,
                _W.EXECUTING,
                _W.COMPLETED,
                _W.REJECTED,
                _W.NO_REFUND_DUE,
                _W.WITHDRAWN,
            }
        ),
        _W.COMPLETED: frozenset({_W.MANUAL_REVIEW}),
        _W.NO_REFUND_DUE: frozenset({_W.MANUAL_REVIEW}),
        _W.REJECTED: frozenset({_W.MANUAL_REVIEW}),
        _W.WITHDRAWN: frozenset({_W.MANUAL_REVIEW}),
    },
)

OPERATION_TABLE: Final = StateTable(
    initial=_O.CREATED,
    targets={
        _O.CREATED: frozenset({_O.SUBMITTED, _O.CANCELLED, _O.MANUAL_REVIEW}),
        _O.SUBMITTED: frozenset(
            {_O.COMPLETED, _O.PROVIDER_PENDING, _O.REJECTED, _O.FAILED, _O.STATUS_UNKNOWN, _O.CREATED}
        ),
        _O.PROVIDER_PENDING: frozenset({_O.COMPLETED, _O.FAILED, _O.STATUS_UNKNOWN, _O.MANUAL_REVIEW}),
        _O.STATUS_UNKNOWN: frozenset(
            {
                _O.COMPLETED,
                _O.PROVIDER_PENDING,
                _O.FAILED,
                _O.REJECTED,
                _O.CONFIRMED_ABSENT,
                _O.MANUAL_REVIEW,
            }
        ),
        _O.CONFIRMED_ABSENT: frozenset(
            {_O.SUBMITTED, _O.COMPLETED, _O.PROVIDER_PENDING, _O.FAILED, _O.MANUAL_REVIEW}
        ),
        _O.MANUAL_REVIEW: frozenset(
            {
                _O.COMPLETED,
                _O.PROVIDER_PENDING,
                _O.FAILED,
                _O.REJECTED,
                _O.CONFIRMED_ABSENT,
                _O.CANCELLED,
            }
        ),
        _O.COMPLETED: frozenset({_O.FAILED, _O.PROVIDER_PENDING, _O.MANUAL_REVIEW}),
        _O.REJECTED: frozenset({_O.MANUAL_REVIEW}),
        _O.FAILED: frozenset({_O.MANUAL_REVIEW}),
        _O.CANCELLED: frozenset({_O.MANUAL_REVIEW}),
    },
)

TERMINAL_WORKFLOW_STATES: Final = frozenset({_W.COMPLETED, _W.NO_REFUND_DUE, _W.REJECTED, _W.WITHDRAWN})
HUMAN_WORKFLOW_STATES: Final = frozenset({_W.REQUIRES_HUMAN_APPROVAL, _W.MANUAL_REVIEW})
ABANDONED_OPERATION_STATES: Final = frozenset({_O.REJECTED, _O.FAILED, _O.CANCELLED})
RESOLVED_OPERATION_STATES: Final = ABANDONED_OPERATION_STATES | {_O.COMPLETED}
# What scanners take on, by what is due: a submission, or a look-up. Sorted, as they stand in indexes.
EXECUTABLE_OPERATION_STATES: Final = (_O.CONFIRMED_ABSENT, _O.CREATED)
DOUBTFUL_OPERATION_STATES: Final = (_O.PROVIDER_PENDING, _O.STATUS_UNKNOWN)
ANSWERABLE_OPERATION_STATES: Final = (*DOUBTFUL_OPERATION_STATES, _O.SUBMITTED)
SCANNED_OPERATION_STATES: Final = frozenset({*EXECUTABLE_OPERATION_STATES, *ANSWERABLE_OPERATION_STATES})
ADVANCEABLE_WORKFLOW_STATES: Final = (
    _W.ACTION_PROPOSED,
    _W.APPROVED,
    _W.EVIDENCE_VERIFIED,
    _W.PROPOSAL_VALIDATED,
)
UNRESOLVED_OPERATION_STATES: Final = frozenset(_O) - RESOLVED_OPERATION_STATES


def coupled_workflow_state(
    workflow: WorkflowState,
    operation: OperationState,
    *,
    left: OperationState,
    sibling_stands: bool = False,
    policy_closes_on_rejection: bool = False,
) -> WorkflowState:
    """Return the state that the workflow must have once its operation went from ``left`` to ``operation``.

    Total over all pairs; the same state means that the workflow makes no transition. ``sibling_stands``: another
    operation of the workflow is COMPLETED or unresolved. A result that the workflow cannot reach in one jump, or an
    operation that moves under a workflow that is not executing, is for people: MANUAL_REVIEW.
    """
    wanted = _wanted(workflow, operation, left, sibling_stands, policy_closes_on_rejection)
    if wanted is workflow or WORKFLOW_TABLE.allows(workflow, wanted):
        return wanted
    return _W.MANUAL_REVIEW


def _wanted(
    workflow: WorkflowState,
    operation: OperationState,
    left: OperationState,
    sibling_stands: bool,  # noqa: FBT001 - private, and named by its only caller
    policy_closes: bool,  # noqa: FBT001
) -> WorkflowState:
    executing = workflow is _W.EXECUTING
    if left is _O.COMPLETED or operation in {_O.MANUAL_REVIEW, _O.FAILED}:
        return _W.MANUAL_REVIEW
    if operation is _O.COMPLETED:
        return _W.MANUAL_REVIEW if sibling_stands else _W.COMPLETED
    if operation is _O.REJECTED:
        return _W.REJECTED if executing and policy_closes else _W.MANUAL_REVIEW
    if operation is _O.CANCELLED:
        return _W.EVIDENCE_PENDING if executing else workflow
    if workflow is _W.MANUAL_REVIEW:
        back = left is _O.MANUAL_REVIEW and operation in {_O.CONFIRMED_ABSENT, _O.PROVIDER_PENDING}
        return _W.EXECUTING if back else workflow
    return _W.EXECUTING
