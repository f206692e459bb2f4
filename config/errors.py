"""What a failed request reads outside every view: a problem document below ``/api/``, else a page."""

import sys
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.views import defaults

from refunds.api.problems import Problem, problem_response
from refunds.customer import errors

_API: Final = "/api/"
_UNUSABLE: Final = Problem(400, "bad_request", "The request cannot be used.")
_FORBIDDEN: Final = Problem(403, "permission_denied", "You may not do this.")
_NOT_FOUND: Final = Problem(404, "not_found", "There is nothing here.")
_FAULT: Final = RuntimeError("The request failed outside a view.")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 400, for example to a host that is not this one."""
    return _UNUSABLE.response() if _is_api(request) else defaults.bad_request(request, exception)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 403."""
    return _FORBIDDEN.response() if _is_api(request) else defaults.permission_denied(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 404."""
    return _NOT_FOUND.response() if _is_api(request) else defaults.page_not_found(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer 503 when the database is away, else 500."""
    if not _is_api(request):
        return errors.server_error(request)
    fault = sys.exc_info()[1]
    return problem_response(fault if isinstance(fault, Exception) else _FAULT, {})


def _is_api(request: HttpRequest) -> bool:
    return request.path.startswith(_API)
