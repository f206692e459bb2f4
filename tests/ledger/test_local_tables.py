"""The source that reads the product's own tables: scope, bounds, age, and a fixed number of queries."""

from datetime import timedelta

import pytest

from ledger.duplicates import Finding, ReasonCode, find_duplicate
from ledger.models import Order
from ledger.snapshot import EntryKind, EntryStatus, EntryView, SiblingOrderView
from ledger.sources.local_tables import SIBLING_RANGE, LocalTables
from ledger.sources.port import OrderMissingError
from tests.factories import NOW, make_customer, make_duplicate_order, make_entry, make_order, make_payment

pytestmark = pytest.mark.django_db


def read(order: Order, **over):
    ids = {"merchant_id": order.merchant_id, "customer_id": order.customer_id, "order_id": order.pk}
    return LocalTables().read_order(now=NOW, **(ids | over))


def test_the_view_holds_every_row_of_the_order():
    pair = make_duplicate_order()
    make_entry(
        payment=pair.kept,
        processor_reference="re_1",
        kind=EntryKind.REFUND,
        status=EntryStatus.FAILED,
        amount_minor_units=100,
        occurred_at=NOW,
        seen_count=2,
    )
    snapshot = read(pair.order)
    order = snapshot.order
    assert (snapshot.source, snapshot.taken_at) == ("local_tables", NOW)
    assert (order.number, order.total_minor_units, order.currency) == (pair.order.number, 4999, "USD")
    assert [paid.processor_reference for paid in order.payments] == [
        pair.kept.processor_reference,
        pair.refunded.processor_reference,
    ]
    kept = order.payments[0]
    assert (kept.method_type, kept.method_fingerprint, kept.method_last4) == ("card", "fp_visa_4242", "4242")
    assert kept.entries[1] == EntryView(
        kind=EntryKind.REFUND,
        processor_reference="re_1",
        amount_minor_units=100,
        currency="USD",
        status=EntryStatus.FAILED,
        occurred_at=NOW,
        seen_count=2,
    )
    assert order.siblings == ()


def test_unknown_total_currency_and_fingerprint_stay_unknown():
    order = make_order(total_minor_units=None, currency="")
    make_payment(order=order, amount_minor_units=1, currency="USD", method_fingerprint="")
    view = read(order).order
    assert (view.total_minor_units, view.currency, view.payments[0].method_fingerprint) == (None, None, None)


def test_the_snapshot_is_as_old_as_its_least_recently_confirmed_payment():
    order = make_order()
    make_payment(order=order, refreshed_at=NOW - timedelta(minutes=1))
    make_payment(order=order, refreshed_at=NOW - timedelta(days=9))
    assert read(order).taken_at == NOW - timedelta(days=9)


def test_an_order_without_payments_is_as_fresh_as_the_question():
    snapshot = read(make_order())
    assert (snapshot.taken_at, snapshot.order.payments) == (NOW, ())


def test_a_foreign_order_and_a_missing_order_cannot_be_told_apart():
    order = make_duplicate_order().order
    stranger = make_customer()
    same_shop = make_customer(merchant=order.merchant)
    wrong = [
        {"order_id": 10**9},
        {"customer_id": same_shop.pk},
        {"customer_id": stranger.pk},
        {"merchant_id": stranger.merchant_id},
        {"merchant_id": stranger.merchant_id, "customer_id": stranger.pk},
    ]
    for over in wrong:
        with pytest.raises(OrderMissingError) as caught:
            read(order, **over)
        assert caught.value.args == (over.get("order_id", order.pk),)


def test_siblings_are_the_customers_own_captured_orders_around_that_time():
    order = make_order()
    make_payment(order=order, at=NOW)
    own = {"customer": order.customer, "placed_at": NOW}

    def other(number, at=NOW, **columns):
        made = make_order(number=number, **(own | columns))
        return made, make_payment(order=made, at=at)

    near, near_payment = other("S-1", NOW - SIBLING_RANGE)
    other("S-2", NOW - SIBLING_RANGE - timedelta(seconds=1))
    other("S-3", customer=make_customer(merchant=order.merchant))
    make_payment(order=make_order(number="S-4", **own), at=NOW, captured=False)
    elsewhere = make_customer(user=order.customer.user)
    other("S-5", customer=elsewhere)
    assert read(order).order.siblings == (
        SiblingOrderView(
            number="S-1",
            placed_at=near.placed_at,
            captures=(
                EntryView(
                    kind=EntryKind.CAPTURE,
                    processor_reference=near_payment.processor_reference,
                    amount_minor_units=4999,
                    currency="USD",
                    status=EntryStatus.SUCCEEDED,
                    occurred_at=NOW - SIBLING_RANGE,
                ),
            ),
        ),
    )


@pytest.mark.parametrize("payments", [0, 1, 2, 40])
def test_the_number_of_queries_does_not_grow(payments, django_assert_num_queries):
    order = make_order()
    for _ in range(payments):
        make_payment(order=order)
    for number in range(payments):
        make_payment(order=make_order(customer=order.customer, number=f"S-{number}"))
    with django_assert_num_queries(3):
        view = read(order).order
    assert (len(view.payments), len(view.siblings)) == (payments, payments)


def test_the_rule_finds_the_duplicate_in_the_tables():
    pair = make_duplicate_order()
    snapshot = read(pair.order)
    found = find_duplicate(
        order=snapshot.order,
        taken_at=snapshot.taken_at,
        now=NOW,
        max_snapshot_age=timedelta(minutes=15),
        window=timedelta(hours=72),
        open_operation_payment_ids=frozenset(),
    )
    assert (found.finding, found.reason_code) == (
        Finding.VERIFIED_DUPLICATE_CHARGE,
        ReasonCode.TWO_CAPTURES_OF_ONE_PURCHASE,
    )
    assert (found.refund_payment_id, found.kept_payment_id) == (pair.refunded.pk, pair.kept.pk)
    assert (found.amount_minor_units, found.currency) == (4999, "USD")
