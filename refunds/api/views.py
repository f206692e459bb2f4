"""The HTTP API of customers: translate, make one call down, translate back."""

from collections.abc import Mapping
from typing import Any, Final

import structlog
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import NotFound, Throttled
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ledger.clock import now_utc
from ledger.intake import IntakeRefusedError, check_client_token
from ledger.throttle import count_new_request
from refunds.api.problems import ProblemError
from refunds.api.serializers import (
    NewRefundRequestSerializer,
    ProblemSerializer,
    RefundRequestPageSerializer,
    RefundRequestSerializer,
)
from refunds.facts import report_requests
from refunds.models import RefundWorkflow
from refunds.pipeline import open_request
from refunds.selectors.requests import (
    PAGE_SIZE,
    asks_the_same,
    get_request,
    get_request_by_token,
    list_requests,
)
from refunds.stages.s01_authorize_request import (
    NotACustomerError,
    OrderNotFoundError,
    SignedIn,
    identify_customer,
)
from refunds.tasks import send_nudges

logger = structlog.get_logger("api")
_PROBLEM: Final = {
    (status, "application/problem+json"): ProblemSerializer
    for status in (400, 401, 403, 404, 413, 415, 422, 503)
}
_KEY: Final = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="1 to 100 visible ASCII characters; the same key with the same body is one request.",
)
_RETRY_AFTER: Final = OpenApiParameter(
    "Retry-After",
    int,
    OpenApiParameter.HEADER,
    response=[429, 503],
    description="Seconds after which the request may be repeated.",
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


class RefundRequestsView(CustomerView):
    """The customer's requests."""

    @extend_schema(
        operation_id="list_refund_requests",
        parameters=[OpenApiParameter("page", int)],
        responses={200: RefundRequestPageSerializer, **_PROBLEM},
    )
    def get(self, request: Request) -> Response:
        """List the customer's own requests, newest first, 20 per page."""
        signed_in = self.signed_in(request)
        pages = PageNumberPagination()
        pages.page_size = PAGE_SIZE
        page = pages.paginate_queryset(list_requests(customer_id=signed_in.customer_id), request, view=self)
        reports = report_requests(page or [])
        return pages.get_paginated_response(RefundRequestSerializer(reports, many=True).data)

    @extend_schema(
        operation_id="open_refund_request",
        parameters=[_KEY, _RETRY_AFTER],
        request=NewRefundRequestSerializer,
        responses={
            201: RefundRequestSerializer,
            200: RefundRequestSerializer,
            **_PROBLEM,
            (429, "application/problem+json"): ProblemSerializer,
        },
    )
    def post(self, request: Request) -> Response:
        """Open a request about an own order; 200 with the open request where there is one already."""
        signed_in = self.signed_in(request)
        if wait := count_new_request(customer_id=signed_in.customer_id, now=now_utc()):
            raise Throttled(wait=wait)
        key = _idempotency_key(request)
        asked = _asked(request)
        try:
            opened = open_request(signed_in=signed_in, client_token=key, now=now_utc(), **asked)
        except OrderNotFoundError as error:
            logger.info("order.not_found", customer_id=signed_in.customer_id)
            raise ProblemError(404, "order_not_found", "No order of this account has that number.") from error
        if key and not opened.created:
            _refuse_other_body(signed_in, key, asked)
        send_nudges(opened.nudges)
        body = _document(_own_request(signed_in, opened.workflow_id))
        where = reverse("api:request", kwargs={"workflow_id": opened.workflow_id})
        return Response(body, status=201 if opened.created else 200, headers={"Location": where})


class RefundRequestView(CustomerView):
    """One request."""

    @extend_schema(operation_id="get_refund_request", responses={200: RefundRequestSerializer, **_PROBLEM})
    def get(self, request: Request, workflow_id: str) -> Response:
        """Return one of the customer's own requests; any other id is not found."""
        return Response(_document(_own_request(self.signed_in(request), workflow_id)))


class UnknownEndpointView(APIView):
    """Every other address below the API: a problem document rather than a page."""

    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:  # noqa: ARG002 - DRF's own names
        """Answer everybody and every method alike."""
        raise NotFound("There is no such endpoint.")


def _own_request(signed_in: SignedIn, workflow_id: str) -> RefundWorkflow:
    workflow = get_request(customer_id=signed_in.customer_id, workflow_id=workflow_id)
    if workflow is None:
        raise NotFound("There is nothing here.")
    return workflow


def _document(workflow: RefundWorkflow) -> Any:
    return RefundRequestSerializer(report_requests([workflow])[0]).data


def _asked(request: Request) -> dict[str, str]:
    if not isinstance(request.data, Mapping):
        raise ProblemError(422, "body_not_an_object", "Send a JSON object.")
    asked = NewRefundRequestSerializer(data=request.data)
    asked.is_valid(raise_exception=True)
    checked: dict[str, str] = asked.validated_data
    return checked


def _idempotency_key(request: Request) -> str:
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return ""
    try:
        return check_client_token(key)
    except IntakeRefusedError as refused:
        raise ProblemError(422, "idempotency_key_invalid", refused.text) from refused


def _refuse_other_body(signed_in: SignedIn, key: str, asked: dict[str, str]) -> None:
    """A key that opened a request may only repeat that very request."""
    first = get_request_by_token(customer_id=signed_in.customer_id, client_token=key)
    if first is not None and not asks_the_same(first, **asked):
        raise ProblemError(422, "idempotency_key_reuse", "This Idempotency-Key belongs to another request.")
