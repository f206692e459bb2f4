"""The orders of one telling of the story: new ones each time, so that the story can be told again on kept data."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

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


def fresh_orders(*, customer: Customer, now: datetime) -> dict[str, StoryOrder]:
    """Load four new orders of the customer and return them by the part they play."""
    first = _free_number(customer)
    parts = {
        "automatic": StoryOrder(str(first), "Blue kettle", 4_999, 2),
        "approved": StoryOrder(str(first + 1), "Espresso machine", 14_900, 2),
        "lost": StoryOrder(str(first + 2), "Toaster", 3_450, 2),
        "hold": StoryOrder(str(first + 3), "Bread knife", 2_900, 1),
    }
    document = {
        "taken_at": now.isoformat(),
        "orders": [_order(order, customer, now) for order in parts.values()],
    }
    report = load_document(document, now=now)
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
