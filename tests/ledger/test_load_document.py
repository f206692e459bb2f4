"""Loading the documented JSON structure: what is written, what may change later, and what never does."""

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User

from ledger.intake import CARD_NUMBER_MASK
from ledger.models import LedgerEntry, Merchant, Order, Payment
from tests.factories import make_merchant
from tests.ledger.loading_files import (
    NOW,
    added,
    changed_nothing,
    changes,
    document,
    entries,
    load,
    problems,
    row_counts,
)

pytestmark = pytest.mark.django_db
TAKEN_AT = datetime(2026, 11, 28, 9, 0, tzinfo=UTC)


def order_of(made):
    return made["orders"][0]


def payment_of(made):
    return order_of(made)["payments"][0]


def entry_of(made, index=0):
    return payment_of(made)["entries"][index]


def test_every_value_arrives_exactly():
    report = load(document())
    assert added(report) == {
        "users": 1,
        "merchants": 1,
        "customers": 1,
        "orders": 1,
        "payments": 1,
        "entries": 2,
    }
    assert (report.as_of, report.notes, report.confirmed) == (TAKEN_AT, (), 0)
    merchant = Merchant.objects.get()
    assert (merchant.code, merchant.name, merchant.region) == ("harbour", "Harbour Home", "US")
    order = Order.objects.get()
    assert (order.merchant, order.customer.reference, order.number) == (merchant, "C-1", "2841")
    assert (order.description, order.product_type, order.status) == ("Blue kettle", "GOODS", "PLACED")
    assert (order.total_minor_units, order.currency) == (4999, "USD")
    assert order.placed_at == datetime(2026, 11, 26, 9, 30, tzinfo=UTC)
    payment = Payment.objects.get()
    assert (payment.account, payment.processor_reference) == ("acct_1", "ch_1")
    assert (payment.method_type, payment.method_fingerprint, payment.method_last4) == ("card", "fp_A", "0042")
    assert (payment.created_at, payment.refreshed_at) == (
        datetime(2026, 11, 26, 9, 30, 5, tzinfo=UTC),
        TAKEN_AT,
    )
    assert entries("processor_reference", "account", "kind", "status", "amount_minor_units", "currency") == [
        ("ch_1", "acct_1", "CAPTURE", "SUCCEEDED", 4999, "USD"),
        ("re_1", "acct_1", "REFUND", "PENDING", 820, "USD"),
    ]


def test_the_same_document_again_changes_nothing():
    load(document())
    before = entries("pk", "status", "seen_count", "occurred_at")
    report = load(document())
    assert changed_nothing(report)
    assert (changes(report)["entries"], report.confirmed) == ((0, 0, 2), 0)
    assert entries("pk", "status", "seen_count", "occurred_at") == before


def test_a_later_reading_of_the_same_facts_confirms_the_payments():
    load(document())
    report = load(document(lambda made: made.update(taken_at="2026-11-28T09:30:00Z")))
    assert (changed_nothing(report), report.confirmed) == (True, 1)
    assert Payment.objects.get().refreshed_at == TAKEN_AT + timedelta(minutes=30)


def test_an_earlier_reading_never_makes_a_payment_older():
    load(document())
    report = load(document(lambda made: made.update(taken_at="2026-11-01T00:00:00Z")))
    assert report.confirmed == 0
    assert Payment.objects.get().refreshed_at == TAKEN_AT


def test_without_a_time_of_its_own_a_document_is_of_now():
    assert load(document(lambda made: made.pop("taken_at"))).as_of == NOW


def test_a_dry_run_checks_everything_and_writes_nothing():
    report = load(document(), dry_run=True)
    assert added(report)["entries"] == 2
    assert (row_counts(), User.objects.count()) == ((0, 0, 0, 0, 0), 0)


@pytest.mark.parametrize(
    ("change", "where", "text"),
    [
        (
            lambda made: entry_of(made).update(amount_minor_units=5000),
            "orders[0].payments[0].entries[0]",
            "entry ch_1 is held with another amount",
        ),
        (
            lambda made: [entry_of(made, n).update(currency="EUR") for n in (0, 1)],
            "orders[0].payments[0].entries[0]",
            "entry ch_1 is held with another currency",
        ),
        (
            lambda made: entry_of(made, 1).update(kind="REVERSAL"),
            "orders[0].payments[0].entries[1]",
            "entry re_1 is held with another kind",
        ),
        (
            lambda made: order_of(made).update(total_minor_units=1),
            "orders[0]",
            "would change the order's total_minor_units from 4999 to 1; --update-totals takes what the file says",
        ),
        (
            lambda made: payment_of(made).update(method_fingerprint="fp_B"),
            "orders[0].payments[0]",
            "payment ch_1 has another method fingerprint",
        ),
        (
            lambda made: order_of(made).update(number="2999"),
            "orders[0].payments[0]",
            "payment ch_1 belongs to another order",
        ),
        (
            lambda made: (
                made["customers"].append({"merchant": "harbour", "reference": "C-2"}),
                order_of(made).update(customer="C-2"),
            ),
            "orders[0]",
            "order 2841 belongs to another customer",
        ),
    ],
)
def test_amounts_owners_and_cards_never_change(change, where, text):
    load(document())
    before = (row_counts(), entries("pk", "amount_minor_units", "currency", "kind", "payment_id"))
    report = load(document(lambda made: (made.update(taken_at="2026-11-28T09:59:00Z"), change(made))))
    assert problems(report)[0] == f"{where}: {text}"
    assert (row_counts(), entries("pk", "amount_minor_units", "currency", "kind", "payment_id")) == before
    assert Payment.objects.get().refreshed_at == TAKEN_AT


