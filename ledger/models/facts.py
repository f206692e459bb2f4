"""Facts that other systems own and this one reads: merchants, customers, orders, payments, entries."""

import pgtrigger
from django.conf import settings
from django.db import models
from django.db.models import Q

from ledger.snapshot import EntryKind, EntryStatus


def _choices(values: type[EntryKind] | type[EntryStatus]) -> list[tuple[str, str]]:
    return [(value.value, value.value) for value in values]


class Merchant(models.Model):
    """A tenant: every customer, order and staff member belongs to one, and every query is scoped by it."""

    code = models.SlugField(unique=True)
    name = models.CharField(max_length=200)
    region = models.CharField(max_length=8, help_text="Region code that policy selection uses, such as US.")
    gateway_account = models.CharField(
        max_length=64,
        blank=True,
        help_text="Connected account at the provider; empty means the platform's own.",
    )
    host = models.CharField(
        max_length=253,
        blank=True,
        help_text="Host name whose pages belong to this merchant, if it has its own.",
    )

    class Meta:
        db_table = "ledger_merchants"
        constraints = [
            models.UniqueConstraint(fields=["host"], condition=~Q(host=""), name="merchant_host_once"),
        ]

    def __str__(self) -> str:
        return self.code


class Customer(models.Model):
    """A buyer at one merchant; one person buying at two merchants is one user with two customers."""

    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="customers", db_index=False)
    reference = models.CharField(max_length=100, help_text="The merchant's own customer id.")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="customers"
    )

    class Meta:
        db_table = "ledger_customers"
        constraints = [
            models.UniqueConstraint(fields=["merchant", "reference"], name="customer_reference_once"),
            models.UniqueConstraint(fields=["user", "merchant"], name="customer_user_once_per_merchant"),
        ]

    def __str__(self) -> str:
        return f"{self.merchant_id}/{self.reference}"


class Order(models.Model):
    """One purchase. An unknown total is null, which is not zero."""

    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="orders", db_index=False)
    customer = models.ForeignKey(Customer, on_delete=models.PROTECT, related_name="orders")
    number = models.CharField(max_length=64)
    description = models.CharField(max_length=200, blank=True)
    note = models.CharField(
        max_length=500,
        blank=True,
        help_text="What the shop noted on the order: free text, which decides nothing.",
    )
    product_type = models.CharField(max_length=40, default="GOODS")
    status = models.CharField(max_length=40, default="PLACED")
    total_minor_units = models.BigIntegerField(null=True, blank=True)
    currency = models.CharField(max_length=3, blank=True)
    placed_at = models.DateTimeField()

    class Meta:
        db_table = "ledger_orders"
        constraints = [
            models.UniqueConstraint(fields=["merchant", "number"], name="order_number_once"),
            models.CheckConstraint(condition=Q(total_minor_units__gte=0), name="order_total_not_negative"),
        ]

    def __str__(self) -> str:
        return f"#{self.number}"


class Payment(models.Model):
    """One charge at the provider (``ch_...`` or ``pi_...``), captured or not; its amounts are in its entries."""

    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="payments", db_index=False)
    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="payments")
    account = models.CharField(max_length=64, blank=True, help_text="Provider account that holds the charge.")
    processor_reference = models.CharField(max_length=255)
    method_type = models.CharField(max_length=40, default="card")
    method_fingerprint = models.CharField(max_length=255, blank=True)
    method_last4 = models.CharField(max_length=4, blank=True)
    created_at = models.DateTimeField()
    refreshed_at = models.DateTimeField(
        help_text="When a source last confirmed this payment and its entries."
    )
    frozen_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when facts say that more went back than was captured."
    )
    frozen_reason = models.CharField(max_length=40, blank=True)

    class Meta:
        db_table = "ledger_payments"
        indexes = [
            models.Index(fields=["frozen_at"], condition=Q(frozen_at__isnull=False), name="payment_frozen"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "account", "processor_reference"], name="payment_reference_once"
            ),
        ]

    def __str__(self) -> str:
        return self.processor_reference


class LedgerEntry(models.Model):
    """One row per provider reference: a repeated display event raises ``seen_count`` and adds no row.

    The provider's ``status`` may change (a refund that succeeded can fail weeks later); amounts never do.
    """

    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+", db_index=False)
    payment = models.ForeignKey(Payment, on_delete=models.PROTECT, related_name="entries")
    account = models.CharField(max_length=64, blank=True)
    processor_reference = models.CharField(max_length=255)
    kind = models.CharField(max_length=16, choices=_choices(EntryKind))
    status = models.CharField(max_length=16, choices=_choices(EntryStatus))
    amount_minor_units = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    occurred_at = models.DateTimeField()
    seen_count = models.PositiveIntegerField(default=1)

    class Meta:
        db_table = "ledger_entries"
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "account", "processor_reference"], name="entry_reference_once"
            ),
            models.CheckConstraint(condition=Q(amount_minor_units__gt=0), name="entry_amount_positive"),
        ]
        indexes = [
            models.Index(
                fields=["merchant", "occurred_at"],
                condition=Q(kind=EntryKind.REFUND),
                name="entry_refund_by_time",
            ),
        ]
        triggers = [
            pgtrigger.Protect(name="never_deleted", operation=pgtrigger.Delete),
            pgtrigger.ReadOnly(
                name="amount_is_fixed",
                fields=[
                    "merchant",
                    "payment",
                    "account",
                    "processor_reference",
                    "amount_minor_units",
                    "currency",
                ],
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.processor_reference}"


class StaffMembership(models.Model):
    """A member of staff works for one merchant in one role; there is no staff member of every merchant."""

    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="staff", db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="memberships")
    can_approve = models.BooleanField(default=False)

    class Meta:
        db_table = "ledger_staff_memberships"
        constraints = [
            models.UniqueConstraint(fields=["merchant", "user"], name="membership_once"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id}@{self.merchant_id}"
