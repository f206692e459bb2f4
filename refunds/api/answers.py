"""What every view of customers shares: who asks, the document of a request, and the problems it may answer."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import structlog
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import NotFound, Throttled
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ledger.intake import MARKERS, REFUSED, removed_from
from ledger.throttle import count_new_request, count_withdrawal
from refunds.api.problems import ProblemError
from refunds.api.serializers import ProblemSerializer, RefundRequestSerializer, StrictSerializer
from refunds.facts import report_new_request, report_requests
from refunds.models import RefundWorkflow, RefundWorkflowEvent
from refunds.selectors.requests import get_request
from refunds.stages.s01_authorize_request import NotACustomerError, SignedIn, identify_customer

logger = structlog.get_logger("api")
_MEDIA_TYPE: Final = "application/problem+json"
READING_PROBLEMS: Final = {(status, _MEDIA_TYPE): ProblemSerializer for status in (400, 401, 403, 404, 503)}
WRITING_PROBLEMS: Final = READING_PROBLEMS | {
    (status, _MEDIA_TYPE): ProblemSerializer for status in (413, 415, 422, 429)
}
CONFLICT: Final = {(409, _MEDIA_TYPE): ProblemSerializer}
RETRY_AFTER: Final = OpenApiParameter(
    "Retry-After",
    int,
    OpenApiParameter.HEADER,
    response=[429, 503],
    description="Seconds after which the request may be repeated.",
)
REMOVED: Final = OpenApiParameter(
    "Removed-From-Message",
    str,
    OpenApiParameter.HEADER,
    response=[200, 201],
    description="The kinds of sensitive data that were replaced by a marker before the message was stored: "
    f"{', '.join(kind for kind in MARKERS if kind not in REFUSED)}. Absent where nothing was.",
)


class CustomerView(APIView):
    """A view for signed-in customers; what it answers is for them alone and is stored nowhere."""

    def signed_in(self, request: Request) -> SignedIn:
        """Return who asks; a user without a customer record here gets a 403 problem."""
        try:
            return identify_customer(
                user=request.user, host=request.get_host(), method="token" if request.auth else "session"
            )
        except NotACustomerError as error:
            raise ProblemError(403, "not_a_customer", "This account has no customer record here.") from error

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        """Keep answers out of caches."""
        response["Cache-Control"] = "private, no-store"
        return super().finalize_response(request, response, *args, **kwargs)


def count_attempt(signed_in: SignedIn, *, now: datetime) -> None:
    """Count one attempt to store something; 429 for a customer who tries too often."""
    if wait := count_new_request(customer_id=signed_in.customer_id, now=now):
        raise Throttled(wait=wait)


def count_withdraw_attempt(signed_in: SignedIn, *, now: datetime) -> None:
    """Count one attempt to withdraw, apart from the others; 429 for a customer who tries too often."""
    if wait := count_withdrawal(customer_id=signed_in.customer_id, now=now):
        raise Throttled(wait=wait)


def checked_body(request: Request, expected: type[StrictSerializer]) -> dict[str, str]:
    """Return the checked members of the body; 422 names each one that cannot be used."""
    if not isinstance(request.data, Mapping):
        raise ProblemError(422, "body_not_an_object", "Send a JSON object.")
    asked = expected(data=request.data)
    asked.is_valid(raise_exception=True)
    checked: dict[str, str] = asked.validated_data
    return checked


def own_request(signed_in: SignedIn, workflow_id: str) -> RefundWorkflow:
    """Return an own request; any other id is not found."""
    workflow = get_request(customer_id=signed_in.customer_id, workflow_id=workflow_id)
    if workflow is None:
        logger.info("request.not_found", customer_id=signed_in.customer_id)
        raise not_found()
    return workflow


def not_found() -> NotFound:
    """Return the answer to every id that is not an own request's."""
    return NotFound("There is nothing here.")


def order_not_found() -> ProblemError:
    """Return the answer to a foreign order and to a missing one."""
    return ProblemError(404, "order_not_found", "No order of this account has that number.")


def document_of(workflow: RefundWorkflow) -> Any:
    """Return the JSON document of one request."""
    return RefundRequestSerializer(report_requests([workflow])[0]).data


def document_of_new(first_event: RefundWorkflowEvent) -> Any:
    """Return the JSON document of a request as it was opened just now."""
    return RefundRequestSerializer(report_new_request(first_event)).data


def removals_of(message: str) -> dict[str, str]:
    """Return the header that names what was taken out of a message that was kept, if anything was."""
    removed = removed_from(message)
    return {"Removed-From-Message": ", ".join(removed)} if removed else {}


def address_of(workflow_id: str) -> dict[str, str]:
    """Return the header that says where a request is."""
    return {"Location": reverse("api:request", kwargs={"workflow_id": workflow_id})}
