"""Requests in the log, by their route: a path may hold a password-reset key, which opens an account."""

import logging
import re
from typing import Any, Final
from uuid import uuid4

import structlog
from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404, resolve
from django.utils.functional import LazyObject, empty
from django_structlog.middlewares import RequestMiddleware

from config.telemetry import count_response

logger = structlog.get_logger("requests")
# Ids that an address may hold, by the names under which they are logged.
_IDS: Final = {
    "workflow_id": re.compile(r"wf_[0-9A-Z]{26}"),
    "operation_id": re.compile(r"rfop_[0-9A-Z]{26}"),
    "approval_id": re.compile(r"apr_[0-9A-Z]{26}"),
}
_LOGGED_AS: Final = {"operation_id": "refund_operation_id"}
_METHODS: Final = frozenset(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"])


def route_of(request: HttpRequest) -> str:
    """Return the pattern of the request's address, or a dash where there is nothing at it."""
    try:
        match = request.resolver_match or resolve(request.path_info)
    except Resolver404:
        return "-"
    return f"/{match.route}"


def known_method(request: HttpRequest) -> str:
    """Return the request's method, or a dash for one that a client made up."""
    return request.method if request.method in _METHODS else "-"


class RequestLogMiddleware(RequestMiddleware):
    """Two lines for each request: who, which route, and the answer's status.

    Nothing that a client writes into a header is logged, its own request ids among them.
    """

    def prepare(self, request: HttpRequest) -> None:
        """Give the request its id, and write the first line."""
        structlog.contextvars.bind_contextvars(request_id=str(uuid4()))
        self.bind_user_id(request)
        logger.info("request_started", request=self.format_request(request))

    def process_view(
        self, _request: HttpRequest, _view: Any, _args: tuple[Any, ...], named: dict[str, Any]
    ) -> None:
        """Bind the ids in the address to every later line of this request."""
        for name, shape in _IDS.items():
            if shape.fullmatch(str(named.get(name, ""))):
                structlog.contextvars.bind_contextvars(**{_LOGGED_AS.get(name, name): named[name]})

    def handle_response(self, request: HttpRequest, response: HttpResponse) -> None:
        """Count the answer and write the last line."""
        count_response(path=request.path, status=response.status_code)
        super().handle_response(request, response)

    @staticmethod
    def format_request(request: HttpRequest) -> str:
        """Return the method and the route."""
        return f"{known_method(request)} {route_of(request)}"

    @staticmethod
    def bind_user_id(request: HttpRequest) -> None:
        """Bind who asked, once the view has found out.

        A line of the log is no reason to ask a database that may be away, and to wait for it once more.
        """
        user = request.__dict__.get("user")
        if user is None or (isinstance(user, LazyObject) and user.__dict__["_wrapped"] is empty):
            return
        structlog.contextvars.bind_contextvars(user_id=user.pk)


class RouteForPath(logging.Filter):
    """Puts the route where Django's own lines have the path of a request, and cuts quoted headers off."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the line's values; every line passes."""
        request = getattr(record, "request", None)
        if isinstance(request, HttpRequest) and isinstance(record.args, tuple):
            shown = {
                request.path: route_of(request),
                request.get_full_path(): route_of(request),
                request.method: known_method(request),
            }
            record.args = tuple(
                shown.get(value, value.partition(" - ")[0]) if isinstance(value, str) else value
                for value in record.args
            )
        return True


class OneLine(logging.Filter):
    """Makes a warning without a traceback of what is a client's mistake and says nothing about this program."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the line; every line passes."""
        record.exc_info = record.exc_text = None
        record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
        return True
