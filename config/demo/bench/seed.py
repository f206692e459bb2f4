"""Orders that were charged twice, loaded by the product's own loader; run in an environment of the product.

``python -m config.demo.bench.seed COUNT FILE`` writes one API token a line to FILE, by order number. Each order has a
customer of its own: a refund looks at the customer's other purchases, and nobody has thousands of them.
"""

import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import django

MERCHANT: Final = "bench-shop"
AMOUNT: Final = 4999
CURRENCY: Final = "USD"
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


def seed(*, count: int) -> list[str]:
    """Load the orders, one policy and one token for each customer; return the tokens by order."""
    from knox.models import AuthToken  # noqa: PLC0415 - Django is set up by the caller

    from config.demo.people import set_up_people  # noqa: PLC0415 - as above
    from ledger.clock import now_utc  # noqa: PLC0415 - as above
    from ledger.loading.loader import load_document  # noqa: PLC0415 - as above
    from ledger.models import Customer, Merchant  # noqa: PLC0415 - as above

    now = now_utc()
    report = load_document(document(count=count, now=now), now=now)
    if report.problems:
        raise SystemExit("; ".join(str(problem) for problem in report.problems))
    set_up_people(merchants=list(Merchant.objects.all()), now=now)
    customers = Customer.objects.filter(merchant__code=MERCHANT).select_related("user").order_by("pk")
    by_reference = {customer.reference: customer.user for customer in customers}
    return [AuthToken.objects.create(user=by_reference[f"C-{index}"])[1] for index in range(count)]


if __name__ == "__main__":
    django.setup()
    Path(sys.argv[2]).write_text("\n".join(seed(count=int(sys.argv[1]))))
