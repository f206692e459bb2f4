"""What leaves as CSV runs nothing when it is opened, keeps its numbers, and reads back row for row."""

import csv
import unicodedata
from datetime import UTC, datetime
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.spreadsheets import BYTE_ORDER_MARK, csv_lines, plain_text

pytestmark = pytest.mark.failure("F095")

FORMULAS = [
    *("=1+1", "+1", "-1+2", "@SUM(A1)", "\t=1+1", "\r=1+1", "\n=1+1", "  =1+1", "\u00a0=1+1", "\u200b=1+1"),
    *('=HYPERLINK("https://example.invalid";"open")', "=cmd|' /C calc'!A0", "%0A=1", "|calc", "\ufeff=1+1"),
    *("\uff1d1+1", "\uff0b1", "\uff0d1", "\uff20SUM(1)", "\u202e=1+1", "\x00=1+1"),
]


def read_back(lines):
    text = "".join(lines)
    assert text.startswith(BYTE_ORDER_MARK)
    return list(csv.reader(StringIO(text.removeprefix(BYTE_ORDER_MARK))))


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_becomes_text(text):
    assert plain_text(text).startswith("'")


@pytest.mark.parametrize(
    "text", ["", "Ada Lovelace", "2841", "#2841", "a=b", "'quoted'", "$12.00", "Zo\u00eb"]
)
def test_other_text_stays_as_it_is(text):
    assert plain_text(text) == text


def test_numbers_stay_numbers_and_times_name_their_zone():
    at = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)
    (line,) = list(csv_lines(["n"], [[-4999, 0, at, None, "-4999"]]))[1:]
    assert line == '-4999,0,"2026-11-30T09:30:00+00:00","","\'-4999"\r\n'


@given(st.lists(st.lists(st.one_of(st.text(), st.integers()), min_size=2, max_size=2), max_size=5))
def test_any_text_reads_back_as_one_row_and_starts_no_formula(rows):
    read = read_back(csv_lines(["a", "b"], rows))
    assert len(read) == len(rows) + 1
    for row, cells in zip(rows, read[1:], strict=True):
        for given_cell, cell in zip(row, cells, strict=True):
            if isinstance(given_cell, int):
                assert int(cell) == given_cell
            else:
                shown = unicodedata.normalize("NFKC", cell).lstrip()
                assert not shown.startswith(tuple("=+-@"))
