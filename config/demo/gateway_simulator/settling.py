"""What becomes of a refund by itself: the provider's test cards (docs.stripe.com/testing; facts 5), and orders."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from config.demo.gateway_simulator.book import Book

SETTLE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Course:
    """How a refund begins and what it becomes after ``seconds``; nothing if ``then`` is None."""

    first: str = "succeeded"
    then: str | None = None
    failure_reason: str | None = None
    seconds: float = SETTLE_SECONDS


# Card payments that were made with one of these; all others succeed and stay so (facts 5).
BY_PAYMENT_METHOD: Mapping[str | None, Course] = {
    "pm_card_pendingRefund": Course("pending", "succeeded"),
    "pm_card_refundFail": Course("succeeded", "failed", "expired_or_canceled_card"),
}


def schedule(book: Book, refund: Mapping[str, Any], course: Course) -> None:
    """Write down what the refund becomes and when; must run inside ``book.transaction()``."""
    if course.then is not None:
        book.insert(
            "settlements",
            {
                "refund": refund["id"],
                "status": course.then,
                "failure_reason": course.failure_reason,
                "due_at": time.time() + course.seconds,
            },
        )
