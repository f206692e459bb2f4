"""How much of a payment may still be refunded: a sum over rows, never a counter.

captured = refunded + pending + reserved + disputed + remaining. Reserved includes every operation whose outcome
is unknown, in review or confirmed absent; an operation whose refund stands in the ledger counts only through it.
``refunds.models.conservation`` says the same in SQL, for the guard that PostgreSQL holds on what is decided.
"""

from collections.abc import Container, Iterable
from dataclasses import dataclass

from django.db.models import BigIntegerField, Exists, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from ledger.models import LedgerEntry, Payment
from ledger.snapshot import UNNAMED_REFUND, EntryKind, EntryStatus, EntryView
from refunds.models import RefundOperation
from refunds.states import ABANDONED_OPERATION_STATES, OperationState

_RETURNING = (EntryKind.REFUND, EntryKind.REVERSAL)
_BANK_HOLDS = (EntryStatus.OPEN, EntryStatus.LOST)
_NO_MONEY = (EntryStatus.FAILED, EntryStatus.CANCELED)
_RETURNED = Q(kind__in=_RETURNING)
_BACK = (EntryStatus.SUCCEEDED, EntryStatus.PENDING)
_VOIDED = frozenset(EntryStatus) - {EntryStatus.SUCCEEDED}
_HELD = frozenset(EntryStatus) - {EntryStatus.FAILED}
_UNNAMED = Q(kind=EntryKind.REFUND, processor_reference__contains=UNNAMED_REFUND)
_AT_THE_BANK = Q(kind=EntryKind.DISPUTE, status__in=_BANK_HOLDS)


@dataclass(frozen=True, slots=True)
class Conservation:
    """Where the money of one payment is, in minor units of its currency.

    ``reversed`` and ``unnamed`` (what an export counted without naming it) are parts of what was refunded or is
    pending; ``held`` was authorised, and ``voided`` is of captures that did not stand.
    """

    captured: int
    refunded: int
    pending: int
    reserved: int
    disputed: int
    reversed: int = 0
    held: int = 0
    voided: int = 0
    unnamed: int = 0

    @property
    def remaining(self) -> int:
        """Return what may still be refunded, never too much; negative when facts exceed the capture.

        A reversal counts in full, since it may have returned the capture and not the rest of a hold.
        """
        return self.captured - self.refunded - self.pending - self.reserved - self.disputed

    @property
    def overdrawn(self) -> int:
        """Return by how much more than the capture is provably gone; positive freezes the payment.

        What may have been the release of money that was held and not captured proves nothing: a reversal, or, where
        nothing was captured at all, a refund as which the provider books such a release. Nor does a refund without a
        name that may be the very one of ours whose outcome is unknown.
        """
        released = min(self.reversed, max(self.held + self.voided - self.captured, 0))
        if self.captured == 0:
            refunds = self.refunded + self.pending - self.reversed
            released += min(refunds, max(self.held - self.reversed, 0))
        return -self.remaining - released - min(self.unnamed, self.reserved)


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
            reversed=_sum(_entries(Q(kind=EntryKind.REVERSAL, status__in=_BACK))),
            held=_sum(_entries(Q(kind=EntryKind.AUTHORISATION, status__in=_HELD))),
            voided=_sum(_entries(Q(kind=EntryKind.CAPTURE, status__in=_VOIDED))),
            unnamed=_sum(_entries(_UNNAMED & Q(status__in=_BACK))),
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
        reversed=_total(rows, (EntryKind.REVERSAL,), _BACK),
        held=_total(rows, (EntryKind.AUTHORISATION,), _HELD),
        voided=_total(rows, (EntryKind.CAPTURE,), _VOIDED),
        unnamed=_total(
            [row for row in rows if UNNAMED_REFUND in row.processor_reference], (EntryKind.REFUND,), _BACK
        ),
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
