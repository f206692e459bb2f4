"""Who may open a customer page: people who are signed in and whom a merchant's records know."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

import structlog
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_cache_control
from django_htmx.http import HttpResponseClientRedirect

from ledger.clock import now_utc
from ledger.ids import normalise_reference
from ledger.throttle import count_new_request, count_withdrawal
from refunds.models import RefundWorkflow
from refunds.selectors.requests import get_request_by_reference
from refunds.stages.s01_authorize_request import NotACustomerError, SignedIn, identify_customer

P = ParamSpec("P")
CustomerPage = Callable[Concatenate[HttpRequest, SignedIn, P], HttpResponse]

logger = structlog.get_logger("support")


def for_customers(page: CustomerPage[P]) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """Give the page its signed-in customer; others are sent to sign in, or told that there is no record of them.

    What the page shows is for this person alone, so no cache may keep it.
    """

    @wraps(page)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if not request.user.is_authenticated:
            return _to_sign_in(request)
        try:
            signed_in = identify_customer(user=request.user, host=request.get_host(), method="session")
        except NotACustomerError:
            response = render(request, "customer/not_a_customer.html", status=403)
        else:
            response = page(request, signed_in, *args, **kwargs)
        patch_cache_control(response, private=True, no_store=True)
        return response

    return guarded


def is_refresh(request: HttpRequest) -> bool:
    """Say whether a page that is open asks for its part that changes."""
    return request.headers.get("HX-Request") == "true"


def own_request(signed_in: SignedIn, reference: str) -> RefundWorkflow:
    """Return the customer's own request, however they type its reference; any other one is not found."""
    canonical = normalise_reference(reference)
    workflow = (
        get_request_by_reference(customer_id=signed_in.customer_id, reference=canonical)
        if canonical
        else None
    )
    if workflow is None:
        logger.info("request.not_found", customer_id=signed_in.customer_id)
        raise Http404
    return workflow


def limited(page: CustomerPage[P]) -> CustomerPage[P]:
    """Count what a customer sends to be looked up or stored; whoever sends too often is told to wait, by 429."""
    return _counted_by(count_new_request, page)


def limited_apart(page: CustomerPage[P]) -> CustomerPage[P]:
    """Count withdrawals by themselves: whoever sent too much else may still withdraw."""
    return _counted_by(count_withdrawal, page)


def _counted_by(count: Callable[..., int], page: CustomerPage[P]) -> CustomerPage[P]:
    @wraps(page)
    def counted(
        request: HttpRequest, signed_in: SignedIn, /, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponse:
        posted = request.method == "POST"
        wait = count(customer_id=signed_in.customer_id, now=now_utc()) if posted else 0
        if not wait:
            return page(request, signed_in, *args, **kwargs)
        answer = render(request, "429.html", status=429)
        answer.headers["Retry-After"] = str(wait)
        return answer

    return counted


def _to_sign_in(request: HttpRequest) -> HttpResponse:
    """Send a person to sign in and back; a page that refreshes itself is told to go there as a whole."""
    if is_refresh(request):
        sign_in = redirect_to_login(request.path)
        response: HttpResponse = HttpResponseClientRedirect(sign_in.url)
        patch_cache_control(response, private=True, no_store=True)
        return response
    return redirect_to_login(request.get_full_path())
