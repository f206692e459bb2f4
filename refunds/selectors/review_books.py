"""Cases about the books, which are about no request: a difference between books, or a payment that facts froze."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from approvals.models import ReviewCase
from ledger.models import Payment
from refunds.models import BookDifference
from refunds.selectors.review_charges import money_text
from refunds.selectors.review_lease import promise_of
from refunds.selectors.review_records import Promise, Reviewer

PAYMENT: Final = "payment:"
DIFFERENCE: Final = "books:"
_MOST_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class BookSubject:
    """What the queue shows of such a case: the order of the payment, and the amount in question."""

    order_number: str
    amount: str


@dataclass(frozen=True, slots=True)
class BookCase:
    """One case about the books as plain values; ``books`` is what each book says, as lines of name and text."""

    ticket: int
    reason: str
    merchant_id: int
    merchant_name: str
    opened_at: datetime
    waiting: timedelta
    promise: Promise | None
    closed_at: datetime | None
    closed_because: str
    payment_id: int | None
    payment_reference: str
    order_number: str
    operation_id: str
    processor_reference: str
    frozen_since: datetime | None
    frozen: bool
    books: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    found_at: tuple[datetime, ...]
    facts_sha256: str  # of what the books say, as it is shown; empty where they say nothing
    about_reviewer: bool  # the payment is the reviewer's own


def book_subjects(subject_ids: Iterable[str]) -> dict[str, BookSubject]:
    """Return what the queue shows of cases about the books, in two queries; none for other subjects."""
    subjects = set(subject_ids)
    frozen = {s: int(s.removeprefix(PAYMENT)) for s in subjects if s.startswith(PAYMENT)}
    newest = _newest([s for s in subjects if s.startswith(DIFFERENCE)])
    wanted = {*frozen.values(), *(d.payment_id for d in newest.values() if d.payment_id)}
    payments = Payment.objects.select_related("order").in_bulk(wanted) if wanted else {}
    found = {s: BookSubject(payments[pk].order.number, "") for s, pk in frozen.items() if pk in payments}
    for subject_id, difference in newest.items():
        payment = payments.get(difference.payment_id or 0)
        found[subject_id] = BookSubject(payment.order.number if payment else "", _amount(difference.facts))
    return found


def get_book_case(*, reviewer: Reviewer, ticket: int, now: datetime) -> BookCase | None:
    """Return a case about the books; None alike for any other, a missing one and one of another merchant."""
    case = (
        ReviewCase.objects.filter(merchant_id__in=reviewer.merchant_ids, ticket=ticket)
        .select_related("merchant")
        .first()
    )
    if case is None or not case.subject_id.startswith((PAYMENT, DIFFERENCE)):
        return None
    differences = list(
        BookDifference.objects.filter(subject_id=case.subject_id).order_by("-at", "-pk")[:_MOST_SHOWN]
    )
    newest = differences[0] if differences else None
    named = case.subject_id.removeprefix(PAYMENT)
    payment_id = int(named) if named.isdigit() else newest.payment_id if newest else None
    payments = Payment.objects.select_related("order__customer").filter(
        pk__in=[payment_id] if payment_id else []
    )
    payment = payments.first()
    return BookCase(
        ticket=case.ticket,
        reason=case.reason,
        merchant_id=case.merchant_id,
        merchant_name=case.merchant.name,
        opened_at=case.opened_at,
        waiting=(case.closed_at or now) - case.opened_at,
        promise=promise_of(case, now),
        closed_at=case.closed_at,
        closed_because=case.closed_because,
        payment_id=payment.pk if payment else None,
        payment_reference=payment.processor_reference if payment else "",
        order_number=payment.order.number if payment else "",
        operation_id=newest.operation_id if newest else "",
        processor_reference=newest.processor_reference if newest else "",
        frozen_since=payment.frozen_at if payment else None,
        frozen=case.subject_id.startswith(PAYMENT),
        books=_books(newest.facts) if newest else (),
        found_at=tuple(difference.at for difference in differences),
        facts_sha256=newest.facts_sha256 if newest else "",
        about_reviewer=payment is not None and payment.order.customer.user_id == reviewer.user_id,
    )


def _newest(subjects: list[str]) -> dict[str, BookDifference]:
    if not subjects:
        return {}
    rows = BookDifference.objects.filter(subject_id__in=subjects).order_by("subject_id", "-at", "-pk")
    return {row.subject_id: row for row in rows.distinct("subject_id")}


def _amount(facts: Mapping[str, Any]) -> str:
    """Return our amount, else the provider's or the report's."""
    for book in ("ours", "provider", "settlement"):
        told = facts.get(book)
        if isinstance(told, Mapping) and "currency" in told:
            amount = told.get("amount_minor_units", told.get("out_minor_units"))
            if amount is not None:
                return money_text(int(amount), str(told["currency"]))
    return ""


def _books(facts: Mapping[str, Any]) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """Return what each book says as lines; amounts are worded in the book's own currency."""
    return tuple((str(book), tuple(_lines(told))) for book, told in facts.items())


def _lines(told: Any) -> Iterable[tuple[str, str]]:
    if isinstance(told, list):
        for number, each in enumerate(told, 1):
            lines = _lines(each) if isinstance(each, Mapping) else [("", str(each))]
            yield from ((f"{number} {name}".strip(), text) for name, text in lines)
        return
    currency = str(told.get("currency", ""))
    for name, value in told.items():
        if name.endswith("_minor_units"):
            yield _words(name.removesuffix("_minor_units")), money_text(int(value), currency)
        elif isinstance(value, list):
            yield _words(name), ", ".join(map(str, value))
        else:
            yield _words(name), str(value) or "none"


def _words(name: str) -> str:
    return name.replace("_", " ").removesuffix(" amount")
