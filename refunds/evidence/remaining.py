"""How much of a payment may still be refunded: a sum over rows, never a counter.

captured = refunded + pending + reserved + disputed + remaining. Reserved includes every operation whose outcome
is unknown, in review or confirmed absent; an operation whose refund stands in the ledger counts only through it.
"""

from dataclasses import dataclass

from django.db.models import BigIntegerField, Exists, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from ledger.models import LedgerEntry, Payment
from ledger.snapshot import EntryKind, EntryStatus
from refunds.models import RefundOperation
from refunds.states import ABANDONED_OPERATION_STATES

_RETURNED = Q(kind__in=[EntryKind.REFUND, EntryKind.REVERSAL])
_AT_THE_BANK = Q(kind=EntryKind.DISPUTE, status__in=[EntryStatus.OPEN, EntryStatus.LOST])


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
    """Return the sums of one payment; callers that decide by it hold the payment's lock.

    One statement, hence one snapshot: an operation that completes meanwhile is counted once, as reserved or as
    refunded, and never as neither.
    """
    sums = (
        Payment.objects.filter(pk=payment_id)
        .values(
            captured=_sum(_entries(Q(kind=EntryKind.CAPTURE, status=EntryStatus.SUCCEEDED))),
            refunded=_sum(_entries(_RETURNED & Q(status=EntryStatus.SUCCEEDED))),
            pending=_sum(_entries(_RETURNED & Q(status=EntryStatus.PENDING))),
            disputed=_sum(_entries(_AT_THE_BANK)),
            reserved=_sum(_reserving(leaving_out_operation)),
        )
        .get()
    )
    return Conservation(**sums)


def _entries(condition: Q) -> QuerySet[LedgerEntry]:
    return LedgerEntry.objects.filter(condition, payment_id=OuterRef("pk"))


def _reserving(leaving_out: str | None) -> QuerySet[RefundOperation]:
    """Return the operations that hold money back: not abandoned, and not yet told of by the ledger."""
    in_the_ledger = LedgerEntry.objects.filter(
        merchant_id=OuterRef("merchant_id"),
        account=OuterRef("account"),
        processor_reference=OuterRef("processor_reference"),
        payment_id=OuterRef("payment_id"),
        amount_minor_units=OuterRef("amount_minor_units"),
    )
    standing = RefundOperation.objects.filter(~Exists(in_the_ledger), payment_id=OuterRef("pk")).exclude(
        state__in=ABANDONED_OPERATION_STATES
    )
    return standing.exclude(pk=leaving_out) if leaving_out is not None else standing


def _sum(rows: QuerySet[LedgerEntry] | QuerySet[RefundOperation]) -> Coalesce:
    total = rows.order_by().values("payment_id").annotate(total=Sum("amount_minor_units")).values("total")
    return Coalesce(Subquery(total, output_field=BigIntegerField()), 0)
