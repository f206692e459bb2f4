"""Stripe's own exports: the columns of the Dashboard's payments and refunds files, amounts in major units."""

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User

from ledger.duplicates import Finding, ReasonCode, find_duplicate
from ledger.loading.formats.files import UnreadableFileError
from ledger.loading.formats.registry import MerchantNeededError
from ledger.models import Customer, LedgerEntry, Merchant, Order, Payment
from ledger.sources.local_tables import LocalTables
from tests.factories import make_customer, make_merchant, make_order
from tests.ledger.loading_files import (
    NOW,
    added,
    changed_nothing,
    changes,
    entries,
    load_path,
    problems,
    row_counts,
    write_file,
)

pytestmark = pytest.mark.django_db

# The columns of an export of all columns, as the Dashboard names and orders them.
HEADER = (
    "id,Created date (UTC),Amount,Amount Refunded,Currency,Captured,Converted Amount,"
    "Converted Amount Refunded,Converted Currency,Decline Reason,Description,Fee,Is Link,Link Funding,Mode,"
    "PaymentIntent ID,Payment Source Type,Refunded date (UTC),Statement Descriptor,Status,Seller Message,"
    "Taxes On Fee,Interchange Costs,Merchant Service Charge,Card ID,Card Name,Card Address Line1,"
    "Card Brand,Card Exp Month,Card Exp Year,Card Fingerprint,Card Funding,Card Issue Country,Card Last4,"
    "Card Tokenization Method,Customer ID,Customer Description,Customer Email,Customer Phone,"
    "Disputed Amount,Dispute Date (UTC),Dispute Evidence Due (UTC),Dispute Reason,Dispute Status,Invoice ID,"
    "Checkout Session ID,Client Reference ID,Destination,Transfer,Transfer Group,order_id (metadata)"
)
COLUMNS = HEADER.split(",")
PAID = {
    "Created date (UTC)": "2026-11-26 09:30:05",
    "Amount": "49.99",
    "Amount Refunded": "0.00",
    "Currency": "usd",
    "Captured": "true",
    "Mode": "Live",
    "Payment Source Type": "card",
    "Status": "Paid",
    "Card Fingerprint": "fp_A",
    "Card Last4": "4242",
    "Customer ID": "cus_1",
    "Customer Email": "Ana@example.com",
    "order_id (metadata)": "2841",
}
REFUND_COLUMNS = ["id", "Amount", "Charge", "Created (UTC)", "Currency", "Reason", "Status"]


def payments_text(*rows, columns=COLUMNS):
    lines = [",".join(columns)]
    lines += [",".join({**PAID, **row}.get(name, "") for name in columns) for row in rows]
    return "\n".join(lines)


def refunds_text(*rows):
    return "\n".join([",".join(REFUND_COLUMNS), *(",".join(row) for row in rows)])


@pytest.fixture
def load(tmp_path):
    def load_text(text, *, at=NOW - timedelta(hours=1), **options):
        return load_path(
            write_file(tmp_path / "export.csv", text, at=at), **({"merchant": "harbour"} | options)
        )

    make_merchant(code="harbour", gateway_account="acct_1")
    return load_text


def test_two_charges_of_one_order_become_two_payments(load):
    report = load(
        payments_text(
            {"id": "ch_1"},
            {"id": "ch_2", "Created date (UTC)": "2026-11-26 09:31", "order_id (metadata)": "#2841"},
        )
    )
    assert added(report) == {"users": 1, "customers": 1, "orders": 1, "payments": 2, "entries": 2}
    assert report.notes == ()
    order = Order.objects.get()
    assert (order.number, order.total_minor_units, order.currency) == ("2841", None, "")
    assert order.placed_at == datetime(2026, 11, 26, 9, 30, 5, tzinfo=UTC)
    assert (order.customer.reference, order.customer.user.email) == ("cus_1", "ana@example.com")
    assert list(
        Payment.objects.order_by("pk").values_list(
            "processor_reference",
            "account",
            "method_type",
            "method_fingerprint",
            "method_last4",
            "created_at",
        )
    ) == [
        ("ch_1", "acct_1", "card", "fp_A", "4242", datetime(2026, 11, 26, 9, 30, 5, tzinfo=UTC)),
        ("ch_2", "acct_1", "card", "fp_A", "4242", datetime(2026, 11, 26, 9, 31, tzinfo=UTC)),
    ]
    assert entries("processor_reference", "kind", "status", "amount_minor_units", "currency") == [
        ("ch_1", "CAPTURE", "SUCCEEDED", 4999, "USD"),
        ("ch_2", "CAPTURE", "SUCCEEDED", 4999, "USD"),
    ]


