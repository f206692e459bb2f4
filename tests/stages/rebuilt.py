"""A request whose first operation was cancelled before anything was sent, with a second command approved."""

from refunds.models import RefundWorkflow
from refunds.states import OperationState, WorkflowState
from tests.factories import move_operation, move_workflow

AGAIN = ("EVIDENCE_VERIFIED", "ACTION_PROPOSED", "PROPOSAL_VALIDATED", "APPROVED")


def approve_again(operation):
    """Cancel the operation and return its workflow with another command approved."""
    move_operation(operation, OperationState.CANCELLED)
    for state in AGAIN:
        move_workflow(operation.workflow, WorkflowState(state))
    return RefundWorkflow.objects.get(pk=operation.workflow_id)
