"""What people decide about a request that they own: read it again, rebuild its command, close it, or look again."""

from datetime import datetime

from ledger.actors import Actor
from ledger.findings import Finding
from ledger.transitions import Why, append_record, lock_row
from refunds.casework.owned_case import (
    STAGE,
    CaseAction,
    OwnedCase,
    owned_case,
    require_resolved,
    resolved_states,
)
from refunds.casework.permission import may_work_for
from refunds.casework.refusals import CaseWorkRefusedError
from refunds.evidence.given import look_soon
from refunds.models import RefundOperation, RefundWorkflow
from refunds.stages.s12_commit_evidence import evidence_transaction
from refunds.states import OperationState, Origin, WorkflowState

READ_AGAIN, REBUILD, CLOSE, CLOSE_COMPLETED, LOOK_UP = (
    "READ_EVIDENCE_AGAIN",
    "REBUILD_COMMAND",
    "CLOSE_WITHOUT_REFUND",
    "CLOSE_AS_COMPLETED",
    "LOOK_UP_AGAIN",
)
OUTCOMES = (WorkflowState.NO_REFUND_DUE, WorkflowState.REJECTED)
_IN_DOUBT = frozenset(
    {OperationState.STATUS_UNKNOWN, OperationState.MANUAL_REVIEW, OperationState.PROVIDER_PENDING}
)


def read_evidence_again(action: CaseAction, *, now: datetime) -> str:
    """Let the evidence be read anew (MANUAL_REVIEW -> EVIDENCE_PENDING); return the workflow's id.

    Raises ``CaseWorkRefusedError``.
    """
    with owned_case(action, now=now) as owned:
        workflow = owned.evidence.workflow
        require_order(workflow)
        require_resolved(owned)
        owned.evidence.move_workflow(WorkflowState.EVIDENCE_PENDING, owned.why(READ_AGAIN, action))
        return workflow.pk


def close_without_refund(action: CaseAction, *, outcome: str, now: datetime) -> str:
    """Close the request as NO_REFUND_DUE or REJECTED; return the workflow's id. Raises ``CaseWorkRefusedError``."""
    if outcome not in OUTCOMES:
        raise CaseWorkRefusedError("OUTCOME_UNKNOWN")
    if not action.note.strip():
        raise CaseWorkRefusedError("NOTE_REQUIRED")
    with owned_case(action, now=now) as owned:
        require_resolved(owned)
        owned.evidence.move_workflow(WorkflowState(outcome), owned.why(CLOSE, action))
        return owned.evidence.workflow.pk


def close_as_completed(action: CaseAction, *, now: datetime) -> str:
    """Close the request as COMPLETED: its refund stands, and so may a second one; return the workflow's id.

    The customer is told what stands then, each refund with its reference. Raises ``CaseWorkRefusedError``.
    """
    if not action.note.strip():
        raise CaseWorkRefusedError("NOTE_REQUIRED")
    with owned_case(action, now=now) as owned:
        if OperationState.COMPLETED not in resolved_states(owned):
            raise CaseWorkRefusedError("NO_REFUND_STANDS")
        owned.evidence.move_workflow(WorkflowState.COMPLETED, owned.why(CLOSE_COMPLETED, action))
        return owned.evidence.workflow.pk


def begin_rebuild(owned: OwnedCase, action: CaseAction) -> None:
    """Take the request back to its evidence for a command from facts; whoever rebuilds it is its maker.

    What is established changes only by establishing it, so the path leads through every stage, in one transaction.
    """
    require_resolved(owned)
    owned.evidence.move_workflow(
        WorkflowState.EVIDENCE_PENDING, owned.why(REBUILD, action), maker_id=owned.actor.id
    )


def require_proven(workflow: RefundWorkflow) -> None:
    """Refuse a command whose finding does not prove that it is due: no approval could make up for that."""
    wanted = Finding.STAFF_REQUESTED if workflow.origin == Origin.STAFF else Finding.VERIFIED_DUPLICATE_CHARGE
    if workflow.finding != wanted or workflow.state != WorkflowState.EVIDENCE_VERIFIED:
        raise CaseWorkRefusedError("FINDING_NOT_VERIFIED")


def require_validated(workflow: RefundWorkflow) -> None:
    """Refuse a command that one of the seven checks rejects."""
    if workflow.state != WorkflowState.PROPOSAL_VALIDATED:
        raise CaseWorkRefusedError("CHECK_FAILED")


def require_order(workflow: RefundWorkflow) -> None:
    """Refuse what cannot be done before it is known which order the request is about."""
    if workflow.order_id is None:
        raise CaseWorkRefusedError("ORDER_UNKNOWN")


def wish_to_look_up(*, operation_id: str, staff_user_id: int, now: datetime) -> None:
    """Record that a person wants the provider asked again now; nothing is sent by it.

    Raises ``CaseWorkRefusedError``.
    """
    found = RefundOperation.objects.filter(pk=operation_id).select_related("workflow__customer").first()
    if found is None:
        raise CaseWorkRefusedError("NOTHING_TO_LOOK_UP")
    if not may_work_for(merchant_id=found.merchant_id, staff_user_id=staff_user_id):
        raise CaseWorkRefusedError("NOT_ALLOWED")
    if found.workflow.customer.user_id == staff_user_id:
        raise CaseWorkRefusedError("OWN_REQUEST")
    with evidence_transaction(workflow_id=found.workflow_id, now=now):
        operation = lock_row(RefundOperation, operation_id)
        if operation.state not in _IN_DOUBT:
            raise CaseWorkRefusedError("NOTHING_TO_LOOK_UP")
        why = Why(Actor.staff(staff_user_id), STAGE, LOOK_UP, operation.policy_version)
        append_record(operation, why, now=now)
        look_soon(operation, now=now)
