"""A customer takes a request back: until an operation is committed, and never after."""

from datetime import datetime
from typing import Final

from approvals.services import void_standing
from refunds.actions.ownership import own_request, why_customer
from refunds.models import RefundWorkflow
from refunds.refusals import WithdrawRefusedError
from refunds.stages.s01_authorize_request import SignedIn
from refunds.stages.s12_commit_evidence import evidence_transaction
from refunds.states import TERMINAL_WORKFLOW_STATES, WORKFLOW_TABLE, Origin, WorkflowState

BY_CUSTOMER: Final = "WITHDRAWN_BY_CUSTOMER"


def withdraw_request(*, signed_in: SignedIn, workflow_id: str, now: datetime) -> None:
    """Withdraw an own request and void what was decided about it; a withdrawn one stays as it is.

    Raises ``RequestNotFoundError`` and ``WithdrawRefusedError``.
    """
    own_request(signed_in=signed_in, workflow_id=workflow_id)
    with evidence_transaction(workflow_id=workflow_id, now=now) as evidence:
        if evidence.workflow.state == WorkflowState.WITHDRAWN:
            return
        if (code := why_not_withdrawable(evidence.workflow)) is not None:
            raise WithdrawRefusedError(code)
        why = why_customer(signed_in, BY_CUSTOMER)
        void_standing(subject_id=workflow_id, used_too=False, why=why, now=evidence.now)
        evidence.move_workflow(WorkflowState.WITHDRAWN, why)


def why_not_withdrawable(workflow: RefundWorkflow) -> str | None:
    """Return the code of why a request can't be withdrawn, or None if it can.

    Any operation closes the door, also a cancelled one: its story is the desk's to finish.
    """
    if workflow.operations.exists():
        return "REFUND_EXISTS"
    if workflow.state in TERMINAL_WORKFLOW_STATES:
        return "ALREADY_CLOSED"
    if workflow.origin == Origin.STAFF:
        return "STARTED_BY_STAFF"
    if not WORKFLOW_TABLE.allows(workflow.state, WorkflowState.WITHDRAWN):
        return "BEING_PASSED_ON"
    return None
