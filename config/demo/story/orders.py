"""The orders of one telling of the story: new ones each time, so that the story can be told again on kept data."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from config.demo.story.simulators import Shop
from ledger.loading.loader import load_document
from ledger.models import Customer, Order


@dataclass(frozen=True)
class StoryOrder:
    """One order of the story, and the charge that would be refunded."""

    number: str
    description: str
    amount_minor_units: int
    captures: int  # the rest of two charges are holds

    @property
    def later_charge(self) -> str:
        """Return the provider's id of the second charge."""
        return f"ch_demo_{self.number}_2"


class OrdersNotLoadedError(RuntimeError):
    """If you see this, the story's own orders did not pass the loader; the message lists why."""


# What each part of the story is about: description, price, and how many of the two charges are captures.
PARTS: Final = {
    "automatic": ("Blue kettle", 4_999, 2),
    "approved": ("Espresso machine", 14_900, 2),
    "lost": ("Toaster", 3_450, 2),
    "hold": ("Bread knife", 2_900, 1),
    "never_arrived": ("Desk lamp", 4_200, 2),
    "told_early": ("Wool blanket", 5_600, 2),
    "shop_down": ("Tea tray", 3_800, 2),
    "mail_down": ("Soup pot", 6_400, 2),
    "hostile": ("Red kettle", 4_999, 2),  # as dear as the first, so that the two refunds can be compared
}


def fresh_orders(*, customer: Customer, shop: Shop, now: datetime) -> dict[str, StoryOrder]:
    """Make new orders of the customer, in the shop and here, and return them by the part they play."""
    first = _free_number(customer)
    parts = {
        name: StoryOrder(str(number), *facts) for number, (name, facts) in enumerate(PARTS.items(), first)
    }
    orders = [_order(order, customer, now) for order in parts.values()]
    shop.take(orders)
    report = load_document({"taken_at": now.isoformat(), "orders": orders}, now=now)
    if report.problems:
        raise OrdersNotLoadedError("; ".join(str(problem) for problem in report.problems))
    return parts


def charges_of(parts: dict[str, StoryOrder], customer: Customer) -> list[dict[str, Any]]:
    """Return what the provider's book must know of these orders."""
    return [
        {
            "id": f"ch_demo_{order.number}_{number}",
            "amount": order.amount_minor_units,
            "currency": "usd",
            "captured": number <= order.captures,
            "payment_method_fingerprint": "fp_demo_visa_4242",
            **({"account": customer.merchant.gateway_account} if customer.merchant.gateway_account else {}),
        }
        for order in parts.values()
        for number in (1, 2)
    ]


def _free_number(customer: Customer) -> int:
    """Return a number after every numeric order number of the merchant, from 5001 on."""
    numbers = Order.objects.filter(merchant_id=customer.merchant_id).values_list("number", flat=True)
    return max([5000, *(int(number) for number in numbers if number.isdigit())]) + 1


def _order(order: StoryOrder, customer: Customer, now: datetime) -> dict[str, Any]:
    placed_at = now - timedelta(hours=26)
    return {
        "merchant": customer.merchant.code,
        "number": order.number,
        "customer": customer.reference,
        "description": order.description,
        "total_minor_units": order.amount_minor_units,
        "currency": "USD",
        "placed_at": placed_at.isoformat(),
        "payments": [_payment(order, number, customer, placed_at) for number in (1, 2)],
    }


def _payment(order: StoryOrder, number: int, customer: Customer, placed_at: datetime) -> dict[str, Any]:
    at = (placed_at + timedelta(seconds=39 * number)).isoformat()
    reference = f"ch_demo_{order.number}_{number}"
    account = customer.merchant.gateway_account
    return {
        "reference": reference,
        **({"account": account} if account else {}),
        "method_type": "card",
        "method_fingerprint": "fp_demo_visa_4242",
        "method_last4": "4242",
        "created_at": at,
        "entries": [
            {
                "kind": "CAPTURE" if number <= order.captures else "AUTHORISATION",
                "reference": reference,
                "status": "SUCCEEDED",
                "amount_minor_units": order.amount_minor_units,
                "currency": "USD",
                "occurred_at": at,
            }
        ],
    }
