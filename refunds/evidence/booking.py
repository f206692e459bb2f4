"""Writes what the provider says about refunds into the ledger, so that each is counted once."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

from django.db.models import Q

from ledger.models import LedgerEntry, Payment
from ledger.outbox import append_audit_event
from ledger.snapshot import UNNAMED_REFUND, EntryKind, EntryStatus
from ledger.transitions import Why
from refunds.gateways.port import LookupAnswer, ProviderStatus, RefundFact
from refunds.models import RefundOperation

# An unknown word is counted as money that may be on its way back: never more is refundable than the truth allows.
_ENTRY_STATUS: Final = {
    ProviderStatus.SUCCEEDED: EntryStatus.SUCCEEDED,
    ProviderStatus.PENDING: EntryStatus.PENDING,
    ProviderStatus.REQUIRES_ACTION: EntryStatus.PENDING,
    ProviderStatus.FAILED: EntryStatus.FAILED,
    ProviderStatus.CANCELED: EntryStatus.CANCELED,
    ProviderStatus.UNRECOGNISED: EntryStatus.PENDING,
}


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
    known = list(LedgerEntry.objects.filter(Q(**mine) | _unnamed_of(operation.payment_id)).order_by("pk"))
    entry = next((row for row in known if _is_called(row, mine)), None)
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
        _name_one_of(known, amount_minor_units=operation.amount_minor_units, by=operation.pk, now=now)
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


def unbook_refund(operation: RefundOperation, *, status: EntryStatus) -> None:
    """Bring the entry of a refund up to date that did not stay in place; what it held back is free again."""
    LedgerEntry.objects.filter(
        merchant_id=operation.merchant_id,
        account=operation.account,
        processor_reference=operation.processor_reference,
        payment_id=operation.payment_id,
    ).update(status=status)


def adopt_refunds(payments: Iterable[Payment], lookups: Iterable[LookupAnswer], *, now: datetime) -> None:
    """Keep refunds that nobody ordered here (made in the provider's dashboard): facts always land.

    The caller holds the payments' locks. A refund of one of our operations is booked by that operation alone.
    """
    # The list comes first and names the payment as it was asked for; the same refund by its id may name it otherwise.
    seen = {
        refund.processor_reference: refund for lookup in reversed([*lookups]) for refund in lookup.refunds
    }
    named = {refund.operation_id for refund in seen.values() if refund.operation_id}
    for payment in payments:
        ours = _operations_on(payment, named)
        for refund in seen.values():
            if refund.operation_id not in ours and refund.payment_reference == payment.processor_reference:
                _adopt(payment, refund, now)


def _operations_on(payment: Payment, named: set[str]) -> set[str]:
    if not named:
        return set()
    return set(RefundOperation.objects.filter(pk__in=named, payment=payment).values_list("pk", flat=True))


def _adopt(payment: Payment, refund: RefundFact, now: datetime) -> None:
    status = _ENTRY_STATUS[refund.status]
    entry, created = LedgerEntry.objects.get_or_create(
        merchant_id=payment.merchant_id,
        account=payment.account,
        processor_reference=refund.processor_reference,
        defaults={
            "payment": payment,
            "kind": EntryKind.REFUND,
            "status": status,
            "amount_minor_units": refund.amount_minor_units,
            "currency": refund.currency,
            "occurred_at": refund.created_at or now,
        },
    )
    if not created and entry.payment_id == payment.pk and entry.status != status:
        entry.status = status
        entry.save(update_fields=["status"])
    if created:
        if status is EntryStatus.SUCCEEDED:
            _name_one_of(
                list(LedgerEntry.objects.filter(_unnamed_of(payment.pk))),
                amount_minor_units=refund.amount_minor_units,
                by=refund.processor_reference,
                now=now,
            )
        append_audit_event(
            topic="ledger.refund_adopted",
            subject=str(entry.pk),
            payload={
                "payment": payment.pk,
                "processor_reference": refund.processor_reference,
                "amount_minor_units": refund.amount_minor_units,
                "currency": refund.currency,
                "status": str(status),
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


def _is_called(entry: LedgerEntry, mine: Mapping[str, object]) -> bool:
    return all(getattr(entry, column) == value for column, value in mine.items())


def _unnamed_of(payment_id: int) -> Q:
    """Select what a payments export counted as refunded without naming it."""
    return Q(
        payment_id=payment_id,
        kind=EntryKind.REFUND,
        status=EntryStatus.SUCCEEDED,
        processor_reference__contains=UNNAMED_REFUND,
    )


def _name_one_of(unnamed: list[LedgerEntry], *, amount_minor_units: int, by: str, now: datetime) -> None:
    """Take one named refund out of what was counted without a name; the rest stays counted."""
    if not unnamed:
        return
    payment = unnamed[0].payment
    rest = sum(entry.amount_minor_units for entry in unnamed) - amount_minor_units
    LedgerEntry.objects.filter(pk__in=[entry.pk for entry in unnamed]).update(status=EntryStatus.CANCELED)
    if rest > 0:
        LedgerEntry.objects.create(
            merchant_id=payment.merchant_id,
            payment=payment,
            account=payment.account,
            processor_reference=f"{payment.processor_reference}{UNNAMED_REFUND}beside:{by}",
            kind=EntryKind.REFUND,
            status=EntryStatus.SUCCEEDED,
            amount_minor_units=rest,
            currency=unnamed[0].currency,
            occurred_at=now,
        )
