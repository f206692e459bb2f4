"""Stripe's payments export: one line per charge.

It names no refunds and no disputes by id, so what it says about them gets references of its own: ``<id>#dispute``,
and for refunds whatever ``ledger.loading.planning.refunded_totals`` finds missing. An uncaptured charge is a hold.
"""

from collections.abc import Mapping
from typing import Final

from ledger.loading.formats import fields
from ledger.loading.formats.fields import FieldError, given, needed
from ledger.loading.formats.files import Table
from ledger.loading.formats.stripe_columns import (
    PAYMENT_COLUMNS,
    StripeOptions,
    charge_status,
    created_at,
    dispute_status,
    major_units,
    note_unread,
    stripe_moment,
)
from ledger.loading.rows import (
    Batch,
    CustomerRow,
    EntryRow,
    OrderRow,
    PaymentRow,
    Problem,
    RefundedTotalRow,
    own_reference,
)
from ledger.snapshot import EntryKind, EntryStatus

NEEDED_COLUMNS: Final = ("id", "amount", "currency", "captured", "status")
LISTED: Final = 20
Record = Mapping[str, str]


class _Reader:
    def __init__(self, options: StripeOptions) -> None:
        self.batch = Batch()
        self._options = options
        self._modes: set[str] = set()
        self._without_order: list[str] = []
        self._never_charged = 0

    def read(self, table: Table) -> Batch:
        for line, record in table.records():
            where = f"line {line}"
            try:
                self._read_record(record, where)
            except FieldError as error:
                self.batch.problems.append(Problem(where, str(error)))
        if self._never_charged:
            self.batch.notes.append(f"{self._never_charged} payments without a charge were left out")
        if self._without_order:
            listed = ", ".join(self._without_order[:LISTED])
            more = len(self._without_order) - LISTED
            rest = f" and {more} more" if more > 0 else ""
            self.batch.notes.append(f"charges without an order number were left out: {listed}{rest}")
        return self.batch

    def _read_record(self, record: Record, where: str) -> None:
        if not record:
            raise FieldError("does not have as many cells as the first line")
        self._check_mode(record)
        status = charge_status(record)
        if not record.get("id") and status is not EntryStatus.SUCCEEDED:
            self._never_charged += 1
            return
        reference = needed(record, "id", fields.identifier(255))
        number = given(record, self._options.order_column, fields.order_number)
        if number is None:
            if not self._options.skip_rows_without_order:
                raise FieldError(
                    f"{self._options.order_column} is missing, so the charge belongs to no order"
                )
            self._without_order.append(where)
            return
        self._add(record, where, reference, number, status)

    def _add(self, record: Record, where: str, reference: str, number: str, status: EntryStatus) -> None:
        merchant = self._options.merchant
        payment = PaymentRow(
            where,
            merchant=merchant,
            reference=reference,
            order=number,
            method_type=given(record, "payment source type", fields.identifier(40)),
            method_fingerprint=given(record, "card fingerprint", fields.identifier(255)),
            method_last4=given(record, "card last4", fields.last4),
            created_at=created_at(record),
        )
        order = OrderRow(where, merchant=merchant, number=number, buyer=_buyer(record, where, merchant))
        charge = _charge(record, payment, status)
        refunded = _refunded(record, charge)
        dispute = _dispute(record, charge)
        self.batch.orders.append(order)
        self.batch.payments.append(payment)
        self.batch.entries.extend(entry for entry in (charge, dispute) if entry is not None)
        if isinstance(refunded, EntryRow):
            self.batch.entries.append(refunded)
        elif refunded is not None:
            self.batch.refunded_totals.append(refunded)

    def _check_mode(self, record: Record) -> None:
        mode = record.get("mode", "").lower()
        if mode:
            self._modes.add(mode)
        if len(self._modes) > 1:
            raise FieldError("mode: live and test payments do not belong into one ledger")


def read_payments(table: Table, options: StripeOptions) -> Batch:
    """Return what a payments export says; every row is a charge of the merchant's own account."""
    reader = _Reader(options)
    note_unread(reader.batch, table, PAYMENT_COLUMNS, options.order_column)
    return reader.read(table)


def _captured(record: Record) -> bool:
    text = needed(record, "captured", fields.words(10)).lower()
    if text not in {"true", "false"}:
        raise FieldError(f"captured must be true or false: {text!r}")
    return text == "true"


def _buyer(record: Record, where: str, merchant: str) -> CustomerRow | None:
    email = given(record, "customer email", fields.email)
    reference = given(record, "customer id", fields.identifier(100)) or email
    return None if reference is None else CustomerRow(where, merchant, reference, email)


def _charge(record: Record, payment: PaymentRow, status: EntryStatus) -> EntryRow:
    code = needed(record, "currency", fields.currency)
    amount = needed(record, "amount", major_units(code))
    if amount == 0:
        raise FieldError("amount must be more than zero")
    failed = status is EntryStatus.FAILED
    pending = status is EntryStatus.PENDING
    kind = EntryKind.CAPTURE if failed or pending or _captured(record) else EntryKind.AUTHORISATION
    return EntryRow(
        payment.where,
        merchant=payment.merchant,
        payment=payment.reference,
        reference=own_reference(kind, payment.reference),
        kind=kind,
        status=status,
        amount_minor_units=amount,
        currency=code,
        occurred_at=created_at(record),
    )


def _refunded(record: Record, charge: EntryRow) -> RefundedTotalRow | EntryRow | None:
    total = given(record, "amount refunded", major_units(charge.currency)) or 0
    if total == 0:
        return None
    if total > charge.amount_minor_units:
        raise FieldError("amount refunded is more than amount")
    at = given(record, "refunded date (utc)", stripe_moment) or charge.occurred_at
    if charge.kind is EntryKind.AUTHORISATION:
        return EntryRow(
            charge.where,
            merchant=charge.merchant,
            payment=charge.payment,
            reference=own_reference(EntryKind.REVERSAL, charge.payment),
            kind=EntryKind.REVERSAL,
            status=EntryStatus.SUCCEEDED,
            amount_minor_units=total,
            currency=charge.currency,
            occurred_at=at,
        )
    return RefundedTotalRow(charge.where, charge.merchant, charge.payment, total, charge.currency, at)


def _dispute(record: Record, charge: EntryRow) -> EntryRow | None:
    status = dispute_status(record)
    if status is None:
        return None
    amount = given(record, "disputed amount", major_units(charge.currency))
    return EntryRow(
        charge.where,
        merchant=charge.merchant,
        payment=charge.payment,
        reference=own_reference(EntryKind.DISPUTE, charge.payment),
        kind=EntryKind.DISPUTE,
        status=status,
        amount_minor_units=amount or charge.amount_minor_units,
        currency=charge.currency,
        occurred_at=given(record, "dispute date (utc)", stripe_moment) or charge.occurred_at,
    )
