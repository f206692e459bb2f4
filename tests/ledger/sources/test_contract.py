"""What every ledger source must hold, whatever is behind the port: tables, a shop over HTTP, a fake."""

from datetime import timedelta

import pytest

from ledger.duplicates import Finding, find_duplicate
from ledger.snapshot import EntryKind, EntryStatus, LedgerSnapshot
from ledger.sources.fake import FakeLedgerSource
from ledger.sources.local_tables import LocalTables
from ledger.sources.port import OrderMissingError
from tests.factories import NOW, make_customer, make_duplicate_order, make_entry, make_order, make_payment
from tests.ledger.sources.reading import read

pytestmark = pytest.mark.django_db


class Tables:
    def __init__(self, **_parts):
        self.source = LocalTables()

    def tell(self, *orders):
        """The tables hold them already."""


class Shop:
    def __init__(self, *, shop, source):
        self.shop, self.source = shop, source

    def tell(self, *orders):
        self.shop.mirror(*orders)


class Fake:
    def __init__(self, **_parts):
        self.source = FakeLedgerSource()

    def tell(self, *orders):
        for order in orders:
            held = read(LocalTables(), order)
            self.source.tell(held.order, taken_at=held.taken_at)


@pytest.fixture(params=[Tables, Shop, Fake])
def world(request, shop, source):
    return request.param(shop=shop, source=source)


def told(world, order, *beside):
    world.tell(order, *beside)
    return world.source


def test_the_order_comes_with_its_charges_in_minor_units_and_what_happened_to_them(world):
    pair = make_duplicate_order(amount_minor_units=4999, currency="USD")
    make_entry(
        payment=pair.kept,
        processor_reference="re_1",
        kind=EntryKind.REFUND,
        status=EntryStatus.FAILED,
        amount_minor_units=100,
        occurred_at=NOW,
    )
    snapshot = read(told(world, pair.order), pair.order)
    assert isinstance(snapshot, LedgerSnapshot)
    order = snapshot.order
    assert (order.order_id, order.merchant_id, order.customer_id, order.number) == (
        pair.order.pk,
        pair.order.merchant_id,
        pair.order.customer_id,
        pair.order.number,
    )
    assert (order.total_minor_units, order.currency, order.placed_at) == (4999, "USD", pair.order.placed_at)
    assert [
        (payment.payment_id, payment.processor_reference, payment.method_fingerprint)
        for payment in order.payments
    ] == [
        (pair.kept.pk, pair.kept.processor_reference, "fp_visa_4242"),
        (pair.refunded.pk, pair.refunded.processor_reference, "fp_visa_4242"),
    ]
    assert [
        (entry.kind, entry.status, entry.amount_minor_units, entry.currency)
        for entry in order.payments[0].entries
    ] == [("CAPTURE", "SUCCEEDED", 4999, "USD"), ("REFUND", "FAILED", 100, "USD")]


def test_what_is_not_known_stays_unknown(world):
    order = make_order(total_minor_units=None, currency="")
    make_payment(order=order, amount_minor_units=1, currency="USD", method_fingerprint="")
    view = read(told(world, order), order).order
    assert (view.total_minor_units, view.currency, view.payments[0].method_fingerprint) == (None, None, None)


def test_an_order_without_charges_is_an_answer(world):
    order = make_order()
    snapshot = read(told(world, order), order)
    assert (snapshot.order.payments, snapshot.taken_at) == ((), NOW)


def test_a_foreign_order_and_a_missing_order_raise_the_same(world):
    order = make_duplicate_order().order
    source = told(world, order)
    stranger, neighbour = make_customer(), make_customer(merchant=order.merchant)
    for over in (
        {"order_id": 10**9},
        {"customer_id": neighbour.pk},
        {"customer_id": stranger.pk},
        {"merchant_id": stranger.merchant_id},
        {"merchant_id": stranger.merchant_id, "customer_id": stranger.pk},
    ):
        with pytest.raises(OrderMissingError) as caught:
            read(source, order, **over)
        assert caught.value.args == (over.get("order_id", order.pk),)


def test_no_fact_is_confirmed_later_than_it_was_asked_for(world):
    order = make_duplicate_order(now=NOW - timedelta(days=1)).order
    source = told(world, order)
    for now in (NOW, NOW + timedelta(minutes=1)):
        taken_at = read(source, order, now=now).taken_at
        assert taken_at <= now
        assert taken_at.utcoffset() == timedelta(0)


def test_equal_facts_have_an_equal_digest_whenever_they_are_read(world):
    order = make_duplicate_order().order
    source = told(world, order)
    first, later = read(source, order), read(source, order, now=NOW + timedelta(seconds=1))
    assert first.facts_sha256() == later.facts_sha256()


def test_the_customers_other_purchases_around_it_come_along(world):
    order = make_order()
    make_payment(order=order)
    other = make_order(number="S-1", customer=order.customer)
    make_payment(order=other)
    snapshot = read(told(world, order, other), order)
    assert [sibling.number for sibling in snapshot.order.siblings] == ["S-1"]
    assert [capture.amount_minor_units for capture in snapshot.order.siblings[0].captures] == [4999]


def test_a_duplicate_can_be_proven_from_the_answer(world):
    pair = make_duplicate_order()
    snapshot = read(told(world, pair.order), pair.order)
    found = find_duplicate(
        order=snapshot.order,
        taken_at=snapshot.taken_at,
        now=NOW,
        max_snapshot_age=timedelta(minutes=15),
        window=timedelta(hours=72),
        open_operation_payment_ids=frozenset(),
    )
    assert (found.finding, found.refund_payment_id, found.amount_minor_units) == (
        Finding.VERIFIED_DUPLICATE_CHARGE,
        pair.refunded.pk,
        4999,
    )
