"""Orders that were charged twice, as a document for the product's own loader. Pure.

Each order has a customer of its own: a refund looks at the customer's other purchases, and nobody has thousands.
"""

from datetime import datetime, timedelta
from typing import Any, Final

MERCHANT: Final = "bench-shop"
AMOUNT: Final = 4999
CURRENCY: Final = "USD"
USED: Final = 2  # orders that the look at single statements takes
_AGO: Final = timedelta(hours=2)
_APART: Final = timedelta(seconds=39)


def order_number(index: int) -> str:
    """Return the number of order ``index``, counted from 0."""
    return str(100_000 + index)


def document(*, count: int, now: datetime) -> dict[str, Any]:
    """Return the loader's document: ``count`` customers with one order each, which was captured twice."""
    return {
        "taken_at": now.isoformat(),
        "merchants": [{"code": MERCHANT, "name": "Bench Shop", "region": "US"}],
        "customers": [
            {"merchant": MERCHANT, "reference": f"C-{index}", "email": f"c{index}@example.com"}
            for index in range(count)
        ],
        "orders": [_order(index, now - _AGO) for index in range(count)],
    }


def _order(index: int, placed_at: datetime) -> dict[str, Any]:
    return {
        "merchant": MERCHANT,
        "number": order_number(index),
        "customer": f"C-{index}",
        "description": "Blue kettle",
        "total_minor_units": AMOUNT,
        "currency": CURRENCY,
        "placed_at": placed_at.isoformat(),
        "payments": [
            {
                "reference": f"ch_bench_{index}_{charge}",
                "method_fingerprint": "fp_bench",
                "method_last4": "4242",
                "entries": [
                    {
                        "kind": "CAPTURE",
                        "status": "SUCCEEDED",
                        "amount_minor_units": AMOUNT,
                        "currency": CURRENCY,
                        "occurred_at": (placed_at + charge * _APART).isoformat(),
                    }
                ],
            }
            for charge in range(2)
        ],
    }
