"""Pages for what went wrong. They use no session and no database, so that they also show when those are away."""

import sys

import structlog
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

logger = structlog.get_logger("pages")
_DESK = "/admin/"  # staff find back to their queue; customers to the support page


def server_error(_request: HttpRequest) -> HttpResponse:
    """Answer 503 when the database is away, else 500; neither claims that anything was or was not saved."""
    if isinstance(sys.exc_info()[1], OperationalError | InterfaceError):
        response = HttpResponse(render_to_string("503.html"), status=503)
        response["Retry-After"] = "5"
        return response
    return HttpResponse(render_to_string("500.html"), status=500)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a form without a valid token: nothing was stored, and opening the page again helps."""
    logger.info("csrf.refused", reason=reason.partition(" - ")[0])  # what follows quotes a header
    at_the_desk = request.path.startswith(_DESK)
    return HttpResponse(render_to_string("403_csrf.html", {"at_the_desk": at_the_desk}), status=403)


def too_many_requests(_request: HttpRequest) -> HttpResponse:
    """Answer 429 for sign-in and password pages; their limits are counted by the minute."""
    response = HttpResponse(render_to_string("429.html"), status=429)
    response["Retry-After"] = "60"
    return response
