"""What a customer may do with one own request: withdraw it, add words, ask for a person, name its order.

Each may be repeated and then answers 200 with the request as it stands; 409 says why its state does not allow it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import structlog
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from ledger.clock import now_utc
from refunds import pipeline
from refunds.api.answers import (
    CONFLICT,
    REMOVED,
    RETRY_AFTER,
    WRITING_PROBLEMS,
    CustomerView,
    address_of,
    checked_body,
    count_attempt,
    count_withdraw_attempt,
    document_of,
    not_found,
    order_not_found,
    own_request,
    removals_of,
)
from refunds.api.problems import ProblemError
from refunds.api.serializers import (
    MessageSerializer,
    OrderNumberSerializer,
    RefundRequestSerializer,
    StrictSerializer,
)
from refunds.nudges import Nudge
from refunds.refusals import ActionRefusedError, RequestNotFoundError, WithdrawRefusedError
from refunds.stages.s01_authorize_request import OrderNotFoundError, SignedIn
from refunds.tasks import send_nudges

logger = structlog.get_logger("api")
_RESPONSES: Final[dict[Any, Any]] = {200: RefundRequestSerializer, **WRITING_PROBLEMS, **CONFLICT}


class WithdrawView(CustomerView):
    """Taking a request back."""

    @extend_schema(
        operation_id="withdraw_refund_request", parameters=[RETRY_AFTER], request=None, responses=_RESPONSES
    )
    def post(self, request: Request, workflow_id: str) -> Response:
        """Withdraw an own request; 409 ``too_late_to_withdraw`` once a refund was approved and recorded for it."""
        signed_in = self.signed_in(request)
        count_withdraw_attempt(signed_in, now=now_utc())
        checked_body(request, StrictSerializer)
        with refusals_as_problems(signed_in):
            nudges = pipeline.withdraw_request(signed_in=signed_in, workflow_id=workflow_id, now=now_utc())
        return _answer(signed_in, workflow_id, nudges)


class MessagesView(CustomerView):
    """What a customer adds to a request."""

    @extend_schema(
        operation_id="add_refund_request_message",
        parameters=[RETRY_AFTER, REMOVED],
        request=MessageSerializer,
        responses=_RESPONSES,
    )
    def post(self, request: Request, workflow_id: str) -> Response:
        """Add words to an own open request; the same words again change nothing. 409 when it is closed or full."""
        signed_in = self.signed_in(request)
        count_attempt(signed_in, now=now_utc())
        asked = checked_body(request, MessageSerializer)
        with refusals_as_problems(signed_in):
            nudges = pipeline.add_message(
                signed_in=signed_in, workflow_id=workflow_id, message=asked["message"], now=now_utc()
            )
        return _answer(signed_in, workflow_id, nudges, message=asked["message"])


class PersonView(CustomerView):
    """Asking for a person."""

    @extend_schema(
        operation_id="ask_person_about_refund_request",
        parameters=[RETRY_AFTER],
        request=None,
        responses=_RESPONSES,
    )
    def post(self, request: Request, workflow_id: str) -> Response:
        """Bring an own request before a person, also after a refusal; 409 once confirmed or withdrawn."""
        signed_in = self.signed_in(request)
        count_attempt(signed_in, now=now_utc())
        checked_body(request, StrictSerializer)
        with refusals_as_problems(signed_in):
            nudges = pipeline.ask_person(signed_in=signed_in, workflow_id=workflow_id, now=now_utc())
        return _answer(signed_in, workflow_id, nudges)


class OrderView(CustomerView):
    """Naming the order of a request that was opened without one."""

    @extend_schema(
        operation_id="give_refund_request_order",
        parameters=[RETRY_AFTER],
        request=OrderNumberSerializer,
        responses=_RESPONSES,
    )
    def post(self, request: Request, workflow_id: str) -> Response:
        """Say which own order a request is about, once.

        Where that order has an open request already, the answer is that one: this one is closed, its words kept.
        """
        signed_in = self.signed_in(request)
        count_attempt(signed_in, now=now_utc())
        asked = checked_body(request, OrderNumberSerializer)
        with refusals_as_problems(signed_in):
            opened = pipeline.give_order(
                signed_in=signed_in,
                workflow_id=workflow_id,
                order_number=asked["order_number"],
                now=now_utc(),
            )
        return _answer(signed_in, opened.workflow_id, opened.nudges)


@contextmanager
def refusals_as_problems(signed_in: SignedIn) -> Iterator[None]:
    """Turn what the desk refuses into problem documents; foreign and missing are one."""
    try:
        yield
    except RequestNotFoundError as error:
        logger.info("request.not_found", customer_id=signed_in.customer_id)
        raise not_found() from error
    except OrderNotFoundError as error:
        logger.info("order.not_found", customer_id=signed_in.customer_id)
        raise order_not_found() from error
    except WithdrawRefusedError as refused:
        raise ProblemError(409, "too_late_to_withdraw", refused.text) from refused
    except ActionRefusedError as refused:
        raise ProblemError(409, refused.code.lower(), refused.text) from refused


def _answer(
    signed_in: SignedIn, workflow_id: str, nudges: tuple[Nudge, ...], *, message: str = ""
) -> Response:
    send_nudges(nudges)
    headers = address_of(workflow_id) | removals_of(message)
    return Response(document_of(own_request(signed_in, workflow_id)), headers=headers)
