"""Files as people have them: broken, huge, repeated, in the wrong encoding. Nothing is ever half-loaded."""

import json
import time
from datetime import timedelta

import pytest

from ledger.loading.formats.documented_json import read_document
from ledger.loading.formats.files import UnreadableFileError
from ledger.loading.formats.json_text import lines_of, parse_json
from ledger.loading.formats.registry import FileFormat
from ledger.models import LedgerEntry, Order, Payment
from tests.factories import make_merchant
from tests.ledger.loading_files import (
    NOW,
    added,
    changed_nothing,
    document,
    entries,
    load_path,
    problems,
    row_counts,
    write_file,
)

pytestmark = pytest.mark.django_db

HEADER = (
    "merchant,customer_reference,customer_email,order_number,order_total_minor_units,order_currency,"
    "payment_reference,method_fingerprint,kind,status,amount_minor_units,currency,occurred_at"
)
ROW = (
    "harbour,C-1,ana@example.com,2841,4999,USD,{ref},fp_A,CAPTURE,SUCCEEDED,{amount},USD,2026-11-26T09:30:05Z"
)


def csv_text(*rows, header=HEADER):
    return "\n".join([header, *rows]) + "\n"


def row(ref="ch_1", amount="4999"):
    return ROW.format(ref=ref, amount=amount)


def unreadable(tmp_path, content, **options) -> str:
    with pytest.raises(UnreadableFileError) as caught:
        load_path(write_file(tmp_path / "file", content), **options)
    assert row_counts()[1:] == (0, 0, 0, 0)
    return str(caught.value)


def test_a_json_file_is_as_old_as_it_says_and_a_csv_file_as_its_last_change(tmp_path):
    make_merchant(code="harbour")
    assert load_path(write_file(tmp_path / "a.json", document())).as_of == NOW - timedelta(hours=1)
    at = NOW - timedelta(days=3)
    path = write_file(tmp_path / "b.csv", csv_text(row("ch_9")), at=at)
    assert load_path(path).as_of == at
    assert Payment.objects.get(processor_reference="ch_9").refreshed_at == at
    later = NOW - timedelta(days=2)
    assert load_path(path, as_of=later).as_of == later
    ahead = write_file(tmp_path / "c.csv", csv_text(row("ch_9")), at=NOW + timedelta(days=2))
    assert load_path(ahead).as_of == NOW


def test_facts_of_the_future_are_not_loaded(tmp_path):
    made = document(lambda made: made.update(taken_at="2026-11-28T10:00:01Z"))
    assert unreadable(tmp_path, made) == (
        "its facts would be of 2026-11-28T10:00:01+00:00, which lies in the future"
    )


def test_a_csv_file_becomes_orders_payments_and_entries(tmp_path):
    make_merchant(code="harbour")
    text = csv_text(
        row("ch_1"),
        "harbour,C-1,,2841,,,ch_2,,AUTHORISATION,SUCCEEDED,4999,USD,2026-11-26T09:31:00Z",
        "harbour,C-1,,2841,,,ch_1,,REFUND,PENDING,820,USD,2026-11-27T09:31:00Z",
        "",
        "harbour,C-1,,2850,500,JPY,,,,,,,",
    )
    path = write_file(tmp_path / "a.csv", "\ufeff" + text.replace("\n", "\r\n"))
    assert problems(load_path(path)) == [
        "line 6: placed_at is missing, and no entry tells when the order was"
    ]
    path = write_file(path, text.replace("2850,500,JPY", "2841,,"))
    assert added(load_path(path)) == {"users": 1, "customers": 1, "orders": 1, "payments": 2, "entries": 3}
    assert entries("processor_reference", "kind", "amount_minor_units") == [
        ("ch_1", "CAPTURE", 4999),
        ("ch_2#authorisation", "AUTHORISATION", 4999),
        ("ch_1#refund", "REFUND", 820),
    ]
    assert Order.objects.values_list("total_minor_units", "currency").get() == (4999, "USD")
    assert changed_nothing(load_path(path))


def test_two_equal_lines_are_one_entry_seen_twice(tmp_path):
    make_merchant(code="harbour")
    path = write_file(tmp_path / "a.csv", csv_text(row(), row()))
    load_path(path)
    assert entries("processor_reference", "seen_count") == [("ch_1", 2)]
    assert changed_nothing(load_path(path))


