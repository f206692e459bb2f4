"""Writes a completed refund into the ledger, so that it is counted once, whatever a source brought before."""

from datetime import datetime

from ledger.models import LedgerEntry
from ledger.outbox import append_audit_event
from ledger.snapshot import UNNAMED_REFUND, EntryKind, EntryStatus
from ledger.transitions import Why
from refunds.models import RefundOperation


class ReferenceMissingError(RuntimeError):
    """If you see this, an operation was called complete without the provider's reference to its refund."""


def book_refund(operation: RefundOperation, *, why: Why, now: datetime) -> None:
    """Write the refund's one ledger entry; the caller holds the payment's lock.

    A source may have brought the same reference already: its status is brought up to date. If that row is about
    another payment or amount, nothing is overwritten, the amount stays reserved, and the disagreement is evidence.
    """
    if operation.processor_reference is None:
        raise ReferenceMissingError(operation.pk)
    mine = {
        "merchant_id": operation.merchant_id,
        "account": operation.account,
        "processor_reference": operation.processor_reference,
    }
    entry = LedgerEntry.objects.filter(**mine).first()
    if entry is None:
        LedgerEntry.objects.create(
            **mine,
            payment_id=operation.payment_id,
            kind=EntryKind.REFUND,
            status=EntryStatus.SUCCEEDED,
            amount_minor_units=operation.amount_minor_units,
            currency=operation.currency,
            occurred_at=now,
        )
        _name_unnamed(operation, now)
    elif _is_about(entry, operation):
        if entry.status != EntryStatus.SUCCEEDED:
            entry.status = EntryStatus.SUCCEEDED
            entry.save(update_fields=["status"])
    else:
        append_audit_event(
            topic="refund_operation.entry_disagrees",
            subject=operation.pk,
            payload={
                "ledger_entry": entry.pk,
                "processor_reference": entry.processor_reference,
                "stage": why.stage,
            },
            now=now,
        )


def _is_about(entry: LedgerEntry, operation: RefundOperation) -> bool:
    return (entry.kind, entry.payment_id, entry.amount_minor_units, entry.currency) == (
        EntryKind.REFUND,
        operation.payment_id,
        operation.amount_minor_units,
        operation.currency,
    )


def _name_unnamed(operation: RefundOperation, now: datetime) -> None:
    """Take this refund out of what a payments export counted without naming it; the rest stays counted."""
    unnamed = list(
        LedgerEntry.objects.filter(
            payment_id=operation.payment_id,
            kind=EntryKind.REFUND,
            status=EntryStatus.SUCCEEDED,
            processor_reference__contains=UNNAMED_REFUND,
        )
    )
    if not unnamed:
        return
    rest = sum(entry.amount_minor_units for entry in unnamed) - operation.amount_minor_units
    LedgerEntry.objects.filter(pk__in=[entry.pk for entry in unnamed]).update(status=EntryStatus.CANCELED)
    if rest > 0:
        LedgerEntry.objects.create(
            merchant_id=operation.merchant_id,
            payment_id=operation.payment_id,
            account=operation.account,
            processor_reference=f"{operation.payment_reference}{UNNAMED_REFUND}beside:{operation.pk}",
            kind=EntryKind.REFUND,
            status=EntryStatus.SUCCEEDED,
            amount_minor_units=rest,
            currency=operation.currency,
            occurred_at=now,
        )
