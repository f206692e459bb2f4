"""The shop simulator as a subprocess on a free port, and what the tables hold as the document that a shop sends."""

from datetime import datetime
from pathlib import Path
from typing import Any

from ledger.models import LedgerEntry, Order
from tests.support.simulator_process import SimulatorProcess


class ShopSimulator(SimulatorProcess):
    """Starts on construction; ``restart`` keeps the port and forgets every change.

    ``with ShopSimulator() as shop: shop.mirror(order)`` tells the shop what the tables hold of an order.
    """

    module = "config.demo.shop_simulator"
    token = "shop-simulator-test"

    def __init__(self, *, book: Path | None = None) -> None:
        self.book = book
        super().__init__()

    @property
    def url(self) -> str:
        """The address for LEDGER_SOURCE_URL."""
        return self.origin

    def arguments(self) -> list[str]:
        return ["--token", self.token, *(["--book", str(self.book)] if self.book else [])]

    # -- facts
    def mirror(self, *orders: Order) -> None:
        """Let the shop tell of these orders what the tables hold now."""
        self.control("POST", "orders", {"orders": [order_document(order) for order in orders]})

    def change(self, order: Order, **values: Any) -> None:
        """Replace values of the order itself: status, customer, total_minor_units, currency, payments."""
        self.control("POST", "change", {**_named(order), "set": values})

    def add_payment(self, order: Order, payment: dict[str, Any]) -> None:
        """Add a charge with its entries."""
        self.control("POST", "payments", {**_named(order), "payment": payment})

    def add_entry(self, order: Order, payment: str, **entry: Any) -> None:
        """Add a refund, dispute or reversal to the charge with this reference."""
        self.control("POST", "entries", {**_named(order), "payment": payment, "entry": entry})

    def set_clock(self, now: datetime | None, *, stated: bool = True) -> None:
        """Stop the shop's clock; with ``stated=False`` its documents do not say when they were read."""
        moment = None if now is None else now.isoformat()
        self.control("POST", "clock", {"now": moment, "stated": stated})

    # -- trouble
    def arm(self, kind: str, **more: Any) -> None:
        """Arm one fault; ``more`` are its other fields: order, count, seconds, status, location."""
        self.control("POST", "faults", {"kind": kind, **more})

    def disarm(self) -> None:
        """Disarm every fault."""
        self.control("DELETE", "faults")

    def log(self) -> list[dict[str, Any]]:
        """Return every request for an order, oldest first."""
        found = self.control("GET", "log")["requests"]
        assert isinstance(found, list)
        return found


def order_document(order: Order) -> dict[str, Any]:
    """Return what the tables hold of an order, in the documented format."""
    document: dict[str, Any] = {
        **_named(order),
        "customer": order.customer.reference,
        "description": order.description,
        "status": order.status,
        "placed_at": order.placed_at.isoformat(),
        "payments": [
            {
                "reference": payment.processor_reference,
                "account": payment.account,
                "method_type": payment.method_type,
                "method_fingerprint": payment.method_fingerprint,
                "method_last4": payment.method_last4,
                "created_at": payment.created_at.isoformat(),
                "entries": [_entry(row) for row in payment.entries.order_by("occurred_at", "pk")],
            }
            for payment in order.payments.order_by("pk")
        ],
    }
    if order.total_minor_units is not None:
        document["total_minor_units"] = order.total_minor_units
    return document | ({"currency": order.currency} if order.currency else {})


def _entry(row: LedgerEntry) -> dict[str, Any]:
    return {
        "kind": row.kind,
        "reference": row.processor_reference,
        "status": row.status,
        "amount_minor_units": row.amount_minor_units,
        "currency": row.currency,
        "occurred_at": row.occurred_at.isoformat(),
    }


def _named(order: Order) -> dict[str, str]:
    return {"merchant": order.merchant.code, "number": order.number}
