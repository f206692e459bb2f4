"""Requests in the log, by their route: a path may hold a password-reset key, which opens an account."""

import logging

import structlog
from django.http import HttpRequest
from django.urls import Resolver404, resolve
from django.utils.functional import LazyObject, empty
from django_structlog.middlewares import RequestMiddleware


def route_of(request: HttpRequest) -> str:
    """Return the pattern of the request's address, or a dash where there is nothing at it."""
    try:
        match = request.resolver_match or resolve(request.path_info)
    except Resolver404:
        return "-"
    return f"/{match.route}"


class RequestLogMiddleware(RequestMiddleware):
    """Two lines for each request: who, which route, and the answer's status."""

    @staticmethod
    def format_request(request: HttpRequest) -> str:
        """Return the method and the route."""
        return f"{request.method} {route_of(request)}"

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
    """Puts the route where Django's own lines have the path of a request."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the line's values; every line passes."""
        request = getattr(record, "request", None)
        if isinstance(request, HttpRequest) and isinstance(record.args, tuple):
            paths = {request.path, request.get_full_path()}
            record.args = tuple(route_of(request) if value in paths else value for value in record.args)
        return True


class OneLine(logging.Filter):
    """Makes a warning without a traceback of what is a client's mistake and says nothing about this program."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the line; every line passes."""
        record.exc_info = record.exc_text = None
        record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
        return True