def test_every_bad_line_is_listed_with_its_number_and_nothing_is_loaded(tmp_path):
    make_merchant(code="harbour")
    text = csv_text(
        row(),
        row("ch_2", "49.99"),
        row("ch_3", "0"),
        row("ch_4", "-1"),
        row("ch_5", "1e3"),
        row("ch_6", "9" * 400),
        row("ch_7", "9223372036854775808"),
        row("ch_8") + ",extra",
        "harbour,C-1",
        row("ch_9").replace("USD,2026", "XXZ,2026"),
        row("ch_10").replace("Z", ""),
        row("ch_11").replace("CAPTURE", "CHARGE"),
        row("ch_12").replace(",2841,", ",,"),
        row("ch_13").replace("ana@", "ana at "),
        row("ch\x0014"),
        row("ch\x1b14"),
        row("c" * 256),
        row("").replace(",,fp_A", ",,"),
        row("ch_15").replace("harbour,", "har bour,"),
        row("ch_16").replace("C-1", "C" * 101),
        row("ch_17").replace("harbour", "unknown"),
        '"harbour\n","C-1"',
        row("ch_18", "٤٢"),
    )
    found = problems(load_path(write_file(tmp_path / "a.csv", text)))
    amount = "amount_minor_units must be"
    assert [line.partition(": ")[0] for line in found] == [f"line {n}" for n in [*range(3, 22), 23, 25]]
    texts = [line.partition(": ")[2] for line in found]
    assert texts[0] == f"{amount} a whole number without sign, point or exponent: '49.99'"
    assert texts[1] == "amount_minor_units must be more than zero"
    assert texts[2] == f"{amount} a whole number without sign, point or exponent: '-1'"
    assert texts[3] == f"{amount} a whole number without sign, point or exponent: '1e3'"
    assert texts[4].startswith(f"{amount} a whole number")
    assert len(texts[4]) < 200
    assert texts[5] == f"{amount} between 0 and 9223372036854775807: 9223372036854775808"
    assert texts[6:8] == ["does not have as many cells as the first line"] * 2
    assert texts[8] == "currency is no ISO 4217 currency: 'XXZ'"
    assert texts[9] == "occurred_at has no UTC offset: '2026-11-26T09:30:05'"
    assert texts[10].startswith("kind must be one of AUTHORISATION, CAPTURE,")
    assert texts[11] == "order_number is missing"
    assert texts[12] == "customer_email is no e-mail address: 'ana at example.com'"
    assert texts[13:15] == [
        "payment_reference has hidden characters: 'ch\\x0014'",
        "payment_reference has hidden characters: 'ch\\x1b14'",
    ]
    assert texts[15].startswith("payment_reference must have 1 to 255 characters")
    assert texts[16] == "payment_reference is missing"
    assert texts[17].startswith("merchant may have letters, digits, - and _ only")
    assert texts[18].startswith("customer_reference must have 1 to 100 characters")
    assert texts[19] == "does not have as many cells as the first line"
    assert texts[20].startswith(amount)
    assert row_counts() == (1, 0, 0, 0, 0)


def test_an_unknown_merchant_is_named_once(tmp_path):
    text = csv_text(row("ch_1"), row("ch_2"))
    assert problems(load_path(write_file(tmp_path / "a.csv", text))) == [
        "line 2: merchant harbour is not known; a JSON file can describe it"
    ]


def test_unknown_columns_and_keys_are_reported_and_not_read(tmp_path):
    make_merchant(code="harbour")
    text = csv_text(row() + ",x", header=f"{HEADER},Colour")
    assert load_path(write_file(tmp_path / "a.csv", text)).notes == ("'colour' is not read (1 times)",)

    def extra(made):
        made["note"] = "hello"
        made["orders"][0]["payments"][0]["colour"] = "blue"

    report = load_path(write_file(tmp_path / "b.json", document(extra)))
    assert report.notes == ("'note' is not read (1 times)", "'colour' is not read (1 times)")


def test_json_problems_name_the_line_and_the_path(tmp_path):
    text = json.dumps(document(), indent=1)
    line = text.splitlines().index('       "kind": "capture",')  # the brace of its object, counted from one
    bad = text.replace('"amount_minor_units": 4999', '"amount_minor_units": 49.99')
    (found,) = problems(load_path(write_file(tmp_path / "a.json", bad)))
    assert found == (
        f"line {line}, orders[0].payments[0].entries[0]: amount_minor_units must be a whole number without sign,"
        " point or exponent: 49.99"
    )


@pytest.mark.failure("F047")
@pytest.mark.failure("F139")
@pytest.mark.parametrize(
    "number",
    ["4999.0", "4.999e3", "NaN", "Infinity", "-Infinity", "9" * 100_000, '"4999x"', "true", "[]", "-1"],
)
def test_a_json_amount_that_is_no_whole_number_is_refused_and_never_a_float(tmp_path, number):
    text = json.dumps(document()).replace('"amount_minor_units": 4999', f'"amount_minor_units": {number}')
    started = time.monotonic()
    (found,) = problems(load_path(write_file(tmp_path / "a.json", text)))
    assert found.startswith("line 1, orders[0].payments[0].entries[0]: amount_minor_units must be ")
    assert len(found) < 250
    assert time.monotonic() - started < 5
    assert row_counts() == (0, 0, 0, 0, 0)


