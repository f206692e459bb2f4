"""What lands from a shop's answer: new facts, their age, and nothing of an answer that is wrong anywhere."""

import http.server
import json
import threading
from contextlib import contextmanager
from datetime import timedelta

import pytest
import structlog

from ledger.duplicates import Finding, ReasonCode, find_duplicate
from ledger.models import LedgerEntry, Order, Payment
from ledger.snapshot import EntryKind, EntryStatus
from ledger.sources.http_json import HttpLedgerSource
from ledger.sources.local_tables import LocalTables
from tests.factories import NOW, make_customer, make_duplicate_order, make_merchant, make_order, make_payment
from tests.ledger.sources.reading import failed, read, rows
from tests.support.shop_simulator import order_document

pytestmark = pytest.mark.django_db


@pytest.fixture
def pair(shop):
    pair = make_duplicate_order()
    shop.mirror(pair.order)
    return pair


def finding(snapshot, *, now=NOW):
    found = find_duplicate(
        order=snapshot.order,
        taken_at=snapshot.taken_at,
        now=now,
        max_snapshot_age=timedelta(minutes=15),
        window=timedelta(hours=72),
        open_operation_payment_ids=frozenset(),
    )
    return found.finding, found.reason_code


@contextmanager
def answering(body):
    """A shop that answers whatever it is asked with these bytes."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield HttpLedgerSource(
            base_url=f"http://127.0.0.1:{server.server_port}/api/", token="", timeout_seconds=5
        )
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def failed_with(document, order):
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    before = rows()
    with answering(body) as source:
        found = failed(source, order)
    assert rows() == before
    return found


# -- what lands


def test_a_second_charge_that_only_the_shop_knows_lands_and_is_proven(shop, source):
    order = make_order()
    first = make_payment(order=order, at=order.placed_at)
    shop.mirror(order)
    document = order_document(order)["payments"][0]
    later = (order.placed_at + timedelta(seconds=39)).isoformat()
    entry = document["entries"][0] | {"reference": "ch_new", "occurred_at": later}
    shop.add_payment(order, document | {"reference": "ch_new", "created_at": later, "entries": [entry]})

    snapshot = read(source, order)

    assert (snapshot.source, snapshot.taken_at) == ("http_json", NOW)
    assert finding(snapshot)[0] is Finding.VERIFIED_DUPLICATE_CHARGE
    assert [payment.processor_reference for payment in snapshot.order.payments] == [
        first.processor_reference,
        "ch_new",
    ]
    assert read(LocalTables(), order).order == snapshot.order


@pytest.mark.parametrize(
    ("kind", "status", "reason"),
    [
        ("REFUND", "SUCCEEDED", ReasonCode.ALREADY_REFUNDED),
        ("DISPUTE", "OPEN", ReasonCode.DISPUTE_OPEN),
    ],
)
def test_what_happened_between_approval_and_execution_is_in_the_tables(
    shop, source, pair, kind, status, reason
):
    assert finding(read(source, pair.order))[0] is Finding.VERIFIED_DUPLICATE_CHARGE
    shop.add_entry(
        pair.order,
        pair.refunded.processor_reference,
        kind=kind,
        reference="row_1",
        status=status,
        amount_minor_units=4999,
        currency="USD",
        occurred_at=NOW.isoformat(),
    )

    read(source, pair.order)

    assert LedgerEntry.objects.get(processor_reference="row_1").kind == kind
    assert finding(read(LocalTables(), pair.order))[1] is reason


def test_a_cancelled_order_is_seen(shop, source, pair):
    shop.change(pair.order, status="CANCELLED")
    assert read(source, pair.order).order.status == "CANCELLED"
    assert Order.objects.get(pk=pair.order.pk).status == "CANCELLED"


def test_reading_again_changes_nothing_but_the_age(shop, source, pair):
    read(source, pair.order)
    before = rows()
    later = NOW + timedelta(minutes=1)
    shop.set_clock(later)
    assert read(source, pair.order, now=later).taken_at == later
    for payment in before["Payment"]:
        payment["refreshed_at"] = later
    assert rows() == before


def test_an_order_number_with_signs_of_an_address_is_asked_for_as_it_is(shop, source):
    for number in ("2026/001", "..", "50%25", "a b", "a&merchant=x#1"):
        order = make_order(number=number)
        make_payment(order=order)
        shop.mirror(order)
        assert read(source, order).order.number == number
        assert shop.log()[-1]["order"] == number


# -- how old it is


def test_a_shop_that_answers_from_yesterdays_copy_says_so_and_nothing_is_decided(shop, source):
    pair = make_duplicate_order()
    Payment.objects.filter(order=pair.order).update(refreshed_at=NOW - timedelta(days=9))
    shop.mirror(pair.order)
    shop.arm("stale", seconds=86_400)
    snapshot = read(source, pair.order)
    assert snapshot.taken_at == NOW - timedelta(days=1)
    assert finding(snapshot) == (Finding.REQUIRES_INVESTIGATION, ReasonCode.STALE_SNAPSHOT)


def test_an_old_copy_never_makes_newer_facts_older(shop, source, pair):
    shop.arm("stale", seconds=86_400)
    assert read(source, pair.order).taken_at == NOW


def test_an_old_copy_of_an_order_without_charges_is_old(shop, source):
    order = make_order()
    shop.mirror(order)
    shop.arm("stale", seconds=3600)
    assert read(source, order).taken_at == NOW - timedelta(hours=1)


def test_a_shop_that_does_not_say_when_is_read_at_the_moment_of_asking(shop, source, pair):
    shop.set_clock(None, stated=False)
    later = NOW + timedelta(minutes=3)
    assert read(source, pair.order, now=later).taken_at == later


def test_a_clock_that_is_a_little_ahead_counts_as_now_and_one_far_ahead_is_refused(shop, source, pair):
    shop.arm("ahead", seconds=60)
    assert read(source, pair.order).taken_at == NOW
    before = rows()
    shop.arm("ahead", seconds=3600)
    assert failed(source, pair.order) == ("DISCREPANCY", "FROM_THE_FUTURE", 1)
    assert rows() == before


# -- money that does not fit


@pytest.mark.failure("F049")
@pytest.mark.parametrize(
    ("shown", "charged"), [((100_000, "GBP"), (9_863_300, "INR")), ((9_863_300, "INR"), (100_000, "GBP"))]
)
def test_an_order_shown_in_one_currency_and_charged_in_another_is_for_people(shop, source, shown, charged):
    order = make_order(total_minor_units=shown[0], currency=shown[1])
    for seconds in (0, 39):
        make_payment(
            order=order,
            amount_minor_units=charged[0],
            currency=charged[1],
            at=order.placed_at + timedelta(seconds=seconds),
        )
    shop.mirror(order)
    snapshot = read(source, order)
    assert {
        (entry.amount_minor_units, entry.currency)
        for payment in snapshot.order.payments
        for entry in payment.entries
    } == {charged}
    assert finding(snapshot) == (Finding.REQUIRES_INVESTIGATION, ReasonCode.ORDER_CURRENCY_DISAGREES)


@pytest.mark.failure("F049")
def test_a_charge_whose_currency_changed_contradicts_the_book_and_nothing_lands(shop, source, pair):
    document = order_document(pair.order)
    document["payments"][1]["entries"][0]["currency"] = "INR"
    shop.change(pair.order, payments=document["payments"])
    before = rows()
    assert failed(source, pair.order)[:2] == (
        "DISCREPANCY",
        "CONTRADICTS_BOOK orders[0].payments[1].entries[0]",
    )
    assert rows() == before


def test_a_total_that_changed_contradicts_the_book_and_no_other_fact_of_that_answer_lands(shop, source, pair):
    shop.add_entry(
        pair.order,
        pair.kept.processor_reference,
        kind=EntryKind.REFUND,
        reference="re_1",
        status=EntryStatus.SUCCEEDED,
        amount_minor_units=1,
        currency="USD",
        occurred_at=NOW.isoformat(),
    )
    shop.arm("wrong_total")
    before = rows()
    assert failed(source, pair.order) == ("DISCREPANCY", "CONTRADICTS_BOOK orders[0]", 1)
    assert rows() == before


def test_a_charge_that_is_held_and_no_longer_listed_is_a_contradiction(shop, source, pair):
    shop.change(pair.order, payments=order_document(pair.order)["payments"][:1])
    assert failed(source, pair.order) == ("DISCREPANCY", "PAYMENT_NOT_LISTED", 1)


# -- whose it is


@pytest.mark.parametrize(
    ("kind", "detail"),
    [
        ("wrong_customer", "ANOTHER_CUSTOMER orders[0]"),
        ("wrong_merchant", "ANOTHER_MERCHANT orders[0]"),
        ("wrong_order", "ANOTHER_ORDER"),
    ],
)
def test_an_answer_about_somebody_else_lands_no_row(shop, source, pair, kind, detail):
    shop.arm(kind)
    before = rows()
    assert failed(source, pair.order) == ("DISCREPANCY", detail, 1)
    assert rows() == before


@pytest.mark.parametrize("place", [0, 1])
def test_one_foreign_order_beside_the_right_one_spoils_the_answer(pair, place):
    mine = order_document(pair.order)
    for foreign in (make_customer(merchant=pair.order.merchant), make_customer()):
        other = {
            "merchant": foreign.merchant.code,
            "number": "X-1",
            "customer": foreign.reference,
            "placed_at": NOW.isoformat(),
        }
        orders = [mine]
        orders.insert(place, other)
        code = "CUSTOMER" if foreign.merchant == pair.order.merchant else "MERCHANT"
        assert failed_with({"orders": orders}, pair.order)[1] == f"ANOTHER_{code} orders[{place}]"


def test_an_order_that_is_held_as_another_customers_cannot_be_claimed(pair):
    theirs = make_order(customer=make_customer(merchant=pair.order.merchant), number="T-1")
    claimed = order_document(theirs) | {"customer": pair.order.customer.reference}
    document = {"orders": [order_document(pair.order), claimed]}
    assert failed_with(document, pair.order)[1] == "CONTRADICTS_BOOK orders[1]"


def test_a_shop_cannot_move_the_merchants_account_or_who_signs_in():
    merchant = make_merchant(gateway_account="acct_1Right")
    order = make_duplicate_order(customer=make_customer(merchant=merchant)).order
    mine = [order_document(order)]
    moved = {"code": merchant.code, "gateway_account": "acct_1Wrong", "region": "EU"}
    assert failed_with({"merchants": [moved], "orders": mine}, order)[1] == "ANOTHER_ACCOUNT merchants[0]"
    for sections, code in (
        ({"merchants": [{"code": "other-shop", "region": "US"}]}, "ANOTHER_MERCHANT merchants[0]"),
        (
            {"customers": [{"merchant": merchant.code, "reference": "C-9", "email": "x@example.com"}]},
            "ANOTHER_CUSTOMER customers[0]",
        ),
    ):
        assert failed_with(sections | {"orders": mine}, order)[1] == code


def test_restated_merchants_and_customers_are_compared_and_not_taken():
    order = make_duplicate_order().order
    before = rows()
    document = {
        "merchants": [{"code": order.merchant.code, "name": "Renamed", "host": "evil.example.com"}],
        "customers": [
            {
                "merchant": order.merchant.code,
                "reference": order.customer.reference,
                "email": "new@example.com",
            }
        ],
        "orders": [order_document(order)],
    }
    with answering(json.dumps(document).encode()) as source:
        assert read(source, order).source == "http_json"
    assert rows() == before


# -- what cannot be read


@pytest.mark.parametrize(
    ("kind", "detail"),
    [
        ("malformed", "UNREADABLE"),
        ("repeated_key", "UNREADABLE the document"),
        ("not_a_number", "UNREADABLE orders[0]"),
        ("deep", "UNREADABLE"),
        ("oversized", "BODY_REFUSED"),
        ("compressed", "BODY_REFUSED"),
    ],
)
def test_an_answer_that_cannot_be_read_lands_no_row_and_is_not_asked_for_again(
    shop, source, pair, waits, kind, detail
):
    shop.arm(kind, count=None)
    before = rows()
    assert failed(source, pair.order) == ("DISCREPANCY", detail, 1)
    assert (len(shop.log()), waits) == (1, [])
    assert rows() == before


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b'\xef\xbb\xbf{"orders": []}',
        b'{"orders": {}}',
        b'{"orders": [1]}',
        b"<html>",
    ],
)
def test_bytes_that_are_no_document_are_a_discrepancy(pair, body):
    kind, detail, attempts = failed_with(body, pair.order)
    assert (kind, attempts) == ("DISCREPANCY", 1)
    assert detail.split()[0] in {"UNREADABLE", "ANOTHER_ORDER"}


@pytest.mark.parametrize("amount", [True, 0, -1, 49.99, "4e3", 2**70, None, float("inf")])
def test_an_amount_that_is_none_is_never_guessed(pair, amount):
    document = order_document(pair.order)
    document["payments"][0]["entries"][0]["amount_minor_units"] = amount
    assert failed_with({"orders": [document]}, pair.order)[1] == "UNREADABLE orders[0].payments[0].entries[0]"


@pytest.mark.parametrize("reference", ["ch_\x00", "ch_\ud800", "ch_\u202e1", "c" * 300])
def test_hidden_or_endless_characters_in_a_reference_are_refused(pair, reference):
    document = order_document(pair.order)
    document["payments"][0]["reference"] = reference
    assert failed_with({"orders": [document]}, pair.order)[1] == "UNREADABLE orders[0].payments[0]"


def test_nothing_from_the_document_is_logged(pair):
    document = {
        "merchants": [],
        "customers": [
            {"merchant": pair.order.merchant.code, "reference": "ana-secret", "email": "ana@example.com"}
        ],
        "orders": [order_document(pair.order)],
    }
    with structlog.testing.capture_logs() as lines:
        assert failed_with(document, pair.order)[0] == "DISCREPANCY"
    (line,) = [line for line in lines if line["event"] == "ledger_source_unavailable"]
    assert line == {
        "event": "ledger_source_unavailable",
        "log_level": "warning",
        "kind": "DISCREPANCY",
        "detail": "ANOTHER_CUSTOMER customers[0]",
        "attempts": 1,
    }
