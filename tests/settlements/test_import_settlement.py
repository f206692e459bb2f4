"""``manage.py import_settlement``: exact amounts, joined on our own id, everything of a file or nothing."""

import time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.loading.formats.fields import FieldError
from ledger.models import Settlement, SettlementFile
from ledger.money import exponent
from ledger.settlements.stripe_reports import signed_major_units
from refunds.gateways.stripe_commands import OPERATION_ID_KEY, create_parameters
from refunds.management.commands.import_settlement import OPERATION_COLUMN
from tests.factories import make_merchant
from tests.settlements.reports import COLUMNS, counts, run, stored, write

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def merchant():
    return make_merchant(code="harbour", gateway_account="acct_1")


@pytest.fixture
def load(tmp_path):
    def load_rows(*rows, columns=COLUMNS, arguments=("--merchant", "harbour")):
        return run(write(tmp_path / "report.csv", *rows, columns=columns), *arguments)

    return load_rows


def test_a_refund_is_stored_in_minor_units_and_under_our_own_id(load):
    code, out, err = load({OPERATION_COLUMN: "rfop_1"})
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "BALANCE_CHANGE of account acct_1: 1 rows added, 0 completed, 0 unchanged"
    row = Settlement.objects.get()
    assert stored() == [("txn_1", 1, "REFUND", 4999, "USD", "rfop_1")]
    assert (row.processor_reference, row.payment_reference, row.intent_reference) == ("re_1", "ch_1", "pi_1")
    assert (row.account, row.settled_minor_units, row.settled_currency) == ("acct_1", 4999, "USD")
    assert row.file.last_booked_at == row.booked_at


def test_the_column_is_the_key_that_the_adapter_sends():
    from refunds.gateways.contract import STRIPE_V1  # noqa: PLC0415
    from refunds.gateways.port import RefundCommand  # noqa: PLC0415

    command = RefundCommand(
        operation_id="rfop_1", idempotency_key="refund:rfop_1", account="", payment_reference="ch_1",
        amount_minor_units=1, currency="USD", reason_code="DUPLICATE_CHARGE",
    )  # fmt: skip
    (sent,) = create_parameters(command, STRIPE_V1)["metadata"]
    assert f"refund_metadata[{sent}]" == OPERATION_COLUMN == f"refund_metadata[{OPERATION_ID_KEY}]"


@pytest.mark.failure("F045")
@pytest.mark.parametrize(
    ("currency", "gross", "amount"),
    [
        ("jpy", "-500", 500),
        ("jpy", "-500.00", 500),
        ("kwd", "-5.120", 5120),
        ("usd", "-0.01", 1),
        ("usd", "-1234567.8", 123_456_780),
        ("isk", "-500.00", 500),
        ("mga", "-500.00", 50_000),
    ],
)
def test_major_units_become_minor_units_by_the_currency(load, currency, gross, amount):
    assert load({"currency": currency, "gross": gross})[0] == 0
    assert stored()[0][3:5] == (amount, currency.upper())


@given(
    code=st.sampled_from(["USD", "JPY", "KWD", "ISK", "CLF"]),
    amount=st.integers(-(10**14), 10**14),
    zeros=st.integers(0, 3),
)
def test_amounts_are_exact(code, amount, zeros):
    places = exponent(code)
    text = f"{Decimal(amount).scaleb(-places):f}" + ("0" * zeros if places else "")
    assert signed_major_units(code)(text) == amount


@given(text=st.text(max_size=12))
def test_no_text_becomes_a_number_by_accident(text):
    try:
        amount = signed_major_units("USD")(text)
    except FieldError:
        return
    assert Decimal(amount).scaleb(-2) == Decimal(text.strip())


def test_the_same_file_again_changes_nothing(load):
    rows = [{OPERATION_COLUMN: "rfop_1"}, {"balance_transaction_id": "txn_2", "source_id": "re_2"}]
    load(*rows)
    before = counts()
    assert "0 rows added, 0 completed, 2 unchanged" in load(*rows)[1]
    assert counts() == before == (2, 1)


