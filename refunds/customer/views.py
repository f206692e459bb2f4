"""The pages of customers: ask, follow one request, list one's own. Plain forms and links; no script is needed."""

import structlog
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from ledger.clock import now_utc
from ledger.ids import normalise_reference
from ledger.intake import MAX_MESSAGE
from ledger.throttle import count_new_request
from refunds.customer.access import for_customers
from refunds.customer.forms import ANOTHER_ORDER, AskForm, new_client_token, order_choices
from refunds.customer.progress import steps_of
from refunds.facts import report_requests
from refunds.models import RefundWorkflow
from refunds.pipeline import open_request
from refunds.refusals import MessageRefusedError
from refunds.selectors.requests import (
    PAGE_SIZE,
    asks_the_same,
    get_request_by_reference,
    list_messages,
    list_recent_orders,
    list_requests,
)
from refunds.stages.s01_authorize_request import OrderNotFoundError, SignedIn
from refunds.tasks import send_nudges

logger = structlog.get_logger("support")


@require_http_methods(["GET", "HEAD", "POST"])
@for_customers
def ask(request: HttpRequest, signed_in: SignedIn) -> HttpResponse:
    """Show the form, or open a request and go to its page (stages 1 and 2)."""
    if request.method != "POST":
        return _ask_page(request, signed_in, AskForm(initial={"client_token": new_client_token()}))
    wait = count_new_request(customer_id=signed_in.customer_id, now=now_utc())
    if wait:
        answer = render(request, "429.html", status=429)
        answer.headers["Retry-After"] = str(wait)
        return answer
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
    except (MessageRefusedError, OrderNotFoundError) as refused:
        if isinstance(refused, MessageRefusedError):
            form.add_error("message", refused.text)
        else:
            logger.info("order.not_found", customer_id=signed_in.customer_id)
            form.refuse_order(asked["order_number"])
        return _ask_page(request, signed_in, form)
    structlog.contextvars.bind_contextvars(workflow_id=opened.workflow_id)
    send_nudges(opened.nudges)
    workflow = get_object_or_404(list_requests(customer_id=signed_in.customer_id), pk=opened.workflow_id)
    if not opened.created and _is_other_request(workflow, form):
        return _sent_before(request, signed_in, form, workflow)
    return redirect("support:request", reference=workflow.reference)


@require_safe
@for_customers
def request_list(request: HttpRequest, signed_in: SignedIn) -> HttpResponse:
    """List the customer's own requests, newest first."""
    pages = Paginator(list_requests(customer_id=signed_in.customer_id), PAGE_SIZE)
    page = pages.get_page(request.GET.get("page"))
    return render(
        request, "customer/request_list.html", {"page": page, "reports": report_requests(list(page))}
    )


@require_safe
@for_customers
def request_status(request: HttpRequest, signed_in: SignedIn, reference: str) -> HttpResponse:
    """Show where one own request stands; any other reference is not found."""
    canonical = normalise_reference(reference)
    workflow = (
        get_request_by_reference(customer_id=signed_in.customer_id, reference=canonical)
        if canonical
        else None
    )
    if workflow is None:
        raise Http404
    report = report_requests([workflow])[0]
    return render(
        request,
        "customer/request.html",
        {
            "report": report,
            "steps": steps_of(report.statement, report.facts),
            "messages_written": list_messages(workflow_id=workflow.pk),
        },
    )


def _ask_page(request: HttpRequest, signed_in: SignedIn, form: AskForm) -> HttpResponse:
    context = {
        "form": form,
        "orders": order_choices(list_recent_orders(customer_id=signed_in.customer_id)),
        "chosen": form["order"].value(),
        "another": ANOTHER_ORDER,
        "longest": MAX_MESSAGE,
    }
    return render(request, "customer/ask.html", context, status=422 if form.errors else 200)


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
