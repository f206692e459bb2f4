"""The customer's own orders as pages show them: to pick from, and to check before sending."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self

from ledger.models import Order
from ledger.money import UnknownCurrencyError, format_minor_units

ANOTHER_ORDER: Final = ""  # the number is typed
UNKNOWN_ORDER: Final = "#"  # can name no order: a leading "#" is no part of a number


@dataclass(frozen=True, slots=True)
class OrderChoice:
    """One of the customer's orders; ``total`` is empty where the record has none."""

    number: str
    placed_at: datetime
    total: str
    description: str

    @classmethod
    def of(cls, order: Order) -> Self:
        """Return an order as a page shows it."""
        return cls(order.number, order.placed_at, _total(order), order.description)


def order_choices(orders: Iterable[Order]) -> list[OrderChoice]:
    """Return the picker's lines."""
    return [OrderChoice.of(order) for order in orders]


def _total(order: Order) -> str:
    if order.total_minor_units is None:
        return ""
    try:
        return format_minor_units(order.total_minor_units, order.currency)
    except UnknownCurrencyError:
        return ""
