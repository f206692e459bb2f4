"""The shop's orders in memory, read from a file that is never written. A restarted shop has what the file says."""

import copy
import json
import threading
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from config.demo.shop_simulator.clock import read_moment, resolve_ages

Order = dict[str, Any]
_AROUND = timedelta(days=7)  # how far from an order the customer's other orders are told of
_CHANGEABLE = frozenset(
    {"status", "customer", "total_minor_units", "currency", "description", "note", "payments"}
)


class BookError(ValueError):
    """An order, or a change of one, that the book cannot hold; the message is for the one who sent it."""


class Book:
    """Orders by merchant code and number, changed under one lock; what is handed out is a copy."""

    def __init__(self, path: Path | None) -> None:
        """Raise OSError or ValueError for a file that cannot be read, BookError for one that is no document."""
        self._path = path
        self._lock = threading.Lock()
        self._orders: dict[tuple[str, str], Order] = {}
        self.reset()

    def reset(self) -> None:
        """Forget every change."""
        with self._lock:
            self._orders.clear()
        if self._path is not None:
            self.add(json.loads(self._path.read_text(encoding="utf-8")))

    def add(self, document: Any) -> int:
        """Take a document's orders in; one that is there is replaced. Returns how many there were."""
        orders = document.get("orders") if isinstance(document, Mapping) else None
        if not isinstance(orders, list):
            raise BookError("a document has a list of orders")
        taken = [_checked(order) for order in resolve_ages(orders, datetime.now(UTC))]
        with self._lock:
            self._orders.update({(order["merchant"], order["number"]): order for order in taken})
        return len(taken)

    def change(self, merchant: str, number: str, values: Mapping[str, Any]) -> Order:
        """Replace values of an order itself (status, customer, total, currency, payments)."""
        unknown = values.keys() - _CHANGEABLE
        if unknown:
            raise BookError(f"an order's {', '.join(sorted(unknown))} cannot be changed")
        with self._lock:
            order = self._find(merchant, number)
            order.update(resolve_ages(dict(values), datetime.now(UTC)))
            return copy.deepcopy(order)

    def add_payment(self, merchant: str, number: str, payment: Any) -> Order:
        """Add a charge with its entries to an order."""
        if not isinstance(payment, Mapping) or not isinstance(payment.get("reference"), str):
            raise BookError("a payment has a reference")
        with self._lock:
            order = self._find(merchant, number)
            order.setdefault("payments", []).append(resolve_ages(dict(payment), datetime.now(UTC)))
            return copy.deepcopy(order)

    def add_entry(self, merchant: str, number: str, payment: str, entry: Any) -> Order:
        """Add a refund, dispute or reversal to a charge; one with the same reference is replaced."""
        if not isinstance(entry, Mapping) or not isinstance(entry.get("reference"), str):
            raise BookError("an entry has a reference")
        with self._lock:
            order = self._find(merchant, number)
            found = [row for row in order.get("payments", []) if row["reference"] == payment]
            if not found:
                raise BookError(f"order {number} has no payment {payment}")
            kept = [row for row in found[0].get("entries", []) if row.get("reference") != entry["reference"]]
            found[0]["entries"] = [*kept, resolve_ages(dict(entry), datetime.now(UTC))]
            return copy.deepcopy(order)

    def read(self, merchant: str, number: str) -> list[Order]:
        """Return an order and the same customer's others around it, the one asked for first; none: no such order."""
        with self._lock:
            asked = self._orders.get((merchant, number))
            if asked is None:
                return []
            others = [order for order in self._orders.values() if order is not asked]
            beside = [order for order in others if _belongs_beside(order, asked)]
            return copy.deepcopy([asked, *beside])

    def orders(self) -> list[Order]:
        """Return every order: the truth."""
        with self._lock:
            return copy.deepcopy(list(self._orders.values()))

    def _find(self, merchant: str, number: str) -> Order:
        order = self._orders.get((merchant, number))
        if order is None:
            raise BookError(f"{merchant} has no order {number}")
        return order


def _belongs_beside(order: Order, asked: Order) -> bool:
    if (order["merchant"], order["customer"]) != (asked["merchant"], asked["customer"]):
        return False
    return abs(read_moment(order["placed_at"]) - read_moment(asked["placed_at"])) <= _AROUND


def _checked(order: Any) -> Order:
    names = ("merchant", "number", "customer", "placed_at")
    if not isinstance(order, Mapping) or not all(isinstance(order.get(name), str) for name in names):
        raise BookError(f"an order has {', '.join(names)}")
    try:
        read_moment(order["placed_at"])
    except ValueError as error:
        raise BookError(str(error)) from error
    return dict(order)
