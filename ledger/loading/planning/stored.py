"""What the tables already hold of the rows in a file. Payments are locked, by id, as everywhere."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from django.contrib.auth.models import User
from django.db.models import F
from django.db.models.functions import Lower

from ledger.loading.rows import Batch, PaymentKey
from ledger.loading.validation import CheckedRows
from ledger.models import Customer, LedgerEntry, Merchant, Order, Payment
from ledger.snapshot import EntryKind

_CHUNK: Final = 5000


@dataclass(slots=True)
class Stored:
    """Stored rows by the keys that a file uses. ``refunds`` holds every refund of every payment in question."""

    merchants: dict[str, Merchant] = field(default_factory=dict)
    hosts: dict[str, str] = field(default_factory=dict)  # host name: code of the merchant that has it
    payments: dict[PaymentKey, Payment] = field(default_factory=dict)
    customers: dict[tuple[str, str], Customer] = field(default_factory=dict)
    orders: dict[tuple[str, str], Order] = field(default_factory=dict)
    entries: dict[PaymentKey, LedgerEntry] = field(default_factory=dict)
    refunds: dict[int, list[LedgerEntry]] = field(default_factory=dict)
    users: dict[str, list[User]] = field(default_factory=dict)
    user_names: set[str] = field(default_factory=set)  # taken by users who have another e-mail address
    customers_of_users: dict[tuple[int, int], Customer] = field(default_factory=dict)
    _by_reference: dict[tuple[str, str], list[PaymentKey]] = field(default_factory=dict)

    def account_of(self, merchant: str, payment: str) -> str | None:
        """Return the account under which a payment is stored, if it is stored once."""
        accounts = [key[1] for key in self._by_reference.get((merchant, payment), ())]
        return accounts[0] if len(accounts) == 1 else None

    def index_payments(self) -> None:
        """Make payments findable by merchant and reference alone."""
        found: dict[tuple[str, str], list[PaymentKey]] = defaultdict(list)
        for key in self.payments:
            found[key[0], key[2]].append(key)
        self._by_reference = dict(found)


def read_payments(batch: Batch) -> Stored:
    """Return the merchants and payments that a file names; the payments stay locked until the transaction ends."""
    codes = {row.code for row in batch.merchants} | {row.merchant for row in batch.customers}
    codes |= {row.merchant for row in batch.orders} | {row.merchant for row in batch.entries}
    stored = Stored(merchants={m.code: m for m in Merchant.objects.filter(code__in=codes)})
    hosts = [row.host for row in batch.merchants if row.host]
    stored.hosts = dict(Merchant.objects.filter(host__in=hosts).values_list("host", "code"))
    references: dict[str, set[str]] = defaultdict(set)
    for payment in batch.payments:
        references[payment.merchant].add(payment.reference)
    for entry in batch.entries:
        references[entry.merchant].add(entry.payment)
    ids: list[int] = []
    for merchant, names in _of_known(stored, references):
        for chunk in _chunks(sorted(names)):
            of_merchant = Payment.objects.filter(merchant=merchant, processor_reference__in=chunk)
            ids.extend(of_merchant.values_list("pk", flat=True))
    codes_by_id = {merchant.pk: merchant.code for merchant in stored.merchants.values()}
    for id_chunk in _chunks(sorted(ids)):
        locked = Payment.objects.select_for_update(no_key=True).filter(pk__in=id_chunk).order_by("pk")
        for found in locked:
            stored.payments[codes_by_id[found.merchant_id], found.account, found.processor_reference] = found
    stored.index_payments()
    return stored


def read_rest(stored: Stored, rows: CheckedRows) -> None:
    """Add the customers, users, orders and entries that a file's checked rows name."""
    customers: dict[str, set[str]] = defaultdict(set)
    orders: dict[str, set[str]] = defaultdict(set)
    entries: dict[str, set[str]] = defaultdict(set)
    emails = {row.email for row in rows.customers.values() if row.email}
    for merchant, reference in rows.customers:
        customers[merchant].add(reference)
    for (merchant, number), order in rows.orders.items():
        orders[merchant].add(number)
        customers[merchant].update(c for c in (order.customer, order.buyer and order.buyer.reference) if c)
        emails.update([order.buyer.email] if order.buyer and order.buyer.email else [])
    for merchant, _, reference in rows.entries:
        entries[merchant].add(reference)
    _read_customers(stored, customers)
    _read_users(stored, emails)
    for owner, chunk in _merchant_chunks(stored, orders):
        for found in Order.objects.filter(merchant=owner, number__in=chunk).select_related("customer"):
            stored.orders[owner.code, found.number] = found
    for owner, chunk in _merchant_chunks(stored, entries):
        for entry in LedgerEntry.objects.filter(merchant=owner, processor_reference__in=chunk):
            stored.entries[owner.code, entry.account, entry.processor_reference] = entry
    _read_refunds(stored)


def _read_customers(stored: Stored, references: dict[str, set[str]]) -> None:
    for merchant, chunk in _merchant_chunks(stored, references):
        for found in Customer.objects.filter(merchant=merchant, reference__in=chunk).select_related("user"):
            stored.customers[merchant.code, found.reference] = found


def _read_users(stored: Stored, emails: set[str]) -> None:
    for chunk in _chunks(sorted(emails)):
        for user in User.objects.annotate(address=Lower("email")).filter(address__in=chunk).order_by("pk"):
            stored.users.setdefault(user.email.lower(), []).append(user)
        namesakes = User.objects.filter(username__in=chunk).exclude(email__iexact=F("username"))
        stored.user_names.update(namesakes.values_list("username", flat=True))
    ids = [user.pk for users in stored.users.values() for user in users]
    for id_chunk in _chunks(ids):
        for customer in Customer.objects.filter(user__in=id_chunk):
            if customer.user_id is not None:
                stored.customers_of_users[customer.merchant_id, customer.user_id] = customer


def _read_refunds(stored: Stored) -> None:
    for chunk in _chunks(sorted(payment.pk for payment in stored.payments.values())):
        for entry in LedgerEntry.objects.filter(payment__in=chunk, kind=EntryKind.REFUND):
            known = stored.entries.get(_key_of(stored, entry), entry)
            stored.refunds.setdefault(entry.payment_id, []).append(known)


def _key_of(stored: Stored, entry: LedgerEntry) -> PaymentKey:
    code = next(m.code for m in stored.merchants.values() if m.pk == entry.merchant_id)
    return code, entry.account, entry.processor_reference


def _of_known(stored: Stored, names: dict[str, set[str]]) -> Iterator[tuple[Merchant, set[str]]]:
    return ((stored.merchants[code], found) for code, found in names.items() if code in stored.merchants)


def _merchant_chunks(stored: Stored, names: dict[str, set[str]]) -> Iterator[tuple[Merchant, Sequence[str]]]:
    for merchant, found in _of_known(stored, names):
        for chunk in _chunks(sorted(found)):
            yield merchant, chunk


def _chunks(values: Iterable[Any]) -> Iterator[Sequence[Any]]:
    listed = list(values)
    for start in range(0, len(listed), _CHUNK):
        yield listed[start : start + _CHUNK]
