"""What a customer does with one own request. Each form may be sent twice; each answers a wrong state with 409."""

from typing import Final

import structlog
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from ledger.clock import now_utc
from ledger.intake import MAX_MESSAGE
from refunds import pipeline
from refunds.actions.contact import why_no_person
from refunds.actions.withdrawal import why_not_withdrawable
from refunds.customer.access import for_customers, limited, limited_apart, own_request
from refunds.customer.following import status_page
from refunds.customer.forms import MessageForm, OrderForm
from refunds.customer.notices import ADDED, ATTACHED, ORDER_KEPT, PERSON_NOTED, leave_notice
from refunds.models import RefundWorkflow
from refunds.refusals import (
    ActionRefusedError,
    MessageRefusedError,
    OrderRefusedError,
    PersonRefusedError,
    WithdrawRefusedError,
)
from refunds.selectors.requests import list_requests
from refunds.stages.s01_authorize_request import OrderNotFoundError, SignedIn
from refunds.states import HUMAN_WORKFLOW_STATES, TERMINAL_WORKFLOW_STATES, WorkflowState
from refunds.tasks import send_nudges

logger = structlog.get_logger("support")
_METHODS: Final = ["GET", "HEAD", "POST"]
_GOES_ON: Final = HUMAN_WORKFLOW_STATES | {WorkflowState.EXECUTING}  # asking for a person moves nothing there


@require_http_methods(_METHODS)
@for_customers
@limited
def give_order(request: HttpRequest, signed_in: SignedIn, reference: str) -> HttpResponse:
    """Say which own order a request is about; go to the request that answers from now on."""
    workflow = own_request(signed_in, reference)
    if request.method != "POST":
        return redirect("support:request", reference=workflow.reference)
    form = OrderForm(request.POST)
    if not form.is_valid():
        return status_page(request, signed_in, workflow, order_form=form)
    number = form.cleaned_data["order_number"]
    try:
        opened = pipeline.give_order(
            signed_in=signed_in, workflow_id=workflow.pk, order_number=number, now=now_utc()
        )
    except OrderNotFoundError:
        logger.info("order.not_found", customer_id=signed_in.customer_id)
        form.refuse_order(number)
        return status_page(request, signed_in, workflow, order_form=form)
    except OrderRefusedError as error:
        return _refused(request, workflow, error)
    send_nudges(opened.nudges)
    answering = get_object_or_404(list_requests(customer_id=signed_in.customer_id), pk=opened.workflow_id)
    return _back(request, answering, ORDER_KEPT if answering.pk == workflow.pk else ATTACHED)


@require_http_methods(_METHODS)
@for_customers
@limited
def add_information(request: HttpRequest, signed_in: SignedIn, reference: str) -> HttpResponse:
    """Keep more of the customer's words about an open request."""
    workflow = own_request(signed_in, reference)
    if request.method != "POST":
        if workflow.state in TERMINAL_WORKFLOW_STATES:
            return _refused(request, workflow, MessageRefusedError("REQUEST_CLOSED"))
        return _message_page(request, workflow, MessageForm())
    form = MessageForm(request.POST)
    if not form.is_valid():
        return _message_page(request, workflow, form, status=422)
    message = form.cleaned_data["message"]
    try:
        nudges = pipeline.add_message(
            signed_in=signed_in, workflow_id=workflow.pk, message=message, now=now_utc()
        )
    except MessageRefusedError as error:
        form.add_error("message", error.text)
        return _message_page(request, workflow, form, status=409)
    send_nudges(nudges)
    return _back(request, workflow, ADDED, kept=message)


@require_http_methods(_METHODS)
@for_customers
@limited_apart
def withdraw(request: HttpRequest, signed_in: SignedIn, reference: str) -> HttpResponse:
    """Ask whether the request is to be withdrawn, and withdraw it; a withdrawn one stays as it is."""
    workflow = own_request(signed_in, reference)
    if request.method != "POST":
        if (code := why_not_withdrawable(workflow)) is not None:
            return _refused(request, workflow, WithdrawRefusedError(code))
        return render(request, "customer/withdraw.html", {"workflow": workflow})
    try:
        nudges = pipeline.withdraw_request(signed_in=signed_in, workflow_id=workflow.pk, now=now_utc())
    except WithdrawRefusedError as error:
        return _refused(request, workflow, error)
    send_nudges(nudges)
    return _back(request, workflow)


@require_http_methods(_METHODS)
@for_customers
@limited
def ask_person(request: HttpRequest, signed_in: SignedIn, reference: str) -> HttpResponse:
    """Ask whether a person is wanted, saying what that does to the request, and note it."""
    workflow = own_request(signed_in, reference)
    if request.method != "POST":
        if (code := why_no_person(workflow)) is not None:
            return _refused(request, workflow, PersonRefusedError(code))
        context = {"workflow": workflow, "goes_on": workflow.state in _GOES_ON}
        return render(request, "customer/person.html", context)
    try:
        nudges = pipeline.ask_person(signed_in=signed_in, workflow_id=workflow.pk, now=now_utc())
    except PersonRefusedError as error:
        return _refused(request, workflow, error)
    send_nudges(nudges)
    return _back(request, workflow, PERSON_NOTED)


def _back(
    request: HttpRequest, workflow: RefundWorkflow, notice: str = "", *, kept: str = ""
) -> HttpResponse:
    """Go to a request's page, so that reloading it sends nothing again."""
    structlog.contextvars.bind_contextvars(workflow_id=workflow.pk)
    if notice:
        leave_notice(request, reference=workflow.reference, code=notice, kept=kept)
    return redirect("support:request", reference=workflow.reference)


def _refused(request: HttpRequest, workflow: RefundWorkflow, error: ActionRefusedError) -> HttpResponse:
    context = {"workflow": workflow, "text": error.text}
    return render(request, "customer/refused.html", context, status=409)


def _message_page(
    request: HttpRequest, workflow: RefundWorkflow, form: MessageForm, *, status: int = 200
) -> HttpResponse:
    context = {"workflow": workflow, "form": form, "longest": MAX_MESSAGE}
    return render(request, "customer/message.html", context, status=status)
