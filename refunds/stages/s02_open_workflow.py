"""Stage 2. Create a durable workflow identity, before anything consequential.

Input: an authorised request and the customer's words.
Output: a workflow in EVIDENCE_PENDING, or the one that is already open for the order.
Failure destination: nothing is stored, and repeating the request is safe.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F

from ledger.actors import Actor
from ledger.ids import new_id, new_reference
from ledger.models import ErasableText, text_sha256
from ledger.transitions import Why, create_with_event
from refunds.models import CustomerMessage, RefundWorkflow

if TYPE_CHECKING:
    from refunds.stages.s01_authorize_request import AuthorizedRequest

STAGE = "OPEN_WORKFLOW"
DUPLICATE_CHARGE = "DUPLICATE_CHARGE"


@dataclass(frozen=True, slots=True)
class OpenedWorkflow:
    """The workflow that answers a request; ``created`` is False when it was open already."""

    workflow_id: str
    created: bool


def open_workflow(
    *, request: "AuthorizedRequest", message: str, problem: str, client_token: str, now: datetime
) -> OpenedWorkflow:
    """Open one workflow for the order, or attach the message to the open one.

    Two unique columns decide between parallel requests: the slot of the order, and the caller's token.
    """
    for last_try in (False, False, True):
        try:
            with transaction.atomic(durable=True):
                return _open(request, message, problem, client_token, now)
        except IntegrityError:
            found = _find_open(request, client_token)
            if found is not None:
                return _attach(found, message, client_token, now)
            if last_try:
                raise
            # What was in the way has ended meanwhile, so the next try opens a request of its own.
    raise AssertionError("the last try returns or raises")


def _open(
    request: "AuthorizedRequest", message: str, problem: str, client_token: str, now: datetime
) -> OpenedWorkflow:
    signed_in = request.signed_in
    workflow = RefundWorkflow(
        id=new_id("wf"),
        reference=new_reference(),
        merchant_id=signed_in.merchant_id,
        customer_id=signed_in.customer_id,
        order_id=request.order_id,
        problem=problem or DUPLICATE_CHARGE,
        client_token=client_token,
        open_slot=f"{signed_in.customer_id}:{request.order_id}",
        next_attempt_at=now,
        claimed_until=now + timedelta(seconds=settings.RECOVERY_INTERVAL_SECONDS),  # by its nudge
        created_at=now,
    )
    why = Why(
        actor=Actor.customer(signed_in.user_id),
        stage=STAGE,
        reason="REQUESTED",
        evidence={"identity": signed_in.as_evidence(), "order_id": request.order_id},
    )
    create_with_event(workflow, why, now=now)
    _keep_message(workflow.pk, message, now)
    return OpenedWorkflow(workflow_id=workflow.pk, created=True)


def _find_open(request: "AuthorizedRequest", client_token: str) -> RefundWorkflow | None:
    mine = RefundWorkflow.objects.filter(customer_id=request.signed_in.customer_id)
    if client_token:
        same_call = mine.filter(client_token=client_token).first()
        if same_call is not None:
            return same_call
    return mine.filter(open_slot=f"{request.signed_in.customer_id}:{request.order_id}").first()


def _attach(workflow: RefundWorkflow, message: str, client_token: str, now: datetime) -> OpenedWorkflow:
    """Keep what was written as a repeat contact, unless it is the same call or the same words arriving again."""
    same_call = client_token and workflow.client_token == client_token
    same_words = CustomerMessage.objects.filter(workflow_id=workflow.pk, text_sha256=text_sha256(message))
    if not same_call and not same_words.exists():
        with transaction.atomic(durable=True):
            RefundWorkflow.objects.filter(pk=workflow.pk).update(repeat_contacts=F("repeat_contacts") + 1)
            _keep_message(workflow.pk, message, now)
    return OpenedWorkflow(workflow_id=workflow.pk, created=False)


def _keep_message(workflow_id: str, message: str, now: datetime) -> None:
    text = ErasableText.keep(message, now=now)
    CustomerMessage.objects.create(workflow_id=workflow_id, text=text, text_sha256=text.sha256, at=now)
