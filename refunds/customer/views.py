"""Asking: the form, what we understood, and sending it. Plain forms and links; no script is needed.

Nothing is stored before the last step; until then the customer's words travel with the forms.
"""

from typing import Any, Final

import structlog
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from ledger.clock import now_utc
from ledger.intake import MAX_MESSAGE, removed_from, tell_removed, without_sensitive_data
from refunds.customer.access import for_customers, limited
from refunds.customer.forms import AskForm, new_client_token
from refunds.customer.notices import JOINED, SAVED, leave_notice
from refunds.customer.orders import ANOTHER_ORDER, UNKNOWN_ORDER, order_choices
from refunds.customer.understanding import Understanding, understand
from refunds.models import RefundWorkflow
from refunds.pipeline import open_request
from refunds.refusals import MessageRefusedError
from refunds.selectors.requests import asks_the_same, list_recent_orders, list_requests, suggest_orders
from refunds.stages.s01_authorize_request import OrderNotFoundError, SignedIn
from refunds.tasks import send_nudges

logger = structlog.get_logger("support")
_METHODS: Final = ["GET", "HEAD", "POST"]


@require_http_methods(_METHODS)
@for_customers
@limited
def ask(request: HttpRequest, signed_in: SignedIn) -> HttpResponse:
    """Show the form, or open a request and go to its page (stages 1 and 2)."""
    if request.method != "POST":
        return _ask_page(request, signed_in, AskForm(initial={"client_token": new_client_token()}))
    form = AskForm(request.POST)
    if not form.is_valid():
        return _ask_page(request, signed_in, form)
    asked = form.cleaned_data
    try:
        opened = open_request(
            signed_in=signed_in,
            order_number=asked["order_number"],
            message=asked["message"],
            problem="",
            client_token=asked["client_token"],
            now=now_utc(),
        )
    except MessageRefusedError as error:
        form.add_error("message", error.text)
        return _ask_page(request, signed_in, form)
    except OrderNotFoundError:
        return _order_not_found(request, signed_in, form, asked["order_number"])
    structlog.contextvars.bind_contextvars(workflow_id=opened.workflow_id)
    send_nudges(opened.nudges)
    workflow = get_object_or_404(list_requests(customer_id=signed_in.customer_id), pk=opened.workflow_id)
    if not opened.created and _is_other_request(workflow, form):
        return _sent_before(request, signed_in, form, workflow)
    if workflow.client_token != asked["client_token"]:
        leave_notice(request, reference=workflow.reference, code=JOINED, kept=asked["message"])
    elif removed_from(asked["message"]):
        leave_notice(request, reference=workflow.reference, code=SAVED, kept=asked["message"])
    return redirect("support:request", reference=workflow.reference)


@require_http_methods(_METHODS)
@for_customers
@limited
def check(request: HttpRequest, signed_in: SignedIn) -> HttpResponse:
    """Show what was understood, or the form again to change it; nothing is stored either way."""
    if request.method != "POST":
        return redirect("support:ask")
    if "change" in request.POST:
        return _ask_page(request, signed_in, _as_it_was(request, signed_in))
    form = AskForm(request.POST, may_be_suggested=True)
    if not form.is_valid():
        return _ask_page(request, signed_in, form)
    number = form.cleaned_data["order_number"]
    if form.nothing_chosen and not (number := _only_order_named(signed_in, form)):
        form.require_order()
        return _ask_page(request, signed_in, form)
    try:
        understood = understand(signed_in=signed_in, order_number=number, suggested=form.nothing_chosen)
    except OrderNotFoundError:
        return _order_not_found(request, signed_in, form, number)
    return _check_page(request, form, understood)


def _only_order_named(signed_in: SignedIn, form: AskForm) -> str:
    """Return the one own order whose number stands in the message, as a hint to be confirmed; else nothing."""
    named = suggest_orders(customer_id=signed_in.customer_id, message=form.cleaned_data["message"])
    return named[0] if len(named) == 1 else ""


def _ask_page(request: HttpRequest, signed_in: SignedIn, form: AskForm) -> HttpResponse:
    context = {
        "form": form,
        "orders": order_choices(list_recent_orders(customer_id=signed_in.customer_id)),
        "chosen": form["order"].value(),
        "another": ANOTHER_ORDER,
        "unknown": UNKNOWN_ORDER,
        "longest": MAX_MESSAGE,
    }
    return render(request, "customer/ask.html", context, status=422 if form.errors else 200)


def _check_page(request: HttpRequest, form: AskForm, understood: Understanding) -> HttpResponse:
    sent: dict[str, Any] = form.cleaned_data
    context = {
        "understood": understood,
        "message": sent["message"],
        "removed": tell_removed(sent["message"]),
        "client_token": sent["client_token"],
        "unknown": UNKNOWN_ORDER,
    }
    return render(request, "customer/check.html", context)


def _as_it_was(request: HttpRequest, signed_in: SignedIn) -> AskForm:
    """Return the form with what was typed; an order that is not listed stands in the field for its number."""
    sent = {name: request.POST.get(name, "") for name in ("message", "order", "client_token")}
    listed = {order.number for order in list_recent_orders(customer_id=signed_in.customer_id)}
    if sent["order"] not in {*listed, UNKNOWN_ORDER, ANOTHER_ORDER}:
        sent |= {"order": ANOTHER_ORDER, "other_order": sent["order"]}
    return AskForm(initial=sent | {"message": without_sensitive_data(sent["message"])})


def _order_not_found(
    request: HttpRequest, signed_in: SignedIn, form: AskForm, order_number: str
) -> HttpResponse:
    logger.info("order.not_found", customer_id=signed_in.customer_id)
    form.refuse_order(order_number)
    return _ask_page(request, signed_in, form)


def _is_other_request(workflow: RefundWorkflow, form: AskForm) -> bool:
    """Say whether this form opened the request before, with other content: its token is used up then."""
    asked = form.cleaned_data
    return workflow.client_token == asked["client_token"] and not asks_the_same(
        workflow, order_number=asked["order_number"], message=asked["message"]
    )


def _sent_before(
    request: HttpRequest, signed_in: SignedIn, form: AskForm, workflow: RefundWorkflow
) -> HttpResponse:
    """Show the form again under a new token, so that sending it once more is another request."""
    form.add_error(
        None, f"This form was already sent as {workflow.reference}. Send it again to ask something else."
    )
    form.renew_token()
    return _ask_page(request, signed_in, form)