def test_a_later_file_that_knows_our_id_completes_the_row_and_an_older_one_takes_nothing_away(load):
    load({})
    assert "0 rows added, 1 completed, 0 unchanged" in load({OPERATION_COLUMN: "rfop_1"})[1]
    assert "0 rows added, 0 completed, 1 unchanged" in load({})[1]
    assert [row[1:] for row in stored()] == [
        (1, "REFUND", 4999, "USD", ""),
        (2, "REFUND", 4999, "USD", "rfop_1"),
    ]


def test_an_amount_that_differs_from_what_was_imported_is_a_bad_row(load):
    load({})
    code, _, err = load({"balance_transaction_id": "txn_0"}, {"gross": "-49.98"})
    assert code == 1
    assert "line 3: says another amount_minor_units and settled_minor_units than what was imported" in err
    assert counts() == (1, 1)


@pytest.mark.parametrize("column", ["gross", "currency", "created_utc", "source_id"])
def test_a_card_number_in_the_wrong_column_is_not_printed(load, column):
    code, out, err = load({column: "4242 4242 4242 4242\x07"})
    assert code == 1
    assert "line 2" in err
    assert "[card number removed]" in err
    assert "4242 4242" not in out + err


def test_a_row_that_stands_twice_in_a_file_must_say_the_same(load):
    assert load({}, {})[0] == 0
    assert counts() == (1, 1)
    code, _, err = load({"balance_transaction_id": "t"}, {"balance_transaction_id": "t", "source_id": "re_9"})
    assert (code, "says another processor_reference than line 2 for t" in err) == (1, True)


def test_what_the_customer_got_is_held_in_their_currency(load):
    load(
        {
            "currency": "usd",
            "gross": "-54.31",
            "customer_facing_amount": "-50.00",
            "customer_facing_currency": "eur",
        }
    )
    row = Settlement.objects.get()
    assert (row.amount_minor_units, row.currency) == (5000, "EUR")
    assert (row.settled_minor_units, row.settled_currency) == (5431, "USD")


@pytest.mark.parametrize("theirs", ["50.00", "-50.00"])
def test_a_failed_refund_is_money_that_came_back_whatever_sign_the_customers_amount_has(load, theirs):
    load({
        "reporting_category": "refund_failure", "gross": "54.31",
        "customer_facing_amount": theirs, "customer_facing_currency": "eur",
    })  # fmt: skip
    assert stored()[0][2:5] == ("REFUND_FAILURE", -5000, "EUR")


def test_what_is_about_something_else_is_counted_and_left_out(load):
    code, out, _ = load(
        {"reporting_category": "charge", "gross": "49.99", "balance_transaction_id": "txn_c"},
        {"reporting_category": "fee", "gross": "-1.00", "balance_transaction_id": "txn_f"},
        {"reporting_category": "partial_capture_reversal", "balance_transaction_id": "txn_p"},
        {"reporting_category": "dispute", "balance_transaction_id": "txn_d", "source_id": "dp_1"},
    )
    assert code == 0
    assert "not about refunds or disputes: 1 charge" in out
    assert "not about refunds or disputes: 1 fee" in out
    assert [row[2] for row in stored()] == ["DISPUTE", "PARTIAL_CAPTURE_REVERSAL"]
    assert SettlementFile.objects.get().rows == 4


def test_a_payout_report_is_recognised(load):
    columns = [
        "automatic_payout_effective_at_utc" if c == "automatic_payout_effective_at" else c for c in COLUMNS
    ]
    assert "PAYOUT of account" in load({"automatic_payout_id": "po_1"}, columns=columns)[1]
    assert Settlement.objects.get().payout_reference == "po_1"
    load({}, arguments=("--merchant", "harbour", "--report", "balance-change"))
    assert sorted(Settlement.objects.values_list("report", flat=True)) == ["BALANCE_CHANGE", "PAYOUT"]


@pytest.mark.parametrize("missing", ["balance_transaction_id", "gross", "source_id", "charge_id"])
def test_a_missing_column_is_named(load, missing):
    code, _, err = load({}, columns=[name for name in COLUMNS if name != missing])
    assert code == 2
    assert f"these columns are missing: {missing}" in err
    assert counts() == (0, 0)