def test_a_changed_total_is_taken_when_asked_for():
    load(document())
    report = load(document(lambda made: order_of(made).update(total_minor_units=1)), update_totals=True)
    assert changes(report)["orders"] == (0, 1, 0)
    assert Order.objects.get().total_minor_units == 1


def test_what_was_unknown_is_learned_and_what_is_left_out_stays():
    def unknown(made):
        order_of(made).update(total_minor_units=None, currency=None)
        for name in ("method_fingerprint", "method_last4"):
            payment_of(made).pop(name)

    load(document(unknown))
    order = Order.objects.get()
    assert (order.total_minor_units, order.currency) == (None, "")
    report = load(document())
    assert (changes(report)["orders"], changes(report)["payments"]) == ((0, 1, 0), (0, 1, 0))
    load(document(unknown))
    order.refresh_from_db()
    assert (order.total_minor_units, order.currency) == (4999, "USD")
    assert Payment.objects.get().method_fingerprint == "fp_A"


def test_descriptions_and_order_states_follow_the_file():
    load(document())
    load(document(lambda made: order_of(made).update(status="SHIPPED", description="Green kettle")))
    assert Order.objects.values_list("status", "description").get() == ("SHIPPED", "Green kettle")


def test_a_note_follows_the_file_bounded_and_without_card_numbers():
    load(
        document(
            lambda made: order_of(made).update(note="Paid with 4242 4242 4242 4242.\nGift wrap, please.")
        )
    )
    assert Order.objects.get().note == f"Paid with {CARD_NUMBER_MASK}. Gift wrap, please."
    load(document(lambda made: order_of(made).update(note="x" * 600)))
    assert Order.objects.get().note == "x" * 500
    load(document())
    assert Order.objects.get().note == "x" * 500  # a file that has none says nothing about it


def test_times_stay_as_they_were_first_loaded():
    load(document())
    report = load(
        document(
            lambda made: (
                order_of(made).update(placed_at="2026-11-26T00:00:00Z"),
                entry_of(made).update(occurred_at="2026-11-26T00:00:00Z"),
            )
        )
    )
    assert changed_nothing(report)
    assert Order.objects.get().placed_at == datetime(2026, 11, 26, 9, 30, tzinfo=UTC)
    assert LedgerEntry.objects.first().occurred_at == datetime(2026, 11, 26, 9, 30, 5, tzinfo=UTC)


@pytest.mark.failure("F032")
@pytest.mark.parametrize(
    ("held", "said", "taken_at", "expected", "kept"),
    [
        ("PENDING", "SUCCEEDED", "2026-11-28T09:30:00Z", "SUCCEEDED", 0),
        ("PENDING", "FAILED", "2026-11-28T08:00:00Z", "FAILED", 0),
        ("SUCCEEDED", "FAILED", "2026-11-28T08:00:00Z", "FAILED", 0),
        ("SUCCEEDED", "PENDING", "2026-11-28T08:00:00Z", "SUCCEEDED", 1),
        ("FAILED", "SUCCEEDED", "2026-11-28T09:00:00Z", "FAILED", 1),
        ("FAILED", "SUCCEEDED", "2026-11-28T09:00:01Z", "SUCCEEDED", 0),
    ],
)
def test_a_status_may_move_on_but_an_older_file_never_moves_it_back(held, said, taken_at, expected, kept):
    load(document(lambda made: entry_of(made, 1).update(status=held)))
    report = load(
        document(lambda made: (made.update(taken_at=taken_at), entry_of(made, 1).update(status=said)))
    )
    assert LedgerEntry.objects.get(processor_reference="re_1").status == expected
    notes = ("1 statuses are older than what is held and were not taken",) if kept else ()
    assert report.notes == notes


@pytest.mark.failure("F052")
def test_a_repeated_row_raises_the_count_and_loading_again_does_not():
    def twice(made):
        payment_of(made)["entries"].append(dict(entry_of(made)))

    load(document())
    report = load(document(twice))
    assert changes(report)["entries"] == (0, 1, 1)
    assert entries("processor_reference", "seen_count") == [("ch_1", 2), ("re_1", 1)]
    assert changed_nothing(load(document(twice)))
    assert changed_nothing(load(document()))
    assert entries("processor_reference", "seen_count") == [("ch_1", 2), ("re_1", 1)]


