"""The facts of one run, in both books: a merchant with staff and a policy, a customer, an order and its charges."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User

from ledger.models import Customer, Merchant, Order, Payment
from tests.factories import (
    make_customer,
    make_duplicate_order,
    make_entry,
    make_merchant,
    make_order,
    make_payment,
    make_policy,
    make_staff,
)
from tests.torture.provider.book import Provider


@dataclass
class Shop:
    """Everything that people and workers of a run act on."""

    merchant: Merchant
    customer: Customer
    order: Order
    payments: list[Payment]  # the charge that stays first, the one to refund last
    staff: list[User] = field(default_factory=list)

    @property
    def charge(self) -> Payment:
        """Return the charge that is refunded."""
        return self.payments[-1]


def duplicate_shop(
    provider: Provider, now: datetime, *, amount: int = 4999, rules: dict[str, Any] | None = None
) -> Shop:
    """Return a shop with an order that was charged twice."""
    merchant = _merchant(rules)
    customer = make_customer(merchant=merchant)
    made = make_duplicate_order(customer=customer, now=now, amount_minor_units=amount)
    return _known(provider, Shop(merchant, customer, made.order, [made.kept, made.refunded]))


def single_shop(
    provider: Provider, now: datetime, *, amount: int = 10_000, rules: dict[str, Any] | None = None
) -> Shop:
    """Return a shop with an order that was charged once; only staff may refund it."""
    merchant = _merchant(rules)
    customer = make_customer(merchant=merchant)
    order = make_order(customer=customer, total_minor_units=amount, placed_at=now - timedelta(hours=2))
    payment = make_payment(order=order, at=now - timedelta(hours=2), refreshed_at=now)
    return _known(provider, Shop(merchant, customer, order, [payment]))


def _merchant(rules: dict[str, Any] | None) -> Merchant:
    merchant = make_merchant()
    make_policy(merchant=merchant, rules={"snapshot_max_age_seconds": 400 * 86_400} | (rules or {}))
    return merchant


def _known(provider: Provider, shop: Shop) -> Shop:
    shop.staff = [make_staff(merchant=shop.merchant) for _ in range(3)]
    for payment in shop.payments:
        provider.seed(payment.processor_reference, shop.order.total_minor_units, shop.order.currency)
    return shop


def learn_dispute(payment: Payment, now: datetime) -> None:
    """Let the ledger's source bring an open dispute of the whole charge."""
    make_entry(
        payment=payment,
        processor_reference=f"dp_{payment.processor_reference}",
        kind="DISPUTE",
        status="OPEN",
        amount_minor_units=payment.order.total_minor_units,
        currency=payment.order.currency,
        occurred_at=now,
    )
