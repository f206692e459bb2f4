"""How much of a payment may still be refunded: a sum over rows, never a counter.

captured = refunded + pending + reserved + disputed + remaining. Reserved includes every operation whose outcome
is unknown, in review or confirmed absent; an operation whose refund stands in the ledger counts only through it.
"""

from collections.abc import Container, Iterable
from dataclasses import dataclass

from django.db.models import BigIntegerField, Exists, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from ledger.models import LedgerEntry, Payment
from ledger.snapshot import EntryKind, EntryStatus, EntryView
from refunds.models import RefundOperation
from refunds.states import ABANDONED_OPERATION_STATES, OperationState

_RETURNING = (EntryKind.REFUND, EntryKind.REVERSAL)
_BANK_HOLDS = (EntryStatus.OPEN, EntryStatus.LOST)
_NO_MONEY = (EntryStatus.FAILED, EntryStatus.CANCELED)
_RETURNED = Q(kind__in=_RETURNING)
_AT_THE_BANK = Q(kind=EntryKind.DISPUTE, status__in=_BANK_HOLDS)


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


def conservation_in(entries: Iterable[EntryView], operations: Iterable[RefundOperation]) -> Conservation:
    """Return the same sums from rows in memory: all entries of one payment, and the operations that count on it."""
    rows = list(entries)
    told = {(row.processor_reference, row.amount_minor_units): row.status for row in rows}
    return Conservation(
        captured=_total(rows, (EntryKind.CAPTURE,), (EntryStatus.SUCCEEDED,)),
        refunded=_total(rows, _RETURNING, (EntryStatus.SUCCEEDED,)),
        pending=_total(rows, _RETURNING, (EntryStatus.PENDING,)),
        disputed=_total(rows, (EntryKind.DISPUTE,), _BANK_HOLDS),
        reserved=sum(
            row.amount_minor_units
            for row in operations
            if row.state not in ABANDONED_OPERATION_STATES
            and not _is_told(row, told.get((row.processor_reference or "", row.amount_minor_units)))
        ),
    )


def _is_told(operation: RefundOperation, status: EntryStatus | None) -> bool:
    """Say whether the ledger counts the operation: an entry that failed speaks only for one that was completed."""
    if status in _NO_MONEY:
        return bool(operation.state == OperationState.COMPLETED)
    return status is not None


def _total(rows: list[EntryView], kinds: Container[EntryKind], statuses: Container[EntryStatus]) -> int:
    return sum(row.amount_minor_units for row in rows if row.kind in kinds and row.status in statuses)


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
    told = Exists(in_the_ledger.exclude(status__in=_NO_MONEY)) | (
        Q(state=OperationState.COMPLETED) & Exists(in_the_ledger)
    )
    standing = RefundOperation.objects.filter(~told, payment_id=OuterRef("pk")).exclude(
        state__in=ABANDONED_OPERATION_STATES
    )
    return standing.exclude(pk=leaving_out) if leaving_out is not None else standing


def _sum(rows: QuerySet[LedgerEntry] | QuerySet[RefundOperation]) -> Coalesce:
    total = rows.order_by().values("payment_id").annotate(total=Sum("amount_minor_units")).values("total")
    return Coalesce(Subquery(total, output_field=BigIntegerField()), 0)
