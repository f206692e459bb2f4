"""What a customer may read: their own requests and orders, and the rows that explain them, in a few queries.

Every entry point takes the customer's id, so that somebody else's row is as absent as one that does not exist.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet, Subquery

from approvals.models import ReviewCase
from ledger.models import EventKind, Order, text_sha256
from notifications.models import Notification
from refunds.gateways.port import AnswerClass
from refunds.models import (
    CustomerMessage,
    GatewayAttempt,
    GatewayResponse,
    MessageReading,
    ReconciliationCheck,
    RefundOperation,
    RefundOperationEvent,
    RefundWorkflow,
    RefundWorkflowEvent,
)
from refunds.states import OperationState

# An answer of these classes without an HTTP status was made here: no byte of the attempt reached the provider.
_NEVER_LEFT: Final[dict[str, Any]] = {
    "response__answer_class__in": [AnswerClass.REFUSED, AnswerClass.NOT_EXECUTED],
    "response__http_status__isnull": True,
}
PAGE_SIZE: Final = 20
RECENT_ORDERS: Final = 10
ORDER_GIVEN: Final = "ORDER_GIVEN"
TOLD_RECORDS: Final = (ORDER_GIVEN, "CUSTOMER_ASKED_PERSON")  # events of kind RECORD that customers may read
_AROUND_A_NUMBER: Final = "#.,;:!?()[]{}<>\"'«»“”„\u2018\u2019"  # what a sentence puts around an order number


@dataclass(slots=True)
class RequestRows:
    """The rows beside one workflow, oldest first; ``answers`` to ``receipts`` are by operation id.

    ``events`` moved the workflow; ``records`` moved nothing and are told all the same.
    """

    operations: list[RefundOperation] = field(default_factory=list)
    events: list[RefundWorkflowEvent] = field(default_factory=list)
    records: list[RefundWorkflowEvent] = field(default_factory=list)
    operation_events: list[RefundOperationEvent] = field(default_factory=list)
    cases: list[ReviewCase] = field(default_factory=list)
    messages_at: list[datetime] = field(default_factory=list)
    answers: dict[str, "AnswerRow"] = field(default_factory=dict)
    completed_at: dict[str, datetime] = field(default_factory=dict)
    last_check_at: dict[str, datetime] = field(default_factory=dict)
    receipts: dict[str, "ReceiptRow"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """What one operation's newest response is, and whether any of its attempts may have reached the provider."""

    answer_class: str
    http_status: int | None
    may_have_left: bool


@dataclass(frozen=True, slots=True)
class ReceiptRow:
    """How far the receipt of one operation got."""

    delivered_at: datetime | None
    failed_at: datetime | None
    attempts: int


def list_requests(*, customer_id: int) -> QuerySet[RefundWorkflow]:
    """Return the customer's requests, newest first; interfaces show ``PAGE_SIZE`` of them at a time."""
    own = RefundWorkflow.objects.filter(customer_id=customer_id).select_related("order")
    return own.order_by("-created_at", "-pk")


def get_request(*, customer_id: int, workflow_id: str) -> RefundWorkflow | None:
    """Return the customer's own request of that id, or None."""
    return list_requests(customer_id=customer_id).filter(pk=workflow_id).first()


def get_request_by_reference(*, customer_id: int, reference: str) -> RefundWorkflow | None:
    """Return the customer's own request of that ``RF-XXXX-XXXX``, or None."""
    return list_requests(customer_id=customer_id).filter(reference=reference).first()


def get_request_by_token(*, customer_id: int, client_token: str) -> RefundWorkflow | None:
    """Return the request that this customer's caller opened under a token, or None."""
    return list_requests(customer_id=customer_id).filter(client_token=client_token).first()


def list_recent_orders(*, customer_id: int) -> list[Order]:
    """Return the customer's newest orders, for the picker."""
    return list(Order.objects.filter(customer_id=customer_id).order_by("-placed_at", "-pk")[:RECENT_ORDERS])


def suggest_orders(*, customer_id: int, message: str) -> list[str]:
    """Return the customer's own order numbers that stand in a text as words of their own, as they come in it.

    A hint for pages to pre-select, never a decision: ``#2841.`` names order 2841, ``28411`` and ``$28.41`` do not.
    """
    words = [word.strip(_AROUND_A_NUMBER) for word in message.split()]
    named = dict.fromkeys(word for word in words if word and word.isascii())
    own = Order.objects.filter(customer_id=customer_id, number__in=list(named))
    found = set(own.values_list("number", flat=True))
    return [word for word in named if word in found]


def owns_order(*, customer_id: int, number: str) -> bool:
    """Say whether an order of that number is this customer's own; somebody else's is as absent as none."""
    return Order.objects.filter(customer_id=customer_id, number=number).exists()


def get_newest_reading(*, workflow_id: str) -> MessageReading | None:
    """Return what a model made of the newest words that one could read, or None."""
    return MessageReading.objects.filter(workflow_id=workflow_id).order_by("-message_id").first()


def list_messages(*, workflow_id: str) -> list[CustomerMessage]:
    """Return what the customer wrote about one request, oldest first, with its words."""
    return list(CustomerMessage.objects.filter(workflow_id=workflow_id).select_related("text").order_by("pk"))


