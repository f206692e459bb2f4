"""How the books stand, for whoever operates the desk: each merchant's last comparison, and frozen payments."""

from dataclasses import dataclass
from datetime import date, datetime

from django.db.models import OuterRef, Subquery

from ledger.models import Merchant, Payment
from refunds.models import BookComparison


@dataclass(frozen=True, slots=True)
class ComparedBooks:
    """One merchant's last comparison; ``differences`` are (kind, count)."""

    merchant_name: str
    books_of: date
    finished_at: datetime
    settled_until: datetime | None
    differences: tuple[tuple[str, int], ...]
    unread: int
    not_asked: int
    foreign: int


def frozen_payments() -> int:
    """Return how many payments are frozen."""
    return Payment.objects.filter(frozen_at__isnull=False).count()


def compared_books() -> tuple[ComparedBooks, ...]:
    """Return each merchant's last comparison, in two queries; a merchant without one is left out."""
    newest = BookComparison.objects.filter(merchant=OuterRef("pk")).order_by("-books_of", "-pk")
    last = Merchant.objects.annotate(last=Subquery(newest.values("pk")[:1])).filter(last__isnull=False)
    found = BookComparison.objects.select_related("merchant").filter(pk__in=last.values("last"))
    return tuple(
        ComparedBooks(
            merchant_name=row.merchant.name,
            books_of=row.books_of,
            finished_at=row.finished_at,
            settled_until=row.settled_until,
            differences=tuple(sorted(row.counts.items())),
            unread=row.unread,
            not_asked=row.not_asked,
            foreign=row.foreign,
        )
        for row in found.order_by("merchant__name", "pk")
    )