def test_the_same_export_again_changes_nothing(load):
    text = payments_text({"id": "ch_1", "Amount Refunded": "8.20", "Dispute Status": "needs_response"})
    assert added(load(text))["entries"] == 3
    assert changed_nothing(load(text))
    assert LedgerEntry.objects.count() == 3


@pytest.mark.failure("F047")
@pytest.mark.failure("F045")
@pytest.mark.parametrize(
    ("text", "currency", "minor"),
    [
        ("145.05", "usd", 14505),
        ("8.20", "usd", 820),
        ("19.99", "usd", 1999),
        ("0.29", "usd", 29),
        ("4.35", "eur", 435),
        ("1.15", "EUR", 115),
        ("50000", "jpy", 50000),
        ("500.00", "jpy", 500),
        ("5.120", "kwd", 5120),
        ("5.12", "kwd", 5120),
        ("21474836.49", "usd", 2147483649),
        ("90071992547409.93", "usd", 9007199254740993),
    ],
)
def test_amounts_are_exact_to_the_last_minor_unit(load, text, currency, minor):
    load(payments_text({"id": "ch_1", "Amount": text, "Currency": currency}))
    assert entries("amount_minor_units", "currency") == [(minor, currency.upper())]


@pytest.mark.parametrize(
    ("over", "text"),
    [
        ({"Amount": "49,99"}, "does not have as many cells as the first line"),
        ({"Amount": '"49,99"'}, "amount must be a plain decimal such as 1234.50"),
        ({"Amount": '"1,049.99"'}, "amount must be a plain decimal such as 1234.50"),
        ({"Amount": "49.999"}, "amount must be a plain decimal such as 1234.50"),
        ({"Amount": "500.5", "Currency": "jpy"}, "amount must be a plain decimal such as 1234.50"),
        ({"Amount": "-49.99"}, "amount must be between 0"),
        ({"Amount": "0.00"}, "amount must be more than zero"),
        ({"Amount": "1e3"}, "amount must be a plain decimal"),
        ({"Amount": "9" * 5000}, "amount must be a plain decimal"),
        ({"Amount": ""}, "amount is missing"),
        ({"Amount Refunded": "50.00"}, "amount refunded is more than amount"),
        ({"Currency": "usdollar"}, "currency is no ISO 4217 currency"),
        ({"Status": "Fine"}, "status is not one of"),
        ({"Captured": "maybe"}, "captured must be true or false"),
        ({"Dispute Status": "angry"}, "dispute status is not one of"),
        ({"Created date (UTC)": "26/11/2026"}, "created date (utc) must be a UTC time"),
        ({"Created date (UTC)": ""}, "created date (utc) is missing"),
        ({"order_id (metadata)": ""}, "order_id (metadata) is missing"),
        ({"order_id (metadata)": "bestellung é"}, "order_id (metadata) must be 1 to 64 printable ASCII"),
        ({"id": ""}, "id is missing"),
    ],
)
def test_bad_rows_are_named_and_nothing_is_loaded(load, over, text):
    found = problems(load(payments_text({"id": "ch_1"}, {"id": "ch_2", **over})))
    assert len(found) == 1
    assert found[0].startswith(f"line 3: {text}")
    assert row_counts() == (1, 0, 0, 0, 0)


@pytest.mark.failure("F028")
def test_an_uncaptured_charge_is_a_hold_and_its_release_a_reversal(load):
    hold = {"id": "ch_2", "Captured": "false", "Status": "Uncaptured"}
    load(payments_text({"id": "ch_1"}, hold))
    assert entries("processor_reference", "kind", "status") == [
        ("ch_1", "CAPTURE", "SUCCEEDED"),
        ("ch_2#authorisation", "AUTHORISATION", "SUCCEEDED"),
    ]
    load(payments_text({**hold, "Status": "Refunded", "Amount Refunded": "49.99"}), at=NOW)
    assert entries("processor_reference", "kind", "status", "amount_minor_units")[2:] == [
        ("ch_2#reversal", "REVERSAL", "SUCCEEDED", 4999)
    ]


def test_a_hold_that_is_captured_later_keeps_both_rows(load):
    hold = {"id": "ch_1", "Captured": "false", "Status": "Uncaptured"}
    load(payments_text(hold))
    assert added(load(payments_text({"id": "ch_1"}), at=NOW)) == {"entries": 1}
    assert entries("processor_reference", "kind") == [
        ("ch_1#authorisation", "AUTHORISATION"),
        ("ch_1", "CAPTURE"),
    ]


