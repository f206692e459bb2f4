"""Stage 2. Create a durable workflow identity, before anything consequential.

Input: an authorised request and the customer's words.
Output: a workflow in EVIDENCE_PENDING, or the one that is already open for the order. Without an order it waits
for the customer, and there is one such request at a time.
Failure destination: nothing is stored, and repeating the request is safe.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

from django.conf import settings
from django.db import IntegrityError, transaction

from ledger.actors import Actor
from ledger.ids import new_id, new_reference
from ledger.models import Customer
from ledger.transitions import Why, create_with_event, lock_row
from refunds.evidence.messages import add_contact, keep_message
from refunds.models import RefundWorkflow, RefundWorkflowEvent
from refunds.selectors.answer_time import get_answer_time
from refunds.states import TERMINAL_WORKFLOW_STATES, Origin

if TYPE_CHECKING:
    from refunds.stages.s01_authorize_request import AuthorizedRequest

STAGE = "OPEN_WORKFLOW"
DUPLICATE_CHARGE = "DUPLICATE_CHARGE"


@dataclass(frozen=True, slots=True)
class OpenedWorkflow:
    """The workflow that answers a request.

    ``first_event`` is that of a new one, with the new workflow; None when it was open already.
    """

    workflow_id: str
    first_event: RefundWorkflowEvent | None = None

    @property
    def created(self) -> bool:
        """Say whether the request was opened by this very call."""
        return self.first_event is not None


def open_workflow(
    *, request: "AuthorizedRequest", message: str, problem: str, client_token: str, now: datetime
) -> OpenedWorkflow:
    """Open one workflow for the order, or attach the message to the open one.

    Two unique columns decide between parallel requests: the slot of the order, and the caller's token. Requests
    without an order have no slot; their customer's row is locked instead. Raises ``MessageRefusedError``.
    """
    for last_try in (False, False, True):
        try:
            with transaction.atomic(durable=True):
                found = _find_waiting(request, client_token) if request.order_id is None else None
                if found is None:
                    return _open(request, message, problem, client_token, now)
        except IntegrityError:
            found = _find_open(request, client_token)
            if found is None and last_try:
                raise
        if found is not None and (attached := _attach(found, message, client_token, now)):
            return attached
        # What was in the way has ended meanwhile, so the next try opens a request of its own.
    raise AssertionError("what is in the way ends again and again")


def _open(
    request: "AuthorizedRequest", message: str, problem: str, client_token: str, now: datetime
) -> OpenedWorkflow:
    signed_in = request.signed_in
    workflow = RefundWorkflow(
        id=new_id("wf"),
        reference=new_reference(),
        merchant_id=signed_in.merchant_id,
        customer_id=signed_in.customer_id,
        order=request.order,
        problem=problem or DUPLICATE_CHARGE,
        client_token=client_token,
        open_slot=request.slot,
        created_at=now,
        **_schedule(request, now),
    )
    why = Why(
        actor=Actor.customer(signed_in.user_id),
        stage=STAGE,
        reason="REQUESTED",
        evidence={"identity": signed_in.as_evidence(), "order_id": request.order_id},
    )
    first_event = cast("RefundWorkflowEvent", create_with_event(workflow, why, now=now))
    first_event.workflow = workflow
    keep_message(workflow_id=workflow.pk, message=message, now=now)
    return OpenedWorkflow(workflow.pk, first_event)


def _schedule(request: "AuthorizedRequest", now: datetime) -> dict[str, Any]:
    """Return when the scanner looks: after its nudge's turn, or when the customer's time to answer is over."""
    if request.order_id is None:
        wait = get_answer_time(merchant_id=request.signed_in.merchant_id, at=now)
        return {"next_attempt_at": now + wait}
    claimed_until = now + timedelta(seconds=settings.RECOVERY_INTERVAL_SECONDS)  # by its nudge
    return {"next_attempt_at": now, "claimed_until": claimed_until}


def _find_waiting(request: "AuthorizedRequest", client_token: str) -> RefundWorkflow | None:
    """Return the same call's request, else the customer's open one without an order; others wait meanwhile."""
    customer_id = request.signed_in.customer_id
    Customer.objects.select_for_update(no_key=True).get(pk=customer_id)
    if (same_call := _same_call(request, client_token)) is not None:
        return same_call
    mine = RefundWorkflow.objects.filter(
        customer_id=customer_id, order_id__isnull=True, origin=Origin.CUSTOMER
    )
    return mine.exclude(state__in=TERMINAL_WORKFLOW_STATES).order_by("created_at").first()


def _find_open(request: "AuthorizedRequest", client_token: str) -> RefundWorkflow | None:
    if (same_call := _same_call(request, client_token)) is not None:
        return same_call
    mine = RefundWorkflow.objects.filter(customer_id=request.signed_in.customer_id)
    return mine.filter(open_slot=request.slot).first() if request.slot else None


def _same_call(request: "AuthorizedRequest", client_token: str) -> RefundWorkflow | None:
    if not client_token:
        return None
    mine = RefundWorkflow.objects.filter(customer_id=request.signed_in.customer_id)
    return mine.filter(client_token=client_token).first()


def _attach(found: RefundWorkflow, message: str, client_token: str, now: datetime) -> OpenedWorkflow | None:
    """Keep what was written as a repeat contact, unless it is the same call or the same words arriving again.

    None: the request has ended, and is not what this very call opened.
    """
    if not client_token or found.client_token != client_token:
        with transaction.atomic(durable=True):
            workflow = lock_row(RefundWorkflow, found.pk)
            if workflow.state in TERMINAL_WORKFLOW_STATES:
                return None
            add_contact(workflow_id=workflow.pk, message=message, now=now)
    return OpenedWorkflow(found.pk)
