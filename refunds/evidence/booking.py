"""Writes what the provider says about refunds into the ledger, so that each is counted once."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from django.db.models import Q

from ledger.models import LedgerEntry, Payment
from ledger.outbox import append_audit_event
from ledger.snapshot import EntryKind, EntryStatus
from ledger.transitions import Why
from refunds.evidence.unnamed import COUNTED, explain_unnamed, is_whole_list
from refunds.gateways.port import LookupAnswer, ProviderStatus, RefundFact
from refunds.models import RefundOperation
from refunds.states import ABANDONED_OPERATION_STATES

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

    The caller holds the payments' locks. An operation books its own refund; any other one that carries its id is
    money that went as well, and so is that of an operation which was given up: it books nothing any more. A complete
    list of one payment also explains what an export counted without names.
    """
    lookups = [*lookups]
    # The list comes first and names the payment as it was asked for; the same refund by its id may name it otherwise.
    seen = {refund.processor_reference: refund for lookup in reversed(lookups) for refund in lookup.refunds}
    payments = [*payments]
    for payment in payments:
        here = [fact for fact in seen.values() if fact.payment_reference == payment.processor_reference]
        own = _own_refunds(payment, here)
        for refund in here:
            owner = own.get(refund.processor_reference)
            if owner is None or (owner.state in ABANDONED_OPERATION_STATES and _counts(refund)):
                _adopt(payment, refund, now)
            elif owner.state in ABANDONED_OPERATION_STATES:
                _bring_up_to_date(payment, refund)
        if len(payments) == 1 and is_whole_list(lookups):
            reserved = {
                reference: operation.amount_minor_units
                for reference, operation in own.items()
                if operation.state not in ABANDONED_OPERATION_STATES
            }
            moved = [fact.processor_reference for fact in here if _counts(fact)]
            explain_unnamed(payment, listed=moved, reserved=reserved)


def _own_refunds(payment: Payment, refunds: list[RefundFact]) -> dict[str, RefundOperation]:
    """Return, by its reference, the one refund that each operation on the payment is or will be booked by."""
    named = {refund.operation_id for refund in refunds if refund.operation_id}
    known = {refund.processor_reference for refund in refunds}
    ours = Q(pk__in=named) | Q(processor_reference__in=known)
    found = RefundOperation.objects.filter(ours, payment=payment) if refunds else []
    own: dict[str, RefundOperation] = {}
    for operation in found:
        candidates = [refund for refund in refunds if _may_be_of(operation, refund)]
        if candidates:
            own[min(candidates, key=_most_alive_and_first).processor_reference] = operation
    return own


def _may_be_of(operation: RefundOperation, refund: RefundFact) -> bool:
    if operation.processor_reference is not None:
        return refund.processor_reference == operation.processor_reference
    asked = (operation.pk, operation.amount_minor_units, operation.currency)
    return (refund.operation_id, refund.amount_minor_units, refund.currency) == asked


def _most_alive_and_first(refund: RefundFact) -> tuple[bool, str, str]:
    created = refund.created_at.isoformat() if refund.created_at else ""
    return (not _counts(refund), created, refund.processor_reference)


def _counts(refund: RefundFact) -> bool:
    return _ENTRY_STATUS[refund.status] in COUNTED


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


def _bring_up_to_date(payment: Payment, refund: RefundFact) -> None:
    """Say of a refund that was adopted that it moved no money after all; one that never was is not written."""
    LedgerEntry.objects.filter(
        merchant_id=payment.merchant_id,
        account=payment.account,
        processor_reference=refund.processor_reference,
        payment_id=payment.pk,
        status__in=COUNTED,
    ).update(status=_ENTRY_STATUS[refund.status])


def _is_about(entry: LedgerEntry, operation: RefundOperation) -> bool:
    return (entry.kind, entry.payment_id, entry.amount_minor_units, entry.currency) == (
        EntryKind.REFUND,
        operation.payment_id,
        operation.amount_minor_units,
        operation.currency,
    )
