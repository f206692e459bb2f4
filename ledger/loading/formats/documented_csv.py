"""The documented CSV format (docs/ledger-files.md): one line per ledger entry, or per order without payments."""

from typing import Final

from ledger.loading.formats import fields
from ledger.loading.formats.fields import FieldError, given, needed
from ledger.loading.formats.files import Table
from ledger.loading.rows import Batch, CustomerRow, EntryRow, OrderRow, PaymentRow, Problem, own_reference
from ledger.snapshot import EntryKind, EntryStatus

NEEDED_COLUMNS: Final = ("order_number",)
COLUMNS: Final = (
    *("merchant", "customer_reference", "customer_email"),
    *("order_number", "order_description", "order_note", "order_product_type", "order_status"),
    *("order_total_minor_units", "order_currency", "order_placed_at"),
    *("payment_reference", "account", "method_type", "method_fingerprint", "method_last4"),
    *("payment_created_at", "entry_reference", "kind", "status"),
    *("amount_minor_units", "currency", "occurred_at"),
)
_OF_A_PAYMENT: Final = COLUMNS[COLUMNS.index("payment_reference") :]


def read_csv(table: Table, *, merchant: str | None = None) -> Batch:
    """Return what the table says; a line restates what it needs of its order and payment, or leaves it empty."""
    batch = Batch()
    for name in table.columns:
        if name and name not in COLUMNS:
            batch.note_unknown(name)
    for line, record in table.records():
        where = f"line {line}"
        try:
            _read(batch, record, where, merchant)
        except FieldError as error:
            batch.problems.append(Problem(where, str(error)))
    return batch


def _read(batch: Batch, record: dict[str, str], where: str, merchant: str | None) -> None:
    if not record:
        raise FieldError("does not have as many cells as the first line")
    named = given(record, "merchant", fields.slug) or merchant
    if named is None:
        raise FieldError("merchant is missing")
    if merchant and named != merchant:
        raise FieldError(f"belongs to {named}, and this file is loaded for {merchant}")
    order = _order(record, where, named)
    email = given(record, "customer_email", fields.email)
    rows: list[EntryRow] = []
    payments: list[PaymentRow] = []
    if record.get("payment_reference"):
        payments.append(_payment(record, where, order))
        rows.append(_entry(record, where, payments[0]))
    elif any(record.get(name) for name in _OF_A_PAYMENT):
        raise FieldError("payment_reference is missing")
    if order.customer is not None:
        batch.customers.append(CustomerRow(where, merchant=named, reference=order.customer, email=email))
    elif email is not None:
        raise FieldError("customer_reference is missing")
    batch.orders.append(order)
    batch.payments.extend(payments)
    batch.entries.extend(rows)


def _order(record: dict[str, str], where: str, merchant: str) -> OrderRow:
    return OrderRow(
        where,
        merchant=merchant,
        number=needed(record, "order_number", fields.order_number),
        customer=given(record, "customer_reference", fields.identifier(100)),
        description=given(record, "order_description", fields.words(200)),
        note=given(record, "order_note", fields.note(500)),
        product_type=given(record, "order_product_type", fields.identifier(40)),
        status=given(record, "order_status", fields.identifier(40)),
        total_minor_units=given(record, "order_total_minor_units", fields.whole_number),
        currency=given(record, "order_currency", fields.currency),
        placed_at=given(record, "order_placed_at", fields.moment),
    )


def _payment(record: dict[str, str], where: str, order: OrderRow) -> PaymentRow:
    return PaymentRow(
        where,
        merchant=order.merchant,
        reference=needed(record, "payment_reference", fields.identifier(255)),
        order=order.number,
        account=given(record, "account", fields.identifier(64)),
        method_type=given(record, "method_type", fields.identifier(40)),
        method_fingerprint=given(record, "method_fingerprint", fields.identifier(255)),
        method_last4=given(record, "method_last4", fields.last4),
        created_at=given(record, "payment_created_at", fields.moment),
    )


def _entry(record: dict[str, str], where: str, payment: PaymentRow) -> EntryRow:
    kind = needed(record, "kind", fields.one_of(EntryKind))
    reference = given(record, "entry_reference", fields.identifier(255))
    return EntryRow(
        where,
        merchant=payment.merchant,
        payment=payment.reference,
        reference=reference or own_reference(kind, payment.reference),
        kind=kind,
        status=needed(record, "status", fields.one_of(EntryStatus)),
        amount_minor_units=needed(record, "amount_minor_units", fields.minor_units),
        currency=needed(record, "currency", fields.currency),
        occurred_at=needed(record, "occurred_at", fields.moment),
        account=payment.account,
    )