@pytest.mark.parametrize(
    ("said", "status"), [("Failed", "FAILED"), ("Blocked", "FAILED"), ("Pending", "PENDING")]
)
def test_charges_that_did_not_succeed(load, said, status):
    load(payments_text({"id": "ch_1", "Captured": "false", "Status": said}))
    assert entries("kind", "status") == [("CAPTURE", status)]


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ("needs_response", "OPEN"),
        ("under_review", "OPEN"),
        ("warning_under_review", "OPEN"),
        ("won", "WON"),
        ("warning_closed", "WON"),
        ("lost", "LOST"),
    ],
)
def test_disputes(load, said, status):
    load(
        payments_text(
            {
                "id": "ch_1",
                "Disputed Amount": "20.00",
                "Dispute Date (UTC)": "2026-11-27 10:00",
                "Dispute Status": said,
            }
        )
    )
    assert entries("processor_reference", "kind", "status", "amount_minor_units", "occurred_at")[1:] == [
        ("ch_1#dispute", "DISPUTE", status, 2000, datetime(2026, 11, 27, 10, 0, tzinfo=UTC))
    ]


def test_a_repeated_line_is_one_charge_seen_twice(load):
    load(payments_text({"id": "ch_1"}, {"id": "ch_1"}))
    assert entries("processor_reference", "seen_count") == [("ch_1", 2)]


def test_charges_without_an_order_can_be_left_out_by_name_of_the_option(load):
    text = payments_text({"id": "ch_1"}, {"id": "ch_2", "order_id (metadata)": ""}, {"id": "ch_3"})
    report = load(text, skip_rows_without_order=True)
    assert report.notes == ("charges without an order number were left out: line 3",)
    assert added(report)["payments"] == 2


def test_payments_that_never_became_a_charge_are_left_out(load):
    report = load(payments_text({"id": "ch_1"}, {"Status": "requires_payment_method", "Captured": "false"}))
    assert report.notes == ("1 payments without a charge were left out",)
    assert added(report)["payments"] == 1


def test_the_order_number_may_stand_in_another_column(load):
    columns = [*COLUMNS[:-1], "Shop Order (metadata)", "cart (metadata)", "Colour"]
    text = payments_text({"id": "ch_1", "Shop Order (metadata)": "77"}, columns=columns)
    report = load(text, order_column="Shop Order (metadata)")
    assert report.notes == (
        "metadata that is not read: cart (metadata)",
        "'colour' is not read (1 times)",
    )
    assert Order.objects.get().number == "77"


def test_an_order_that_is_known_keeps_its_customer_and_total(load):
    customer = make_customer(merchant=Merchant.objects.get(), reference="C-1")
    order = make_order(customer=customer, number="2841")
    assert added(load(payments_text({"id": "ch_1"}))) == {"payments": 1, "entries": 1}
    order.refresh_from_db()
    assert (order.customer, order.total_minor_units) == (customer, 4999)


def test_a_guest_is_known_by_the_address_alone(load):
    load(payments_text({"id": "ch_1", "Customer ID": ""}))
    assert Customer.objects.get().reference == "ana@example.com"


def test_a_charge_of_nobody_needs_an_order_that_is_known(load):
    text = payments_text({"id": "ch_1", "Customer ID": "", "Customer Email": ""})
    assert problems(load(text)) == ["line 2: customer (none) is not known"]


def test_live_and_test_payments_do_not_mix(load):
    text = payments_text({"id": "ch_1"}, {"id": "ch_2", "Mode": "Test"})
    assert problems(load(text)) == ["line 3: mode: live and test payments do not belong into one ledger"]


def test_an_export_without_a_merchant_is_refused(load):
    with pytest.raises(MerchantNeededError):
        load(payments_text({"id": "ch_1"}), merchant=None)
    with pytest.raises(UnreadableFileError, match="these columns are missing: created date"):
        load(payments_text({"id": "ch_1"}, columns=[c for c in COLUMNS if "Created" not in c]))
    assert problems(load(payments_text({"id": "ch_1"}), merchant="north")) == [
        "line 2: merchant north is not known; a JSON file can describe it"
    ]
    assert User.objects.count() == 0


# Refunds ----------------------------------------------------------------------------------------------------


def test_refunds_join_the_charges_that_are_loaded(load):
    load(payments_text({"id": "ch_1"}))
    text = refunds_text(
        ["re_1", "8.20", "ch_1", "2026-11-27 08:00", "usd", "duplicate", "succeeded"],
        ["re_2", "1.00", "ch_1", "2026-11-27 08:01:02", "usd", "", "requires_action"],
        ["re_3", "2.00", "ch_1", "2026-11-27 08:02", "usd", "", "Failed"],
    )
    assert added(load(text)) == {"entries": 3}
    assert entries("processor_reference", "kind", "status", "amount_minor_units", "account")[1:] == [
        ("re_1", "REFUND", "SUCCEEDED", 820, "acct_1"),
        ("re_2", "REFUND", "PENDING", 100, "acct_1"),
        ("re_3", "REFUND", "FAILED", 200, "acct_1"),
    ]
    assert changed_nothing(load(text))


