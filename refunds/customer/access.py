"""Who may open a customer page: people who are signed in and whom a merchant's records know."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_cache_control

from refunds.stages.s01_authorize_request import NotACustomerError, SignedIn, identify_customer

P = ParamSpec("P")
CustomerPage = Callable[Concatenate[HttpRequest, SignedIn, P], HttpResponse]


def for_customers(page: CustomerPage[P]) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """Give the page its signed-in customer; others are sent to sign in, or told that there is no record of them.

    What the page shows is for this person alone, so no cache may keep it.
    """

    @login_required
    @wraps(page)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            signed_in = identify_customer(user=request.user, host=request.get_host(), method="session")
        except NotACustomerError:
            response = render(request, "customer/not_a_customer.html", status=403)
        else:
            response = page(request, signed_in, *args, **kwargs)
        patch_cache_control(response, private=True, no_store=True)
        return response

    return guarded
