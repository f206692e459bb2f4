"""The customer says which order a request is about, once; a request that is never told so is closed.

The order is an event of kind RECORD beside the fold of states. Lock order: a request without an order before one
with an order; nothing locks them the other way round.
"""

from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from ledger.actors import Actor
from ledger.models import EventKind
from ledger.transitions import Why, append_record
from notifications.services import queue_notification
from refunds.actions.ownership import STAGE, own_request, why_customer
from refunds.evidence.messages import take_over_messages
from refunds.facts import ATTACHED, stated_facts
from refunds.models import RefundWorkflow, RefundWorkflowEvent
from refunds.refusals import OrderRefusedError
from refunds.selectors.answer_time import get_answer_time
from refunds.selectors.requests import ORDER_GIVEN
from refunds.stages.s01_authorize_request import (
    AuthorizedRequest,
    OrderNotFoundError,
    SignedIn,
    authorize_request,
)
from refunds.stages.s12_commit_evidence import Evidence, evidence_transaction
from refunds.states import TERMINAL_WORKFLOW_STATES, WorkflowState

NOT_ANSWERED: Final = "NOT_ANSWERED"


def give_order(*, signed_in: SignedIn, workflow_id: str, order_number: str, now: datetime) -> str:
    """Say which own order a request is about; return the id of the request that answers from now on.

    That is another one where the order has an open request already: this one is closed then, and its words are kept
    there. Raises ``RequestNotFoundError``, ``OrderNotFoundError`` (alike for foreign and missing) and
    ``OrderRefusedError``.
    """
    own_request(signed_in=signed_in, workflow_id=workflow_id)
    request = authorize_request(signed_in=signed_in, order_number=order_number)
    if request.order_id is None:
        raise OrderNotFoundError
    with evidence_transaction(workflow_id=workflow_id, now=now) as evidence:
        if (answering := _answered_already(evidence.workflow, request)) is not None:
            return answering
        for last_try in (False, False, True):
            try:
                _take_order(evidence, request)
            except IntegrityError:
                if (other := _lock_holder(request)) is not None:
                    _attach_to(other, evidence, request)
                    return other.pk
                if last_try:
                    raise
            else:
                break
    return workflow_id


def close_unanswered(*, workflow_id: str, now: datetime) -> bool:
    """Withdraw a request whose customer named no order in time, and owe them a message; say whether it was closed.

    A request that people sent back to its customer waits for the whole time again.
    """
    with evidence_transaction(workflow_id=workflow_id, now=now) as evidence:
        workflow = evidence.workflow
        due = workflow.next_attempt_at
        waits = workflow.order_id is None and workflow.state == WorkflowState.EVIDENCE_PENDING
        if not waits or due is None or due > now:
            return False
        began = _transitions(workflow).values_list("at", flat=True)[0]
        if due <= began:
            workflow.next_attempt_at = began + get_answer_time(merchant_id=workflow.merchant_id, at=now)
            workflow.save(update_fields=["next_attempt_at"])
            return False
        why = Why(actor=Actor.system("scanner:resume_workflows"), stage=STAGE, reason=NOT_ANSWERED)
        evidence.move_workflow(WorkflowState.WITHDRAWN, why)
        queue_notification(
            logical_event_id=f"request.not_answered:{workflow.pk}",
            customer_id=workflow.customer_id,
            subject_id=workflow.pk,
            facts=stated_facts(workflow),
            now=now,
        )
        return True


def _answered_already(workflow: RefundWorkflow, request: AuthorizedRequest) -> str | None:
    """Return the request that answers if this order was given before; raise where no order is awaited."""
    if workflow.order_id is not None:
        if workflow.order_id == request.order_id:
            return workflow.pk
        raise OrderRefusedError("ORDER_ALREADY_GIVEN")
    if workflow.state in TERMINAL_WORKFLOW_STATES:
        last = _transitions(workflow)[0]
        if last.reason == ATTACHED and last.evidence["order_id"] == request.order_id:
            return str(last.evidence["workflow_id"])
        raise OrderRefusedError("NO_LONGER_WAITING")
    if workflow.state != WorkflowState.EVIDENCE_PENDING:
        raise OrderRefusedError("WITH_OUR_TEAM")
    return None


def _take_order(evidence: Evidence, request: AuthorizedRequest) -> None:
    """Set order and slot in a savepoint, so that a slot that is taken spoils nothing but this try."""
    workflow, now = evidence.workflow, evidence.now
    why = why_customer(request.signed_in, ORDER_GIVEN, order_id=request.order_id)
    with transaction.atomic():
        RefundWorkflow.objects.filter(pk=workflow.pk).update(
            order_id=request.order_id,
            open_slot=request.slot,
            next_attempt_at=now,
            claimed_until=now + timedelta(seconds=settings.RECOVERY_INTERVAL_SECONDS),  # by its nudge
            updated_at=now,
        )
        append_record(workflow, why, now=now)


def _lock_holder(request: AuthorizedRequest) -> RefundWorkflow | None:
    """Return the open request that has the order's slot, locked; None if it has ended meanwhile."""
    open_one = RefundWorkflow.objects.filter(open_slot=request.slot)
    return open_one.select_for_update(of=("self",), no_key=True).first()


def _attach_to(other: RefundWorkflow, evidence: Evidence, request: AuthorizedRequest) -> None:
    workflow = evidence.workflow
    take_over_messages(workflow_id=other.pk, from_workflow_id=workflow.pk, now=evidence.now)
    why = why_customer(
        request.signed_in,
        ATTACHED,
        workflow_id=other.pk,
        reference=other.reference,
        order_id=request.order_id,
    )
    evidence.move_workflow(WorkflowState.WITHDRAWN, why)


def _transitions(workflow: RefundWorkflow) -> QuerySet[RefundWorkflowEvent]:
    """Return what moved the request, newest first."""
    moved = RefundWorkflowEvent.objects.filter(workflow_id=workflow.pk, kind=EventKind.TRANSITION)
    return moved.order_by("-state_sequence")
