"""The HTTP API of customers: translate, make one call down, translate back."""

from typing import Any, Final

import structlog
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ledger.clock import now_utc
from ledger.intake import IntakeRefusedError, check_client_token
from refunds.api.answers import (
    CONFLICT,
    READING_PROBLEMS,
    REMOVED,
    RETRY_AFTER,
    WRITING_PROBLEMS,
    CustomerView,
    address_of,
    checked_body,
    count_attempt,
    document_of,
    document_of_new,
    order_not_found,
    own_request,
    removals_of,
)
from refunds.api.problems import ProblemError
from refunds.api.serializers import (
    NewRefundRequestSerializer,
    RefundRequestPageSerializer,
    RefundRequestSerializer,
)
from refunds.facts import report_requests
from refunds.pipeline import open_request
from refunds.refusals import MessageRefusedError
from refunds.selectors.requests import PAGE_SIZE, asks_the_same, get_request_by_token, list_requests
from refunds.stages.s01_authorize_request import OrderNotFoundError, SignedIn
from refunds.tasks import send_nudges

logger = structlog.get_logger("api")
_KEY: Final = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="1 to 100 visible ASCII characters; the same key with the same body is one request.",
)


class RefundRequestsView(CustomerView):
    """The customer's requests."""

    @extend_schema(
        operation_id="list_refund_requests",
        parameters=[OpenApiParameter("page", int)],
        responses={200: RefundRequestPageSerializer, **READING_PROBLEMS},
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
        parameters=[_KEY, RETRY_AFTER, REMOVED],
        request=NewRefundRequestSerializer,
        responses={
            201: RefundRequestSerializer,
            200: RefundRequestSerializer,
            **WRITING_PROBLEMS,
            **CONFLICT,
        },
    )
    def post(self, request: Request) -> Response:
        """Open a request about an own order; 200 with the open request where there is one already.

        Without an order number it waits for one: see ``…/order``. 409 where the open request takes no more words.
        """
        signed_in = self.signed_in(request)
        count_attempt(signed_in, now=now_utc())
        key = _idempotency_key(request)
        asked = checked_body(request, NewRefundRequestSerializer)
        try:
            opened = open_request(signed_in=signed_in, client_token=key, now=now_utc(), **asked)
        except OrderNotFoundError as error:
            logger.info("order.not_found", customer_id=signed_in.customer_id)
            raise order_not_found() from error
        except MessageRefusedError as refused:
            raise ProblemError(409, refused.code.lower(), refused.text) from refused
        structlog.contextvars.bind_contextvars(workflow_id=opened.workflow_id)
        if key and not opened.created:
            _refuse_other_body(signed_in, key, asked)
        send_nudges(opened.nudges)
        headers = address_of(opened.workflow_id) | removals_of(asked["message"])
        if opened.first_event is not None:
            return Response(document_of_new(opened.first_event), status=201, headers=headers)
        return Response(document_of(own_request(signed_in, opened.workflow_id)), headers=headers)


class RefundRequestView(CustomerView):
    """One request."""

    @extend_schema(
        operation_id="get_refund_request", responses={200: RefundRequestSerializer, **READING_PROBLEMS}
    )
    def get(self, request: Request, workflow_id: str) -> Response:
        """Return one of the customer's own requests; any other id is not found."""
        return Response(document_of(own_request(self.signed_in(request), workflow_id)))


class UnknownEndpointView(APIView):
    """Every other address below the API: a problem document rather than a page."""

    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:  # noqa: ARG002 - DRF's own names
        """Answer everybody and every method alike."""
        raise NotFound("There is no such endpoint.")


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
