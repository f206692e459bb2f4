"""A customer writes more about a request, or asks for a person."""

from datetime import datetime
from typing import Final

from approvals.services import void_standing
from ledger.models import EventKind
from ledger.transitions import append_record
from refunds.actions.ownership import own_request, why_customer
from refunds.evidence.messages import add_contact
from refunds.models import RefundWorkflow
from refunds.refusals import MessageRefusedError, PersonRefusedError
from refunds.stages.s01_authorize_request import SignedIn
from refunds.stages.s12_commit_evidence import evidence_transaction
from refunds.states import TERMINAL_WORKFLOW_STATES, Origin, WorkflowState

PERSON_ASKED: Final = "CUSTOMER_ASKED_PERSON"
_W = WorkflowState
_WITH_PEOPLE_OR_RUNNING: Final = frozenset({_W.REQUIRES_HUMAN_APPROVAL, _W.MANUAL_REVIEW, _W.EXECUTING})


def add_message(*, signed_in: SignedIn, workflow_id: str, message: str, now: datetime) -> bool:
    """Keep more words about an own open request and count a contact; the same words twice are kept once.

    Return whether the request waits for its order. Raises ``RequestNotFoundError`` and ``MessageRefusedError``.
    """
    own_request(signed_in=signed_in, workflow_id=workflow_id)
    with evidence_transaction(workflow_id=workflow_id, now=now) as evidence:
        if evidence.workflow.state in TERMINAL_WORKFLOW_STATES:
            raise MessageRefusedError("REQUEST_CLOSED")
        add_contact(workflow_id=workflow_id, message=message, now=now)
        return evidence.workflow.order_id is None


def ask_person(*, signed_in: SignedIn, workflow_id: str, now: datetime) -> None:
    """Bring an own request before people, or record the wish where they have it already or a refund is under way.

    Nothing that was approved goes on alone afterwards: it is voided. Raises ``RequestNotFoundError`` and
    ``PersonRefusedError``.
    """
    own_request(signed_in=signed_in, workflow_id=workflow_id)
    with evidence_transaction(workflow_id=workflow_id, now=now) as evidence:
        workflow = evidence.workflow
        if (code := why_no_person(workflow)) is not None:
            raise PersonRefusedError(code)
        why = why_customer(signed_in, PERSON_ASKED)
        if workflow.state not in _WITH_PEOPLE_OR_RUNNING and workflow.origin != Origin.STAFF:
            void_standing(subject_id=workflow_id, used_too=False, why=why, now=evidence.now)
            evidence.move_workflow(_W.MANUAL_REVIEW, why)
        elif not _asked_already(workflow):
            append_record(workflow, why, now=evidence.now)


def why_no_person(workflow: RefundWorkflow) -> str | None:
    """Return the code of why nobody can take the request up, or None if somebody can."""
    if workflow.state == _W.COMPLETED:
        return "REFUND_CONFIRMED"
    if workflow.state == _W.WITHDRAWN:
        return "REQUEST_WITHDRAWN"
    closed = workflow.state in TERMINAL_WORKFLOW_STATES
    return "CLOSED_BY_STAFF" if closed and workflow.origin == Origin.STAFF else None


def _asked_already(workflow: RefundWorkflow) -> bool:
    """Say whether the wish stands since the request last moved."""
    for reason, kind in workflow.events.order_by("-pk").values_list("reason", "kind"):
        if reason == PERSON_ASKED:
            return True
        if kind == EventKind.TRANSITION:
            break
    return False
