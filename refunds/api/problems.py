"""Every error of the API as an RFC 9457 problem document with a stable ``type`` and ``code``."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import structlog
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpResponse
from rest_framework import exceptions

from ledger.intake import without_sensitive_data

CONTENT_TYPE: Final = "application/problem+json"
RETRY_AFTER_SECONDS: Final = "5"
logger = structlog.get_logger("api")


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """What is wrong with one member of the request."""

    field: str
    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem: an HTTP status, a stable code, and words for a developer."""

    status: int
    code: str
    detail: str
    errors: tuple[FieldProblem, ...] = ()

    @property
    def title(self) -> str:
        """The status in words."""
        return HTTPStatus(self.status).phrase

    def response(self, headers: Mapping[str, str] | None = None) -> HttpResponse:
        """Return the problem document. It holds nothing that differs from one request to the next."""
        document: dict[str, Any] = {
            "type": f"urn:refund-desk:problem:{self.code}",
            "title": self.title,
            "status": self.status,
            "code": self.code,
            "detail": self.detail,
        }
        if self.errors:
            document["errors"] = [
                {"field": error.field, "code": error.code, "detail": error.detail} for error in self.errors
            ]
        return HttpResponse(
            json.dumps(document), status=self.status, content_type=CONTENT_TYPE, headers=headers
        )


class ProblemError(exceptions.APIException):
    """A refusal with a code of its own; raise it from a view."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(detail, code)
        self.problem = Problem(status, code, detail)


def problem_response(exc: Exception, _context: Mapping[str, Any]) -> HttpResponse:
    """Return the problem document of an exception that left a view (DRF's exception handler)."""
    if isinstance(exc, exceptions.APIException):
        return _refused(exc)
    for kinds, problem in _KNOWN:
        if isinstance(exc, kinds):
            return problem.response()
    away = isinstance(exc, OperationalError | InterfaceError)
    logger.error("api.database_away" if away else "api.fault", exc_info=exc)
    return _DATABASE_AWAY.response({"Retry-After": RETRY_AFTER_SECONDS}) if away else _FAULT.response()


_KNOWN: Final[tuple[tuple[type[Exception], Problem], ...]] = (
    (Http404, Problem(404, "not_found", "There is nothing here.")),
    (PermissionDenied, Problem(403, "permission_denied", "You may not do this.")),
    (SuspiciousOperation, Problem(400, "bad_request", "The request cannot be used.")),
)
_FAULT: Final = Problem(500, "server_error", "Something went wrong here. Repeating the request is safe.")
_DATABASE_AWAY: Final = Problem(
    503,
    "database_unavailable",
    "We could not confirm that the request was saved. Look at your requests; repeating is safe.",
)


def _refused(exc: exceptions.APIException) -> HttpResponse:
    if isinstance(exc, ProblemError):
        return exc.problem.response()
    if isinstance(exc, exceptions.ValidationError):
        return _invalid(exc).response()
    return Problem(exc.status_code, _code(exc), str(exc.detail)).response(_headers(exc))


def _code(exc: exceptions.APIException) -> str:
    codes = exc.get_codes()
    return codes if isinstance(codes, str) else exc.default_code


def _headers(exc: exceptions.APIException) -> dict[str, str]:
    headers: dict[str, str] = {}
    if authenticate := getattr(exc, "auth_header", None):
        headers["WWW-Authenticate"] = authenticate
    if wait := getattr(exc, "wait", None):
        headers["Retry-After"] = f"{wait:.0f}"
    return headers


def _invalid(exc: exceptions.ValidationError) -> Problem:
    """Return 422 with every refused member; one alone gives the problem its code."""
    errors = tuple(_flat(exc.detail))
    if len(errors) == 1:
        return Problem(422, errors[0].code, errors[0].detail, errors)
    return Problem(422, "invalid_request", "Some members of the request cannot be used.", errors)


def _flat(detail: Any, field: str = "") -> Iterator[FieldProblem]:
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            yield from _flat(inner, "" if name == "non_field_errors" else without_sensitive_data(str(name)))
    elif isinstance(detail, list):
        for inner in detail:
            yield from _flat(inner, field)
    else:
        yield FieldProblem(field, detail.code, str(detail))
