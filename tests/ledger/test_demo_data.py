"""The demo's ledger: its size, and that every order is the look-alike it is meant to be."""

from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from config.demo.demo_data import build_demo_ledger, gateway_charges, gateway_refunds
from config.demo.gateway_simulator.book import Book
from config.demo.gateway_simulator.charges import seed_charges
from ledger.duplicates import ReasonCode, find_duplicate
from ledger.loading.loader import load_document
from ledger.models import Customer, LedgerEntry, Merchant, Order, Payment
from ledger.sources.local_tables import LocalTables

NOW = datetime(2026, 11, 28, 10, 0, tzinfo=UTC)
VERIFIED = ReasonCode.TWO_CAPTURES_OF_ONE_PURCHASE

SCENARIOS = {
    "2841": VERIFIED,
    "2842": VERIFIED,
    "2843": VERIFIED,
    "2844": VERIFIED,
    "2845": ReasonCode.AUTHORISATION_HOLD,
    "2846": VERIFIED,
    "2847": VERIFIED,
    "2848": ReasonCode.DISPUTE_OPEN,
    "2849": ReasonCode.THREE_OR_MORE_CAPTURES,
    "2850": ReasonCode.SPLIT_TENDER,
    "2851": ReasonCode.AMOUNT_DRIFT,
    "2852": ReasonCode.TWO_ORDERS,
    "2853": ReasonCode.TWO_ORDERS,
    "2854": ReasonCode.TOTAL_COVERS_BOTH,
    "2855": ReasonCode.ALREADY_REFUNDED,
    "2856": ReasonCode.EARLIER_PARTIAL_REFUND,
    "2857": ReasonCode.CHARGE_AND_REVERSAL,
    "2858": ReasonCode.HOLD_RELEASED,
    "2859": ReasonCode.REPEATED_DISPLAY_EVENT,
    "2860": ReasonCode.UNKNOWN_ORDER_TOTAL,
    "2861": ReasonCode.SINGLE_CHARGE,
    "2862": ReasonCode.DIFFERENT_PAYMENT_METHODS,
    "2863": ReasonCode.OUTSIDE_WINDOW,
    "2864": ReasonCode.REFUND_PENDING,
    "2865": ReasonCode.SINGLE_CHARGE,
    "2866": ReasonCode.NO_COMPLETED_CAPTURE,
    "2867": ReasonCode.CAPTURE_PENDING,
    "2868": ReasonCode.ORDER_CURRENCY_DISAGREES,
    "2869": ReasonCode.DISPUTE_DECIDED,
    "2870": VERIFIED,
    "2871": ReasonCode.AUTHORISATION_HOLD,
    "2872": ReasonCode.TOTAL_DISAGREES,
    "N-3001": VERIFIED,
    "N-3002": ReasonCode.DIFFERENT_CURRENCIES,
    "N-3003": ReasonCode.SINGLE_CHARGE,
    "N-3004": VERIFIED,
    "N-3005": ReasonCode.SINGLE_CHARGE,
    "N-3006": VERIFIED,
    "N-3007": ReasonCode.SINGLE_CHARGE,
    "N-3008": ReasonCode.ALREADY_REFUNDED,
}


@pytest.mark.django_db
def test_the_demo_has_every_look_alike_and_every_order_is_what_it_is_meant_to_be():
    report = load_document(build_demo_ledger(NOW), now=NOW)
    assert (report.problems, report.notes) == ((), ())
    assert (Merchant.objects.count(), Customer.objects.count(), Order.objects.count()) == (2, 5, 40)
    assert set(LedgerEntry.objects.values_list("currency", flat=True)) == {"USD", "EUR", "JPY", "KWD"}
    found = {}
    for order in Order.objects.all():
        snapshot = LocalTables().read_order(
            merchant_id=order.merchant_id, customer_id=order.customer_id, order_id=order.pk, now=NOW
        )
        assert snapshot.taken_at == NOW
        found[order.number] = find_duplicate(
            order=snapshot.order,
            taken_at=snapshot.taken_at,
            now=NOW,
            max_snapshot_age=timedelta(minutes=15),
            window=timedelta(hours=72),
            open_operation_payment_ids=frozenset(),
        )
    assert {number: finding.reason_code for number, finding in found.items()} == SCENARIOS
    assert (found["2841"].refund_reference, found["2841"].amount_minor_units) == ("ch_demo_2841_2", 4999)
    assert (found["2843"].amount_minor_units, found["2843"].currency) == (14900, "USD")
    assert (found["2846"].amount_minor_units, found["2846"].currency) == (5000, "JPY")
    assert (found["2847"].amount_minor_units, found["2847"].currency) == (5120, "KWD")
    assert found["2852"].other_order_numbers == ("2853",)