def test_a_refund_of_an_unknown_charge_is_refused(load):
    text = refunds_text(["re_1", "8.20", "ch_1", "2026-11-27 08:00", "usd", "", "succeeded"])
    assert problems(load(text)) == ["line 2: payment ch_1 is not known; load the payments first"]
    bad = refunds_text(
        ["re_1", "8.20", "", "2026-11-27 08:00", "usd", "", "succeeded"],
        ["re_1", "8.20", "ch_1", "2026-11-27 08:00", "usd", "", "odd"],
        ["re_1", "0", "ch_1", "2026-11-27 08:00", "usd", "", "succeeded"],
        ["re_1"],
    )
    assert [line.partition(": ")[2][:25] for line in problems(load(bad))] == [
        "charge is missing",
        "status is not one of canc",
        "amount must be more than ",
        "does not have as many cel",
    ]


@pytest.mark.failure("F005")
def test_a_refunded_total_counts_at_once_and_named_refunds_replace_it(load):
    refunded = {"id": "ch_1", "Amount Refunded": "10.00", "Refunded date (UTC)": "2026-11-27 09:00"}
    load(payments_text(refunded))
    assert entries("processor_reference", "status", "amount_minor_units", "occurred_at")[1:] == [
        ("ch_1#refunded:1000", "SUCCEEDED", 1000, datetime(2026, 11, 27, 9, 0, tzinfo=UTC))
    ]
    assert added(load(payments_text({**refunded, "Amount Refunded": "15.00"}), at=NOW)) == {"entries": 1}
    assert entries("processor_reference", "amount_minor_units")[2:] == [("ch_1#refunded:1500", 500)]

    one = ["re_1", "10.00", "ch_1", "2026-11-27 09:00", "usd", "", "succeeded"]
    two = ["re_2", "5.00", "ch_1", "2026-11-27 09:05", "usd", "", "succeeded"]
    (found,) = problems(load(refunds_text(one)))
    assert found == (
        "line 2: the refunds of ch_1 here explain 1000 of the 1500 minor units that a payments export reported;"
        " load a file with all of them"
    )
    report = load(refunds_text(one, two))
    assert changes(report)["entries"] == (2, 2, 0)
    assert entries("processor_reference", "status")[1:] == [
        ("ch_1#refunded:1000", "CANCELED"),
        ("ch_1#refunded:1500", "CANCELED"),
        ("re_1", "SUCCEEDED"),
        ("re_2", "SUCCEEDED"),
    ]
    assert changed_nothing(load(refunds_text(one, two)))
    assert changed_nothing(load(payments_text({**refunded, "Amount Refunded": "15.00"}), at=NOW))


def test_a_total_below_what_is_known_is_noted_and_changes_nothing(load):
    load(payments_text({"id": "ch_1"}))
    load(refunds_text(["re_1", "8.20", "ch_1", "2026-11-27 08:00", "usd", "", "succeeded"]))
    report = load(payments_text({"id": "ch_1", "Amount Refunded": "1.00"}))
    assert report.notes == ("line 2: says less was refunded than the tables hold; theirs stands",)
    assert changed_nothing(report)


def test_the_rule_reads_what_an_export_brought(load, tmp_path):
    orders = (
        "order_number,customer_reference,order_total_minor_units,order_currency,order_placed_at\n"
        "2841,C-1,4999,USD,2026-11-26T09:30:00Z\n"
    )
    load(orders)
    load(payments_text({"id": "ch_1"}, {"id": "ch_2", "Created date (UTC)": "2026-11-26 09:31"}))
    order = Order.objects.get()

    def finding():
        snapshot = LocalTables().read_order(
            merchant_id=order.merchant_id, customer_id=order.customer_id, order_id=order.pk, now=NOW
        )
        return find_duplicate(
            order=snapshot.order,
            taken_at=snapshot.taken_at,
            now=NOW,
            max_snapshot_age=timedelta(hours=2),
            window=timedelta(hours=72),
            open_operation_payment_ids=frozenset(),
        )

    found = finding()
    assert (found.finding, found.refund_reference) == (Finding.VERIFIED_DUPLICATE_CHARGE, "ch_2")
    load(payments_text({"id": "ch_2", "Created date (UTC)": "2026-11-26 09:31", "Amount Refunded": "49.99"}))
    assert finding().reason_code is ReasonCode.ALREADY_REFUNDED
