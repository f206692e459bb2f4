"""Facts that other systems own: users, merchants, customers, orders, payments, ledger rows, policies."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import factory
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from factory.django import DjangoModelFactory

from ledger.models import Customer, LedgerEntry, Merchant, Order, Payment, StaffMembership
from ledger.snapshot import EntryKind, EntryStatus
from policies.models import PolicyVersion

NOW = datetime(2026, 11, 28, 10, 0, tzinfo=UTC)
POLICY_RULES: dict[str, Any] = {
    "auto_limit_minor_units": {"USD": 10_000, "EUR": 10_000, "JPY": 10_000, "KWD": 30_000},
    "two_people_above_minor_units": {"USD": 50_000, "EUR": 50_000, "JPY": 50_000, "KWD": 150_000},
    "duplicate_window_hours": 72,
    "max_age_days": 90,
    "snapshot_max_age_seconds": 900,
    "approval_valid_hours": 24,
}


class _UserFactory(DjangoModelFactory):
    class Meta:
        model = get_user_model()
        skip_postgeneration_save = True

    username = factory.Sequence(lambda n: f"user{n}")
    email = factory.LazyAttribute(lambda user: f"{user.username}@example.com")
    password = factory.django.Password(None)  # unusable unless given: hashing is slow on purpose


class _MerchantFactory(DjangoModelFactory):
    class Meta:
        model = Merchant

    code = factory.Sequence(lambda n: f"shop{n}")
    name = factory.LazyAttribute(lambda merchant: merchant.code.title())
    region = "US"


class _CustomerFactory(DjangoModelFactory):
    class Meta:
        model = Customer

    merchant = factory.SubFactory(_MerchantFactory)
    reference = factory.Sequence(lambda n: f"cust_{n}")
    user = factory.SubFactory(_UserFactory)


class _OrderFactory(DjangoModelFactory):
    class Meta:
        model = Order

    customer = factory.SubFactory(_CustomerFactory)
    merchant = factory.SelfAttribute("customer.merchant")
    number = factory.Sequence(lambda n: str(2841 + n))
    total_minor_units = 4999
    currency = "USD"
    placed_at = NOW - timedelta(hours=2)


class _PaymentFactory(DjangoModelFactory):
    class Meta:
        model = Payment

    order = factory.SubFactory(_OrderFactory)
    merchant = factory.SelfAttribute("order.merchant")
    processor_reference = factory.Sequence(lambda n: f"ch_{n:06d}")
    method_fingerprint = "fp_visa_4242"
    method_last4 = "4242"
    created_at = NOW - timedelta(hours=2)
    refreshed_at = NOW


class _EntryFactory(DjangoModelFactory):
    class Meta:
        model = LedgerEntry

    payment = factory.SubFactory(_PaymentFactory)
    merchant = factory.SelfAttribute("payment.merchant")
    account = factory.SelfAttribute("payment.account")
    processor_reference = factory.Sequence(lambda n: f"row_{n:06d}")
    kind = EntryKind.CAPTURE
    status = EntryStatus.SUCCEEDED
    amount_minor_units = 4999
    currency = "USD"
    occurred_at = factory.SelfAttribute("payment.created_at")


class _PolicyFactory(DjangoModelFactory):
    class Meta:
        model = PolicyVersion

    merchant = factory.SubFactory(_MerchantFactory)
    code = "REF-DUP"
    version = factory.Sequence(lambda n: n + 1)
    reason = "DUPLICATE_CHARGE"
    effective_from = NOW - timedelta(days=60)
    source_reference = "handbook/refunds#duplicates"
    approved_by = "user:1"
    approved_at = NOW - timedelta(days=61)


def make_user(**columns: Any) -> User:
    """Return a user; one who signs in through the form needs a ``password``, others use ``force_login``."""
    return _UserFactory(**columns)


def make_merchant(**columns: Any) -> Merchant:
    """Return a tenant."""
    return _MerchantFactory(**columns)


def make_customer(**columns: Any) -> Customer:
    """Return a customer with a user of their own; ``user=None`` for one who never signs in."""
    return _CustomerFactory(**columns)


def make_staff(*, merchant: Merchant, can_approve: bool = True, **columns: Any) -> User:
    """Return a member of the merchant's billing staff."""
    user = make_user(is_staff=True, **columns)
    StaffMembership.objects.create(merchant=merchant, user=user, can_approve=can_approve)
    return user


def make_order(**columns: Any) -> Order:
    """Return an order of $49.99, of a new customer unless ``customer`` is given; it has no payments yet."""
    return _OrderFactory(**columns)


def make_entry(**columns: Any) -> LedgerEntry:
    """Return one ledger row of a ``payment`` (``kind``, ``status``, ``amount_minor_units``, ``currency``)."""
    return _EntryFactory(**columns)


def make_payment(
    *,
    order: Order,
    captured: bool = True,
    amount_minor_units: int | None = None,
    currency: str = "",
    at: datetime = NOW - timedelta(hours=2),
    **columns: Any,
) -> Payment:
    """Return a charge with its capture, or with only a hold; the amount is the order's total unless given."""
    payment: Payment = _PaymentFactory(order=order, created_at=at, **columns)
    make_entry(
        payment=payment,
        processor_reference=payment.processor_reference,
        kind=EntryKind.CAPTURE if captured else EntryKind.AUTHORISATION,
        amount_minor_units=order.total_minor_units if amount_minor_units is None else amount_minor_units,
        currency=currency or order.currency,
    )
    return payment


def make_policy(*, rules: dict[str, Any] | None = None, **columns: Any) -> PolicyVersion:
    """Return a policy version in force since before any order; ``rules`` replace single entries."""
    return _PolicyFactory(rules=POLICY_RULES | (rules or {}), **columns)


@dataclass(frozen=True)
class DuplicateOrder:
    """An order that was charged twice: the earlier charge stays, the later one is to be refunded."""

    order: Order
    kept: Payment
    refunded: Payment


def make_duplicate_order(
    *, amount_minor_units: int = 4999, currency: str = "USD", now: datetime = NOW, **columns: Any
) -> DuplicateOrder:
    """Return an order with a verified duplicate charge, 39 seconds after the first and two hours before ``now``."""
    placed_at = now - timedelta(hours=2)
    order = make_order(
        total_minor_units=amount_minor_units, currency=currency, placed_at=placed_at, **columns
    )
    kept = make_payment(order=order, at=placed_at, refreshed_at=now)
    refunded = make_payment(order=order, at=placed_at + timedelta(seconds=39), refreshed_at=now)
    return DuplicateOrder(order=order, kept=kept, refunded=refunded)