def asks_the_same(workflow: RefundWorkflow, *, order_number: str, message: str, problem: str = "") -> bool:
    """Say whether a workflow was opened by this very request; an empty ``problem`` is the default one.

    An order that was given later was not part of the request that opened it.
    """
    first = CustomerMessage.objects.filter(workflow=workflow).order_by("pk").first()
    later = workflow.events.filter(kind=EventKind.RECORD, reason=ORDER_GIVEN).exists()
    opened_with = "" if workflow.order is None or later else workflow.order.number
    return (
        first is not None
        and (opened_with, first.text_sha256) == (order_number, text_sha256(message))
        and problem in {"", workflow.problem}
    )


def load_rows(workflows: Sequence[RefundWorkflow]) -> dict[str, RequestRows]:
    """Return the rows beside each workflow by its id: seven queries, however many workflows there are."""
    rows = {workflow.pk: RequestRows() for workflow in workflows}
    ids = list(rows)
    for operation in _operations(ids):
        rows[operation.workflow_id].operations.append(operation)
        rows[operation.workflow_id].answers[operation.pk] = _answer_row(operation)
    owner = {operation.pk: pk for pk, found in rows.items() for operation in found.operations}
    told = Q(kind=EventKind.TRANSITION) | Q(reason__in=TOLD_RECORDS)
    for event in RefundWorkflowEvent.objects.filter(told, workflow_id__in=ids).order_by("pk"):
        beside = rows[event.workflow_id]
        (beside.events if event.kind == EventKind.TRANSITION else beside.records).append(event)
    for change in RefundOperationEvent.objects.filter(
        operation_id__in=list(owner), kind=EventKind.TRANSITION
    ).order_by("pk"):
        beside = rows[owner[change.operation_id]]
        beside.operation_events.append(change)
        if change.to_state == OperationState.COMPLETED:
            beside.completed_at[change.operation_id] = change.at
    for case in ReviewCase.objects.filter(subject_id__in=[*ids, *owner]).order_by("opened_at", "pk"):
        rows[owner.get(case.subject_id, case.subject_id)].cases.append(case)
    messages = CustomerMessage.objects.filter(workflow_id__in=ids).order_by("pk")
    for workflow_id, at in messages.values_list("workflow_id", "at"):
        rows[workflow_id].messages_at.append(at)
    for operation_id, at in _last_checks(list(owner)):
        rows[owner[operation_id]].last_check_at[operation_id] = at
    for operation_id, receipt in _receipts(list(owner)):
        rows[owner[operation_id]].receipts[operation_id] = receipt
    return rows


def load_stated_rows(workflow: RefundWorkflow) -> RequestRows:
    """Return the rows that a message owed now is worded from, in three queries: no timeline, and no receipt yet."""
    completed = RefundOperationEvent.objects.filter(
        operation=OuterRef("pk"), to_state=OperationState.COMPLETED
    ).order_by("-pk")
    checks = ReconciliationCheck.objects.filter(operation=OuterRef("pk")).order_by("-at")
    rows = RequestRows()
    for operation in _operations([workflow.pk]).annotate(
        completed_at=Subquery(completed.values("at")[:1]), last_check_at=Subquery(checks.values("at")[:1])
    ):
        rows.operations.append(operation)
        rows.answers[operation.pk] = _answer_row(operation)
        if operation.completed_at is not None:
            rows.completed_at[operation.pk] = operation.completed_at
        if operation.last_check_at is not None:
            rows.last_check_at[operation.pk] = operation.last_check_at
    rows.events = list(workflow.events.filter(kind=EventKind.TRANSITION).order_by("pk"))
    subjects = [workflow.pk, *(operation.pk for operation in rows.operations)]
    rows.cases = list(ReviewCase.objects.filter(subject_id__in=subjects).order_by("opened_at", "pk"))
    return rows


def receipt_event_id(operation_id: str) -> str:
    """Return the logical event id of an operation's receipt."""
    return f"refund.completed:{operation_id}"


def _operations(workflow_ids: list[str]) -> QuerySet[RefundOperation]:
    responses = GatewayResponse.objects.filter(attempt__operation=OuterRef("pk")).order_by("-attempt__number")
    attempts = GatewayAttempt.objects.filter(operation=OuterRef("pk"))
    found = RefundOperation.objects.filter(workflow_id__in=workflow_ids).annotate(
        newest_answer=Subquery(responses.values("answer_class")[:1]),
        newest_status=Subquery(responses.values("http_status")[:1]),
        may_have_left=Exists(attempts.exclude(**_NEVER_LEFT)),
    )
    return found.select_related("payment").order_by("created_at", "pk")


def _answer_row(operation: Any) -> AnswerRow:
    return AnswerRow(operation.newest_answer or "", operation.newest_status, operation.may_have_left)


def _last_checks(operation_ids: list[str]) -> list[tuple[str, datetime]]:
    checks = ReconciliationCheck.objects.filter(operation_id__in=operation_ids)
    return list(checks.values_list("operation_id").annotate(last=Max("at")))


def _receipts(operation_ids: list[str]) -> list[tuple[str, ReceiptRow]]:
    by_event = {receipt_event_id(operation_id): operation_id for operation_id in operation_ids}
    found = Notification.objects.filter(logical_event_id__in=list(by_event)).annotate(tries=Count("attempts"))
    return [
        (by_event[row.logical_event_id], ReceiptRow(row.delivered_at, row.failed_at, row.tries))
        for row in found
    ]
