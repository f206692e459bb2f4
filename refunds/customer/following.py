"""Following: the list of one's own requests, and the page of each, which keeps itself up to date."""

from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.views.decorators.http import require_safe
from django_htmx.http import HTMX_STOP_POLLING

from ledger.clock import now_utc
from refunds.customer.access import for_customers, is_refresh, own_request
from refunds.customer.draft import draft_for
from refunds.customer.forms import OrderForm
from refunds.customer.live import Live, live_of
from refunds.customer.notices import take_notice
from refunds.customer.offers import offers_of
from refunds.customer.orders import ANOTHER_ORDER, order_choices
from refunds.customer.progress import steps_of
from refunds.customer.suggestion import Suggestion, suggestion_for
from refunds.facts import RequestReport, report_requests
from refunds.models import RefundWorkflow
from refunds.selectors.requests import PAGE_SIZE, list_messages, list_recent_orders, list_requests
from refunds.stages.s01_authorize_request import SignedIn


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
    return status_page(request, signed_in, own_request(signed_in, reference))


@require_safe
@for_customers
def refreshed_status(request: HttpRequest, signed_in: SignedIn, reference: str) -> HttpResponse:
    """Answer an open page: 304 where nothing changed, else the changed part; 286 where nothing more will.

    Opened by a person, it leads to the page.
    """
    workflow = own_request(signed_in, reference)
    if not is_refresh(request):
        return redirect("support:request", reference=workflow.reference)
    report = report_requests([workflow])[0]
    beside = _beside(workflow)
    live = live_of(report, now=now_utc(), beside=beside.texts)
    unchanged = get_conditional_response(request, etag=live.etag)
    response = unchanged or render(
        request,
        "customer/_refreshed.html",
        _status_context(report, live, beside)
        | {"announce": request.GET.get("shown") != report.statement.key},
        status=HTMX_STOP_POLLING if live.seconds is None else 200,
    )
    response.headers["ETag"] = live.etag
    patch_vary_headers(response, ["HX-Request"])
    return response


def status_page(
    request: HttpRequest,
    signed_in: SignedIn,
    workflow: RefundWorkflow,
    *,
    order_form: OrderForm | None = None,
) -> HttpResponse:
    """Return the page of an own request; a refused ``order_form`` is shown with its errors, as 422."""
    report = report_requests([workflow])[0]
    beside = _beside(workflow)
    live = live_of(report, now=now_utc(), beside=beside.texts)
    context = _status_context(report, live, beside) | {
        "messages_written": list_messages(workflow_id=workflow.pk),
        "notice": take_notice(request, reference=workflow.reference),
    }
    if context["offers"].name_order or order_form is not None:
        orders = order_choices(list_recent_orders(customer_id=signed_in.customer_id))
        form = order_form or beside.suggestion.order_form(orders)
        context |= {
            "form": form,
            "orders": orders,
            "chosen": form["order"].value(),
            "another": ANOTHER_ORDER,
        }
    refused = order_form is not None and bool(order_form.errors)
    return render(request, "customer/request.html", context, status=422 if refused else 200)


@dataclass(frozen=True, slots=True)
class _Beside:
    """What a page says beside the catalogue, labelled as a program's: a suggestion, and a model's draft."""

    suggestion: Suggestion
    draft: str

    @property
    def texts(self) -> tuple[str, ...]:
        return (*self.suggestion.texts, self.draft)


def _beside(workflow: RefundWorkflow) -> _Beside:
    return _Beside(suggestion_for(workflow), draft_for(workflow))


def _status_context(report: RequestReport, live: Live, beside: _Beside) -> dict[str, Any]:
    return {
        "report": report,
        "suggestion": beside.suggestion,
        "draft": beside.draft,
        "steps": steps_of(report.statement, report.facts),
        "offers": offers_of(report.workflow),
        "live": live,
        "shown_at": now_utc(),
    }
