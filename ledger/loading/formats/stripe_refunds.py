"""Stripe's refunds export: one line per refund of a charge that is already loaded (docs.stripe.com/api/refunds)."""

from collections.abc import Mapping
from typing import Final

from ledger.loading.formats import fields
from ledger.loading.formats.fields import FieldError, given, needed
from ledger.loading.formats.files import Table
from ledger.loading.formats.stripe_columns import (
    REFUND_COLUMNS,
    StripeOptions,
    created_at,
    major_units,
    note_unread,
)
from ledger.loading.rows import Batch, EntryRow, Problem
from ledger.snapshot import EntryKind, EntryStatus

NEEDED_COLUMNS: Final = ("id", "amount", "currency", "status")
CHARGE: Final = ("charge", "charge id")
_STATUS: Final = {
    "succeeded": EntryStatus.SUCCEEDED,
    "pending": EntryStatus.PENDING,
    "requires_action": EntryStatus.PENDING,
    "failed": EntryStatus.FAILED,
    "canceled": EntryStatus.CANCELED,
    "cancelled": EntryStatus.CANCELED,
}


def read_refunds(table: Table, options: StripeOptions) -> Batch:
    """Return what a refunds export says."""
    batch = Batch()
    note_unread(batch, table, REFUND_COLUMNS)
    for line, record in table.records():
        where = f"line {line}"
        try:
            batch.entries.append(_refund(record, where, options.merchant))
        except FieldError as error:
            batch.problems.append(Problem(where, str(error)))
    return batch


def _refund(record: Mapping[str, str], where: str, merchant: str) -> EntryRow:
    if not record:
        raise FieldError("does not have as many cells as the first line")
    code = needed(record, "currency", fields.currency)
    amount = needed(record, "amount", major_units(code))
    if amount == 0:
        raise FieldError("amount must be more than zero")
    status = needed(record, "status", fields.words(60)).lower()
    if status not in _STATUS:
        raise FieldError(f"status is not one of {', '.join(sorted(_STATUS))}: {status!r}")
    charge = given(record, CHARGE[0], fields.identifier(255)) or given(
        record, CHARGE[1], fields.identifier(255)
    )
    if charge is None:
        raise FieldError(f"{CHARGE[0]} is missing")
    return EntryRow(
        where,
        merchant=merchant,
        payment=charge,
        reference=needed(record, "id", fields.identifier(255)),
        kind=EntryKind.REFUND,
        status=_STATUS[status],
        amount_minor_units=amount,
        currency=code,
        occurred_at=created_at(record),
    )
