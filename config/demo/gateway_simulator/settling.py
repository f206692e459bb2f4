"""What becomes of a refund by itself: how it was paid decides (docs.stripe.com/refunds, /testing; facts 2.2, 5)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from config.demo.gateway_simulator.balance import is_enough
from config.demo.gateway_simulator.book import Book, Row
from config.demo.gateway_simulator.messages import ApiError

SETTLE_SECONDS = 1.0
# Methods that cannot be refunded the way they were paid: the customer is asked where to (facts 2.2).
ASKS_THE_CUSTOMER = frozenset({"boleto", "customer_balance", "konbini", "promptpay"})
# Its money is available at once (facts 5).
_BYPASSES_PENDING = ("pm_card_bypassPending", "tok_bypassPending")


@dataclass(frozen=True, slots=True)
class Course:
    """How a refund begins and what it becomes after ``seconds``; nothing if ``then`` is None."""

    first: str = "succeeded"
    then: str | None = None
    failure_reason: str | None = None  # of ``first`` if that is failed, else of ``then``
    seconds: float = SETTLE_SECONDS
    pending_reason: str | None = None


# Card payments that were made with one of these; all others succeed and stay so (facts 5).
_PENDING, _FAILING = Course("pending", "succeeded"), Course("succeeded", "failed", "expired_or_canceled_card")
BY_PAYMENT_METHOD: Mapping[str | None, Course] = {
    "pm_card_pendingRefund": _PENDING,
    "tok_pendingRefund": _PENDING,
    "pm_card_refundFail": _FAILING,
    "tok_refundFail": _FAILING,
}


def course_of(book: Book, charge: Row, amount: int) -> Course:
    """Return the course of a refund that nobody ordered otherwise; raises ApiError if there is none."""
    settings, method = book.settings, charge["payment_method"]
    kind = charge["payment_method_type"] or "card"
    if kind in ASKS_THE_CUSTOMER:
        return Course("requires_action", "failed", "unknown", seconds=settings.action_expires_seconds)
    settles_at = charge["settles_at"]
    if settles_at is not None and settles_at > book.now() and method not in _BYPASSES_PENDING:
        wait = settles_at - book.now()
        return Course("pending", "succeeded", seconds=wait, pending_reason="charge_pending")
    if is_enough(book, charge, amount):
        return BY_PAYMENT_METHOD.get(method, Course())
    if kind == "card":
        expires = settings.pending_expires_seconds
        then = None if expires is None else "failed"
        reason = "insufficient_funds"
        return Course("pending", then, reason, seconds=expires or 0.0, pending_reason=reason)
    if settings.other_method_without_balance == "failed":
        return Course("failed", failure_reason="insufficient_funds")
    # "Will fail" is all that is documented; the code for transfers is documented not to be meant for refunds.
    raise ApiError("Insufficient funds in your account for this refund.", executed=True)


def schedule(book: Book, refund: Mapping[str, Any], course: Course) -> None:
    """Write down what the refund becomes and when; must run inside ``book.transaction()``."""
    if course.then is not None:
        book.insert(
            "settlements",
            {
                "refund": refund["id"],
                "from_status": course.first,  # whatever happened to it meanwhile comes first
                "status": course.then,
                "failure_reason": course.failure_reason if course.then in ("failed", "canceled") else None,
                "due_at": book.now() + course.seconds,
            },
        )