def test_a_file_without_our_column_is_imported_with_a_note(load):
    code, out, _ = load({}, columns=[name for name in COLUMNS if name != OPERATION_COLUMN])
    assert code == 0
    assert out.startswith(
        f"note: there is no column {OPERATION_COLUMN}: refunds are joined by the provider's own id"
    )


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"gross": "-49.999"}, "gross must be a plain decimal"),
        ({"gross": "(49.99)"}, "gross must be a plain decimal"),
        ({"gross": "-1e3"}, "gross must be a plain decimal"),
        ({"gross": "-99999999999999999.99"}, "gross must be a plain decimal"),
        ({"gross": ""}, "gross is missing"),
        ({"currency": "zzz"}, "currency is no ISO 4217 currency"),
        ({"created_utc": "28/11/2026"}, "created_utc must be a UTC time"),
        ({"created_utc": "2099-01-01 00:00:00"}, "created_utc lies in the future"),
        ({"created_utc": "0001-01-01 00:00:00"}, "created_utc lies before there was such a report"),
        ({"created_utc": "1970-01-01 00:00"}, "created_utc lies before there was such a report"),
        ({"source_id": ""}, "source_id is missing"),
        ({"source_id": "re_\u202e1"}, "source_id has hidden characters"),
        ({"source_id": "re_\x00"}, "source_id has hidden characters"),
        ({OPERATION_COLUMN: "x" * 256}, "must have 1 to 255 characters"),
        ({"connected_account_id": "acct_other"}, "connected_account_id is acct_other"),
        ({"customer_facing_currency": "eur"}, "customer_facing_amount is missing"),
    ],
)
def test_a_bad_row_is_listed_with_its_line_and_nothing_is_stored(load, row, says):
    code, _, err = load({"balance_transaction_id": "txn_0", "source_id": "re_0"}, row)
    assert code == 1
    assert err.startswith("line 3: ")
    assert says in err
    assert err.endswith("1 bad row; nothing was imported")
    assert counts() == (0, 0)


def test_rows_of_other_accounts_can_be_left_out(load):
    rows = [{}, {"connected_account_id": "acct_2", "balance_transaction_id": "txn_2"}]
    code, out, _ = load(*rows, arguments=("--merchant", "harbour", "--skip-other-accounts"))
    assert (code, counts()) == (0, (1, 1))
    assert "not about refunds or disputes: 1 of another account" in out


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "the file is empty"),
        (b"\xff\xfe", "is not UTF-8"),
        (b"gross,gross\n1,2\n", "these columns stand twice: gross"),
        (b'gross,"currency\n1', "unexpected end of data"),
    ],
)
def test_a_file_that_is_no_report_exits_with_two(tmp_path, content, says):
    path = tmp_path / "report.csv"
    path.write_bytes(content)
    code, _, err = run(path, "--merchant", "harbour")
    assert (code, says in err) == (2, True)


def test_a_first_line_of_very_many_columns_costs_no_more_than_its_length(tmp_path):
    path = tmp_path / "report.csv"
    path.write_text(",".join(f"column_{n}" for n in range(50_000)))
    begun = time.process_time()
    code, _, err = run(path, "--merchant", "harbour")
    assert (code, "these columns are missing" in err) == (2, True)
    assert time.process_time() - begun < 5  # a look through all of them for each takes far longer


def test_a_file_or_merchant_that_is_not_there_exits_with_two(tmp_path, load):
    assert run(tmp_path / "none.csv", "--merchant", "harbour")[0] == 2
    code, _, err = load({}, arguments=("--merchant", "nobody"))
    assert (code, "no merchant has the code nobody" in err) == (2, True)


def test_a_dry_run_stores_nothing(load):
    code, out, _ = load({}, arguments=("--merchant", "harbour", "--dry-run"))
    assert (code, counts()) == (0, (0, 0))
    assert "1 rows added" in out
    assert "dry run: nothing was changed" in out


def test_a_row_with_another_number_of_cells_is_a_bad_row(tmp_path):
    path = write(tmp_path / "report.csv", {})
    path.write_text(path.read_text() + "one,cell\n")
    code, _, err = run(path, "--merchant", "harbour")
    assert (code, "line 3: does not have as many cells" in err) == (1, True)
