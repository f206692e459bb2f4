"""The ledger source that reads this database's own tables, which a loader or a webhook fills (stage 4).

It never answers ``SourceUnavailable``: its tables live in the database that also holds the workflow, so when they
cannot be read, nothing else can be done either, and the error is the caller's 503 or retried task.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from django.db.models import F

from ledger.models import LedgerEntry, Order, Payment
from ledger.snapshot import (
    EntryKind,
    EntryStatus,
    EntryView,
    LedgerSnapshot,
    OrderView,
    PaymentView,
    SiblingOrderView,
)
from ledger.sources.port import OrderMissingError

SOURCE_NAME: Final = "local_tables"
SIBLING_RANGE: Final = timedelta(
    days=3
)  # how far around an order's own charges a second purchase is looked for
MAX_SIBLING_CAPTURES: Final = 100


class LocalTables:
    """Reads an order in three queries at most, however many payments it has."""

    def read_order(
        self,
        *,
        merchant_id: int,
        customer_id: int,
        order_id: int,
        now: datetime,
    ) -> LedgerSnapshot:
        """Return the order, its payments and the customer's other purchases around the same time.

        ``taken_at`` is the oldest ``refreshed_at`` of the order's payments: a snapshot is as old as its least
        recently confirmed part. An order without payments has nothing that could have been confirmed, and that
        there are none is read at this moment, so ``taken_at`` is ``now``.
        """
        charges = self.read_charges(order_id=order_id, now=now)
        if (charges.order.merchant_id, charges.order.customer_id) != (merchant_id, customer_id):
            raise OrderMissingError(order_id)
        return replace(charges, order=replace(charges.order, siblings=_siblings(charges.order)))

    def read_charges(self, *, order_id: int, now: datetime) -> LedgerSnapshot:
        """Return the same for callers that check themselves whose order it is.

        The customer's other purchases are not read: they explain an order, and prove nothing of it.
        """
        own = Payment.objects.filter(order_id=order_id, merchant_id=F("order__merchant_id"))
        payments = list(own.select_related("order").order_by("pk"))
        order = payments[0].order if payments else _order_without_payments(order_id)
        entries = _entries_of(payments)
        view = OrderView(
            order_id=order.pk,
            number=order.number,
            merchant_id=order.merchant_id,
            customer_id=order.customer_id,
            status=order.status,
            total_minor_units=order.total_minor_units,
            currency=order.currency or None,
            placed_at=order.placed_at,
            payments=tuple(_payment_view(payment, entries[payment.pk]) for payment in payments),
        )
        taken_at = min((payment.refreshed_at for payment in payments), default=now)
        return LedgerSnapshot(order=view, source=SOURCE_NAME, taken_at=taken_at)


def _order_without_payments(order_id: int) -> Order:
    order = Order.objects.filter(pk=order_id).first()
    if order is None:
        raise OrderMissingError(order_id)
    return order


def _entries_of(payments: list[Payment]) -> dict[int, list[EntryView]]:
    found: dict[int, list[EntryView]] = defaultdict(list)
    if payments:
        rows = LedgerEntry.objects.filter(payment__in=[payment.pk for payment in payments])
        for row in rows.order_by("occurred_at", "pk"):
            found[row.payment_id].append(_entry_view(row))
    return found


def _entry_view(row: LedgerEntry) -> EntryView:
    return EntryView(
        kind=EntryKind(row.kind),
        processor_reference=row.processor_reference,
        amount_minor_units=row.amount_minor_units,
        currency=row.currency,
        status=EntryStatus(row.status),
        occurred_at=row.occurred_at,
        seen_count=row.seen_count,
    )


def _payment_view(payment: Payment, entries: Iterable[EntryView]) -> PaymentView:
    return PaymentView(
        payment_id=payment.pk,
        processor_reference=payment.processor_reference,
        account=payment.account,
        method_type=payment.method_type,
        method_fingerprint=payment.method_fingerprint or None,
        method_last4=payment.method_last4,
        created_at=payment.created_at,
        entries=tuple(entries),
    )


def _siblings(order: OrderView) -> tuple[SiblingOrderView, ...]:
    captures_here = [row for payment in order.payments for row in payment.of_kind(EntryKind.CAPTURE)]
    times = [row.occurred_at for row in captures_here] or [order.placed_at]
    rows = (
        LedgerEntry.objects.filter(
            payment__order__merchant_id=order.merchant_id,
            payment__order__customer_id=order.customer_id,
            kind=EntryKind.CAPTURE,
            status=EntryStatus.SUCCEEDED,
            occurred_at__range=(min(times) - SIBLING_RANGE, max(times) + SIBLING_RANGE),
        )
        .exclude(payment__order_id=order.order_id)
        .select_related("payment__order")
        .order_by("occurred_at", "pk")[:MAX_SIBLING_CAPTURES]
    )
    captures: dict[int, list[EntryView]] = defaultdict(list)
    orders: dict[int, Order] = {}
    for row in rows:
        captures[row.payment.order_id].append(_entry_view(row))
        orders[row.payment.order_id] = row.payment.order
    return tuple(
        SiblingOrderView(
            number=orders[key].number, placed_at=orders[key].placed_at, captures=tuple(captures[key])
        )
        for key in sorted(orders)
    )