@pytest.mark.django_db
def test_starting_the_demo_again_only_confirms_what_is_there():
    load_document(build_demo_ledger(NOW), now=NOW)
    later = NOW + timedelta(days=1)
    report = load_document(build_demo_ledger(later), now=later)
    assert [(c.added, c.updated) for c in report.counts.values()] == [(0, 0)] * 6
    assert report.confirmed == Payment.objects.count() == len(Payment.objects.filter(refreshed_at=later))


def test_every_moment_lies_in_the_past_of_its_own_beginning():
    ledger = build_demo_ledger(NOW)
    assert ledger["taken_at"] == NOW.isoformat()
    for order in ledger["orders"]:
        placed_at = datetime.fromisoformat(order["placed_at"])
        for payment in order["payments"]:
            for entry in payment["entries"]:
                assert placed_at < datetime.fromisoformat(entry["occurred_at"]) < NOW


def test_people_and_shops_are_invented():
    ledger = build_demo_ledger(NOW)
    assert [row["email"] for row in ledger["customers"]] == [
        f"{name}@example.com" for name in ("ana", "ben", "chidi", "dana", "elif")
    ]
    references = [payment["reference"] for order in ledger["orders"] for payment in order["payments"]]
    assert all(reference.startswith("ch_demo_") for reference in references)
    assert len(set(references)) == len(references)


def test_the_provider_knows_every_charge_that_went_through():
    ledger = build_demo_ledger(NOW)
    charges = {row["id"]: row for row in gateway_charges(ledger)}
    assert charges["ch_demo_2841_2"] == {
        "id": "ch_demo_2841_2",
        "amount": 4999,
        "currency": "usd",
        "captured": True,
        "disputed": False,
        "account": "",
        "payment_method_fingerprint": "fp_demo_ana",
    }
    assert charges["ch_demo_2845_2"]["captured"] is False
    assert charges["ch_demo_2848_2"]["disputed"] is True
    assert charges["ch_demo_n3001_1"]["account"] == "acct_1DemoNordlys"
    assert charges["ch_demo_n3004_1"]["payment_method_fingerprint"] is None
    assert {"ch_demo_2861_1", "ch_demo_2861_2", "ch_demo_2867_2"}.isdisjoint(charges)
    entries = [
        entry for order in ledger["orders"] for payment in order["payments"] for entry in payment["entries"]
    ]
    went_through = Counter(
        entry["kind"] for entry in entries if entry["status"] == "SUCCEEDED" and entry["kind"] != "REFUND"
    )
    assert len(charges) == went_through["CAPTURE"] + went_through["AUTHORISATION"]


def test_the_gateway_simulator_takes_the_charges_as_they_are(tmp_path):
    charges = gateway_charges(build_demo_ledger(NOW))
    with closing(Book(tmp_path / "book.sqlite")) as book:
        assert seed_charges(book, charges) == len(charges)
        assert seed_charges(book, charges) == 0


def test_the_provider_knows_the_refunds_that_were_made_before():
    assert [
        (row["id"], row["charge"], row["amount"], row["currency"], row["status"], row["account"])
        for row in gateway_refunds(build_demo_ledger(NOW))
    ] == [
        ("re_demo_2855_1", "ch_demo_2855_2", 7500, "usd", "succeeded", ""),
        ("re_demo_2856_1", "ch_demo_2856_1", 1000, "usd", "succeeded", ""),
        ("re_demo_2857_1", "ch_demo_2857_2", 5500, "usd", "succeeded", ""),
        ("re_demo_2864_1", "ch_demo_2864_2", 5200, "usd", "pending", ""),
        ("re_demo_n3008_1", "ch_demo_n3008_1", 6000, "eur", "succeeded", "acct_1DemoNordlys"),
    ]
