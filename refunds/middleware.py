"""Refuses what no page or API can use before anything is stored, gives each request its trace, caches no refusal."""

from collections.abc import Callable
from http import HTTPStatus
from io import BytesIO
from typing import Final
from urllib.parse import unquote_to_bytes

import structlog
from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from django.template.loader import render_to_string
from django.utils.cache import patch_cache_control

from ledger.tracing import start_trace
from refunds.api.problems import Problem

GetResponse = Callable[[HttpRequest], HttpResponse]
_UNUSABLE: Final = Problem(400, "bad_request", "The request holds characters that cannot be used.")
_TOO_LARGE: Final = Problem(413, "payload_too_large", "The request body is too large.")
_NO_LENGTH: Final = Problem(411, "length_required", "Send the request with a Content-Length.")
_BROKEN_BODY: Final = Problem(400, "body_unreadable", "The request body ended early or cannot be read.")


class NoStoreMiddleware:
    """Lets no cache keep a refusal or a fault: it is about this person, or about this moment."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Mark every answer from 400 on."""
        response = self.get_response(request)
        if response.status_code >= HTTPStatus.BAD_REQUEST:
            patch_cache_control(response, no_store=True)
        return response


class IntakeGuardMiddleware:
    """Refuses NUL bytes, over-long and broken bodies early: 400, 411 or 413, a problem document below ``/api/``."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer a request that cannot be used, or pass it on."""
        refused = _UNUSABLE if _has_unusable_characters(request) else _refused_length(request)
        if refused is None and _is_chunked(request):
            request, refused = _with_known_length(request)
        elif refused is None and not _is_complete(request):
            refused = _BROKEN_BODY
        if refused is None and not _has_readable_parts(request):
            refused = _BROKEN_BODY
        return self.get_response(request) if refused is None else _answer(request, refused)


class TraceMiddleware:
    """Adopts the caller's ``traceparent`` or begins a trace, and binds its id to every line of the log."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on inside its trace."""
        trace_id = start_trace(request.headers.get("traceparent", ""))
        with structlog.contextvars.bound_contextvars(trace_id=trace_id):
            return self.get_response(request)


def _has_unusable_characters(request: HttpRequest) -> bool:
    """PostgreSQL stores no NUL, and credentials outside ASCII are no token's and no scheme's."""
    if "\x00" in request.path or b"\x00" in unquote_to_bytes(request.META.get("QUERY_STRING", "")):
        return True
    headers = (value for name, value in request.META.items() if name.startswith(("HTTP_", "CONTENT_")))
    if any("\x00" in value for value in headers if isinstance(value, str)):
        return True
    return not request.META.get("HTTP_AUTHORIZATION", "").isascii()


def _refused_length(request: HttpRequest) -> Problem | None:
    length = request.META.get("CONTENT_LENGTH") or "0"
    if not (length.isascii() and length.isdigit()):
        return _UNUSABLE
    return _TOO_LARGE if len(length) > len(str(_limit())) or int(length) > _limit() else None


def _is_chunked(request: HttpRequest) -> bool:
    return bool(request.META.get("HTTP_TRANSFER_ENCODING")) and not request.META.get("CONTENT_LENGTH")


def _with_known_length(request: HttpRequest) -> tuple[HttpRequest, Problem | None]:
    """Read a body of unstated length up to the limit; Django itself would take it for an empty one.

    Only a server that ends the input by itself (``wsgi.input_terminated``) can be asked, else reading would hang.
    """
    if not request.META.get("wsgi.input_terminated"):
        return request, _NO_LENGTH
    try:
        body = request.META["wsgi.input"].read(_limit() + 1)
    except Exception:  # noqa: BLE001 - WSGI names no exception for a broken body; each server raises its own
        return request, _BROKEN_BODY
    if len(body) > _limit():
        return request, _TOO_LARGE
    known = {"wsgi.input": BytesIO(body), "CONTENT_LENGTH": str(len(body))}
    return WSGIRequest({**request.META, **known}), None


def _is_complete(request: HttpRequest) -> bool:
    """Read a body of stated length; a part of it, left by a client that hung up, is not what anybody sent."""
    try:
        return len(request.body) == int(request.META.get("CONTENT_LENGTH") or "0")
    except UnreadablePostError:
        return False


def _has_readable_parts(request: HttpRequest) -> bool:
    """Say whether a form in parts can be read; the headers of its parts fail in ways that Django does not expect.

    Too many fields and the like stay Django's to refuse.
    """
    if request.content_type != "multipart/form-data":
        return True
    try:
        _ = request.body, request.POST  # the body first: it stays readable
    except (MultiPartParserError, TypeError, ValueError, LookupError):
        return False
    return True


def _limit() -> int:
    limit: int = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return limit


def _answer(request: HttpRequest, problem: Problem) -> HttpResponse:
    if request.path.startswith(("/api/", "/webhooks/")):
        return problem.response()
    page = render_to_string(
        "problem.html", {"problem": problem}
    )  # without the request: nothing of it is used
    return HttpResponse(page, status=problem.status)
