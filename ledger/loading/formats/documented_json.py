"""The documented JSON format (docs/ledger-files.md): merchants, customers, and orders with payments and entries."""

from collections.abc import Callable
from typing import Any, Final

from ledger.loading.formats import fields
from ledger.loading.formats.fields import FieldError, given, needed
from ledger.loading.formats.files import UnreadableFileError
from ledger.loading.formats.json_text import RepeatedKeys
from ledger.loading.rows import (
    Batch,
    CustomerRow,
    EntryRow,
    MerchantRow,
    OrderRow,
    PaymentRow,
    Problem,
    own_reference,
)
from ledger.snapshot import EntryKind, EntryStatus

Item = dict[str, Any]

_TOP: Final = frozenset({"taken_at", "merchants", "customers", "orders"})
_MERCHANT: Final = frozenset({"code", "name", "region", "gateway_account", "host"})
_CUSTOMER: Final = frozenset({"merchant", "reference", "email"})
_ORDER: Final = frozenset(
    {
        *("merchant", "number", "customer", "description", "note", "product_type", "status"),
        *("total_minor_units", "currency", "placed_at", "payments"),
    }
)
_PAYMENT: Final = frozenset(
    {
        *("reference", "account", "method_type", "method_fingerprint", "method_last4"),
        *("created_at", "entries"),
    }
)
_ENTRY: Final = frozenset(
    {"kind", "reference", "status", "amount_minor_units", "currency", "occurred_at", "seen_count"}
)


def read_document(document: Any, *, merchant: str | None = None) -> Batch:
    """Return what a parsed document says; ``merchant`` serves customers and orders that name none."""
    if not isinstance(document, dict):
        raise UnreadableFileError("the document must be an object with merchants, customers and orders")
    reader = _Reader(merchant)
    reader.read(document)
    return reader.batch


class _Reader:
    def __init__(self, merchant: str | None) -> None:
        self.batch = Batch()
        self._merchant = merchant

    def read(self, document: Item) -> None:
        try:
            self._check(document, _TOP)
            self.batch.taken_at = given(document, "taken_at", fields.moment)
        except FieldError as error:
            self.batch.problems.append(Problem("the document", str(error)))
        self._each(document, "merchants", _MERCHANT, "", self._read_merchant)
        self._each(document, "customers", _CUSTOMER, "", self._read_customer)
        self._each(document, "orders", _ORDER, "", self._read_order)

    def _each(
        self, parent: Item, name: str, known: frozenset[str], at: str, read: Callable[[Item, str], None]
    ) -> None:
        rows = parent.get(name)
        if rows is None:
            return
        if not isinstance(rows, list):
            self.batch.problems.append(Problem(at or "the document", f"{name} must be a list"))
            return
        for number, row in enumerate(rows):
            where = f"{at}.{name}[{number}]" if at else f"{name}[{number}]"
            try:
                self._check(row, known)
                read(row, where)
            except FieldError as error:
                self.batch.problems.append(Problem(where, str(error)))

    def _check(self, item: Any, known: frozenset[str]) -> None:
        if not isinstance(item, dict):
            raise FieldError("must be an object")
        if isinstance(item, RepeatedKeys):
            raise FieldError(f"says {', '.join(item.keys_twice)} twice")
        for name in item.keys() - known:
            self.batch.note_unknown(name)

    def _owner(self, item: Item) -> str:
        named = given(item, "merchant", fields.slug)
        if named is None and self._merchant is None:
            raise FieldError("merchant is missing")
        if named and self._merchant and named != self._merchant:
            raise FieldError(f"belongs to {named}, and this file is loaded for {self._merchant}")
        return named or self._merchant or ""

    def _read_merchant(self, item: Item, where: str) -> None:
        self.batch.merchants.append(
            MerchantRow(
                where,
                code=needed(item, "code", fields.slug),
                name=given(item, "name", fields.words(200)),
                region=given(item, "region", fields.identifier(8)),
                gateway_account=given(item, "gateway_account", fields.identifier(64)),
                host=given(item, "host", fields.identifier(253)),
            )
        )

    def _read_customer(self, item: Item, where: str) -> None:
        self.batch.customers.append(
            CustomerRow(
                where,
                merchant=self._owner(item),
                reference=needed(item, "reference", fields.identifier(100)),
                email=given(item, "email", fields.email),
            )
        )

    def _read_order(self, item: Item, where: str) -> None:
        order = OrderRow(
            where,
            merchant=self._owner(item),
            number=needed(item, "number", fields.order_number),
            customer=needed(item, "customer", fields.identifier(100)),
            description=given(item, "description", fields.words(200)),
            note=given(item, "note", fields.note(500)),
            product_type=given(item, "product_type", fields.identifier(40)),
            status=given(item, "status", fields.identifier(40)),
            total_minor_units=given(item, "total_minor_units", fields.whole_number),
            currency=given(item, "currency", fields.currency),
            placed_at=given(item, "placed_at", fields.moment),
        )
        self.batch.orders.append(order)
        self._each(
            item, "payments", _PAYMENT, where, lambda row, place: self._read_payment(row, place, order)
        )

    def _read_payment(self, item: Item, where: str, order: OrderRow) -> None:
        payment = PaymentRow(
            where,
            merchant=order.merchant,
            reference=needed(item, "reference", fields.identifier(255)),
            order=order.number,
            account=given(item, "account", fields.identifier(64)),
            method_type=given(item, "method_type", fields.identifier(40)),
            method_fingerprint=given(item, "method_fingerprint", fields.identifier(255)),
            method_last4=given(item, "method_last4", fields.last4),
            created_at=given(item, "created_at", fields.moment),
        )
        self.batch.payments.append(payment)
        self._each(item, "entries", _ENTRY, where, lambda row, place: self._read_entry(row, place, payment))

    def _read_entry(self, item: Item, where: str, payment: PaymentRow) -> None:
        kind = needed(item, "kind", fields.one_of(EntryKind))
        reference = given(item, "reference", fields.identifier(255)) or own_reference(kind, payment.reference)
        self.batch.entries.append(
            EntryRow(
                where,
                merchant=payment.merchant,
                payment=payment.reference,
                reference=reference,
                kind=kind,
                status=needed(item, "status", fields.one_of(EntryStatus)),
                amount_minor_units=needed(item, "amount_minor_units", fields.minor_units),
                currency=needed(item, "currency", fields.currency),
                occurred_at=needed(item, "occurred_at", fields.moment),
                account=payment.account,
                seen_count=given(item, "seen_count", fields.times_seen) or 1,
            )
        )
