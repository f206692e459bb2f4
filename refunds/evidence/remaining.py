"""How much of a payment may still be refunded: a sum over rows, never a counter.

captured = refunded + pending + reserved + disputed + remaining. Reserved includes every operation whose outcome
is unknown, in review or confirmed absent; an operation whose refund stands in the ledger counts only through it.
"""

from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, Sum

from ledger.models import LedgerEntry
from ledger.snapshot import EntryKind, EntryStatus
from refunds.models import RefundOperation
from refunds.states import ABANDONED_OPERATION_STATES

_SETTLED = Q(status=EntryStatus.SUCCEEDED)
_UNDERWAY = Q(status=EntryStatus.PENDING)
_AT_THE_BANK = Q(status__in=[EntryStatus.OPEN, EntryStatus.LOST])


@dataclass(frozen=True, slots=True)
class Conservation:
    """Where the money of one payment is, in minor units of its currency."""

    captured: int
    refunded: int
    pending: int
    reserved: int
    disputed: int

    @property
    def remaining(self) -> int:
        """Return what may still be refunded; negative when facts from outside exceed the capture."""
        return self.captured - self.refunded - self.pending - self.reserved - self.disputed


def conservation_of(payment_id: int, *, leaving_out_operation: str | None = None) -> Conservation:
    """Return the sums of one payment, in two queries; callers that decide by it hold the payment's lock."""
    sums = LedgerEntry.objects.filter(payment_id=payment_id).aggregate(
        captured=Sum("amount_minor_units", filter=Q(kind=EntryKind.CAPTURE) & _SETTLED, default=0),
        refunded=Sum(
            "amount_minor_units",
            filter=Q(kind__in=[EntryKind.REFUND, EntryKind.REVERSAL]) & _SETTLED,
            default=0,
        ),
        pending=Sum(
            "amount_minor_units",
            filter=Q(kind__in=[EntryKind.REFUND, EntryKind.REVERSAL]) & _UNDERWAY,
            default=0,
        ),
        disputed=Sum("amount_minor_units", filter=Q(kind=EntryKind.DISPUTE) & _AT_THE_BANK, default=0),
    )
    return Conservation(reserved=_reserved(payment_id, leaving_out_operation), **sums)


def _reserved(payment_id: int, leaving_out: str | None) -> int:
    in_the_ledger = LedgerEntry.objects.filter(
        merchant_id=OuterRef("merchant_id"),
        account=OuterRef("account"),
        processor_reference=OuterRef("processor_reference"),
    )
    standing = RefundOperation.objects.filter(payment_id=payment_id).exclude(
        state__in=ABANDONED_OPERATION_STATES
    )
    if leaving_out is not None:
        standing = standing.exclude(pk=leaving_out)
    total: int = standing.exclude(Exists(in_the_ledger)).aggregate(
        total=Sum("amount_minor_units", default=0)
    )["total"]
    return total