def test_a_whole_payment_that_is_listed_twice_is_one_payment_seen_twice():
    def twice(made):
        order_of(made)["payments"].append(dict(payment_of(made)))

    assert added(load(document(twice)))["payments"] == 1
    assert entries("processor_reference", "seen_count") == [("ch_1", 2), ("re_1", 2)]


def test_a_repeated_row_that_says_something_else_is_refused():
    def twice(made):
        payment_of(made)["entries"].append(dict(entry_of(made), amount_minor_units=1, status="FAILED"))

    first, again = (f"orders[0].payments[0].entries[{n}]" for n in (0, 2))
    assert problems(load(document(twice))) == [
        f"{again}: says another status and amount_minor_units than {first} for the same row"
    ]
    assert row_counts() == (0, 0, 0, 0, 0)


@pytest.mark.failure("F139")
@pytest.mark.parametrize("amount", [2**31 + 1, 2**63 - 1])
def test_a_large_real_amount_is_kept_to_the_cent(amount):
    load(
        document(
            lambda made: (
                order_of(made).update(total_minor_units=amount),
                entry_of(made).update(amount_minor_units=amount),
            )
        )
    )
    assert Order.objects.get().total_minor_units == amount
    assert LedgerEntry.objects.get(processor_reference="ch_1").amount_minor_units == amount


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            lambda made: made["merchants"][0].pop("region"),
            "merchants[0]: region is missing for a merchant that is not there yet",
        ),
        (
            lambda made: made["customers"].clear(),
            "orders[0]: customer C-1 is not known",
        ),
        (
            lambda made: order_of(made).update(currency=None),
            "orders[0]: a total without a currency is no amount",
        ),
        (
            lambda made: (order_of(made).pop("placed_at"), order_of(made).pop("payments")),
            "orders[0]: placed_at is missing, and no entry tells when the order was",
        ),
        (
            lambda made: payment_of(made).pop("entries"),
            "orders[0].payments[0]: created_at is missing, and the payment has no entry",
        ),
        (
            lambda made: order_of(made).update(merchant="other"),
            "orders[0]: merchant other is not known; a JSON file can describe it",
        ),
        (
            lambda made: entry_of(made).update(status="OPEN"),
            "orders[0].payments[0].entries[0]: a CAPTURE cannot have the status OPEN",
        ),
        (
            lambda made: entry_of(made, 1).update(currency="EUR"),
            "orders[0].payments[0].entries[1]: payment ch_1 has entries in EUR and USD",
        ),
        (
            lambda made: entry_of(made).update(occurred_at="2026-11-30T10:00:00Z"),
            "orders[0].payments[0].entries[0]: occurred_at lies in the future: 2026-11-30T10:00:00+00:00",
        ),
        (
            lambda made: made["customers"].append(
                {"merchant": "harbour", "reference": "C-2", "email": "ana@example.com"}
            ),
            "customers[1]: email belongs to another customer of this merchant",
        ),
    ],
)
def test_what_does_not_hold_together_is_refused_whole(change, expected):
    assert expected in problems(load(document(change)))
    assert (row_counts(), User.objects.count()) == ((0, 0, 0, 0, 0), 0)


def test_an_order_placed_at_an_unknown_time_is_as_old_as_its_first_entry():
    load(document(lambda made: order_of(made).pop("placed_at")))
    assert Order.objects.get().placed_at == datetime(2026, 11, 26, 9, 30, 5, tzinfo=UTC)


def test_two_merchants_cannot_have_one_host():
    make_merchant(code="north", host="pay.example.com")
    report = load(document(lambda made: made["merchants"][0].update(host="pay.example.com")))
    assert problems(report) == ["merchants[0]: host pay.example.com belongs to another merchant"]


def test_a_payment_of_another_account_is_another_payment():
    load(document())
    report = load(document(lambda made: payment_of(made).update(account="acct_2")))
    assert added(report) == {"payments": 1, "entries": 2}


def test_a_moved_account_of_a_merchant_does_not_move_stored_payments():
    load(document())
    report = load(document(lambda made: made["merchants"][0].update(gateway_account="acct_2")))
    assert (changes(report)["merchants"], added(report)) == ((0, 1, 0), {})
    assert Payment.objects.get().account == "acct_1"


def test_the_merchant_of_the_command_line_serves_rows_that_name_none_and_no_others():
    make_merchant(code="harbour")

    def unnamed(made):
        made.pop("merchants")
        made["customers"][0].pop("merchant")

    assert problems(load(document(unnamed))) == ["customers[0]: merchant is missing"]
    assert problems(load(document(unnamed), merchant="north"))[-1] == (
        "orders[0]: belongs to harbour, and this file is loaded for north"
    )
    assert added(load(document(unnamed), merchant="harbour"))["orders"] == 1
