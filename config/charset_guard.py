"""Refuses a body that says it is not UTF-8, and headers that nobody can read, before Django reads either.

Django decodes a form, and the query string of any address, with the charset that ``Content-Type`` names. Half of
Python's codecs are no text encodings at all, and others read other characters than the ones that were checked. Its
parser of parameters also fails in ways that neither Django nor its REST framework expects, in ``Accept`` too.
"""

import codecs
from collections.abc import Callable, Iterable
from typing import Any, Final

from django.utils.http import parse_header_parameters

from refunds.api.problems import CONTENT_TYPE, Problem

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
_OTHER_CHARSET: Final = Problem(415, "unsupported_charset", "Send the request in UTF-8.")
_UNREADABLE: Final = Problem(400, "bad_request", "The Content-Type cannot be read.")
_UNREADABLE_ACCEPT: Final = Problem(400, "bad_request", "The Accept header cannot be read.")
_PAGE: Final = "<!doctype html><html lang=en><title>This request can't be used</title><p>{detail}"


class CharsetGuard:
    """A WSGI application in front of another: 415 for any charset but UTF-8, 400 for a header nobody can read."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request that cannot be used, or pass it on."""
        refused = refused_charset(environ.get("CONTENT_TYPE") or "") or refused_accept(
            environ.get("HTTP_ACCEPT") or ""
        )
        if refused is None:
            return self._application(environ, start_response)
        if str(environ.get("PATH_INFO", "")).startswith("/api/"):
            body, content_type = refused.response().content, CONTENT_TYPE
        else:
            body, content_type = _PAGE.format(detail=refused.detail).encode(), "text/html; charset=utf-8"
        start_response(
            f"{refused.status} {refused.title}",
            [("Content-Type", content_type), ("Content-Length", str(len(body)))],
        )
        return [b""] if environ.get("REQUEST_METHOD") == "HEAD" else [body]


def refused_charset(content_type: str) -> Problem | None:
    """Return why a ``Content-Type`` cannot be used, or nothing: no charset, and UTF-8 by any of its names, can."""
    try:
        _, parameters = parse_header_parameters(content_type)
        charset = parameters.get("charset", "utf-8")
        return None if codecs.lookup(charset).name == "utf-8" else _OTHER_CHARSET
    except LookupError:
        return _OTHER_CHARSET
    except (ValueError, TypeError):
        return _UNREADABLE


def refused_accept(accept: str) -> Problem | None:
    """Return why an ``Accept`` cannot be used, or nothing; its parts are those that Django and DRF will read."""
    try:
        for part in accept.split(","):
            parse_header_parameters(part.strip())
    except (ValueError, TypeError, LookupError):
        return _UNREADABLE_ACCEPT
    return None