def test_a_key_that_stands_twice_is_refused(tmp_path):
    text = json.dumps(document()).replace('"number": "#2841"', '"number": "1", "number": "#2841"')
    assert problems(load_path(write_file(tmp_path / "a.json", text))) == [
        "line 1, orders[0]: says number twice"
    ]


def test_nul_and_half_characters_inside_json_text_are_refused(tmp_path):
    for bad in ("\\u0000", "\\ud800"):
        text = json.dumps(document()).replace('"ch_1"', f'"ch_{bad}"')
        (found,) = problems(load_path(write_file(tmp_path / "a.json", text)))
        assert "reference has hidden characters" in found
    text = json.dumps(document()).replace("Blue kettle", "Blue\\u0000\\n kettle\\ud800 " + "x" * 300)
    load_path(write_file(tmp_path / "a.json", text))
    assert Order.objects.get().description == ("Blue kettle " + "x" * 300)[:200]


def test_files_that_cannot_be_read_at_all(tmp_path):
    make_merchant(code="harbour")
    assert unreadable(tmp_path, "") == "the file is empty"
    assert unreadable(tmp_path, b"a,b\n\xff") == "line 2: byte 0xff is not UTF-8"
    assert unreadable(tmp_path, csv_text(row()).encode("utf-16")) == "line 1: byte 0xff is not UTF-8"
    assert unreadable(tmp_path, '{"orders": [}') == "line 1: Expecting value"
    assert unreadable(tmp_path, '{"a": "\x00"}') == "line 1: Invalid control character at"
    assert unreadable(tmp_path, "[1]").startswith("the document must be an object")
    assert unreadable(tmp_path, "[" * 100_000) == "the objects are nested too deeply"
    assert unreadable(tmp_path, 'a,"b\n') == "line 1: unexpected end of data"
    assert unreadable(tmp_path, "a,A\n1,2\n") == "line 1: these columns stand twice: a"
    assert unreadable(tmp_path, "a,b\n1,2\n").startswith(
        "the first line names the columns of no known format."
    )
    assert unreadable(tmp_path, "a;b\n1;2\n") == (
        "the first line has semicolons; the cells must be separated by commas"
    )
    assert unreadable(tmp_path, "a,b\n1,2\n", file_format=FileFormat.CSV) == (
        "these columns are missing: order_number"
    )
    with pytest.raises(UnreadableFileError, match="No such file"):
        load_path(tmp_path / "nothing")
    with pytest.raises(UnreadableFileError, match="Is a directory"):
        load_path(tmp_path)


def test_lists_and_objects_in_the_wrong_place_are_named(tmp_path):
    def odd(made):
        made["merchants"] = {}
        made["customers"] = [7, {"merchant": "harbour", "reference": 12}]
        made["orders"][0]["payments"] = "none"

    found = problems(load_path(write_file(tmp_path / "a.json", document(odd))))
    assert found == [
        "the document: merchants must be a list",
        "customers[0]: must be an object",
        "line 6, customers[1]: reference must be text in quotes: 12",
        "line 12, orders[0]: payments must be a list",
    ]


def test_five_megabytes_of_text_in_one_cell_are_an_error_and_not_a_crash(tmp_path):
    make_merchant(code="harbour")
    text = csv_text(row("x" * 5_000_000))
    assert unreadable(tmp_path, text) == "line 2: field larger than field limit (131072)"


@pytest.mark.parametrize("count", [2500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_long_files_load_in_seconds_and_tell_how_far_they_are(tmp_path, django_assert_max_num_queries, count):
    make_merchant(code="harbour")
    rows = [
        f"harbour,C-{n % 50},,{n},4999,USD,ch_{n},fp_A,CAPTURE,SUCCEEDED,4999,USD,2026-11-26T09:30:05Z"
        for n in range(count)
    ]
    path = write_file(tmp_path / "a.csv", csv_text(*rows))
    told: list[str] = []
    started = time.monotonic()
    with django_assert_max_num_queries(80):
        report = load_path(path, progress=told.append)
    assert time.monotonic() - started < 30
    assert added(report) == {"customers": 50, "orders": count, "payments": count, "entries": count}
    assert told[:2] == [f"{count} entries read", "every row is sound; writing"]
    assert f"entries: {count} of {count} written" in told
    with django_assert_max_num_queries(40):
        assert changed_nothing(load_path(path))
    assert LedgerEntry.objects.count() == count


def test_lines_are_found_in_any_layout():
    text = '{\n"orders"\n:\n[ {"number": "{\\"[", "payments": [\n {}, {"a": [1, 2, {"b": 1}]}]},\n{}] }'
    assert lines_of(text) == {
        "": 1,
        "orders[0]": 4,
        "orders[0].payments[0]": 5,
        "orders[0].payments[1]": 5,
        "orders[0].payments[1].a[2]": 5,
        "orders[1]": 6,
    }


def test_reading_a_document_needs_no_text():
    assert len(read_document(parse_json(json.dumps(document()))).entries) == 2
