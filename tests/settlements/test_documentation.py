"""docs/settlement.md says what is built."""

from pathlib import Path

from ledger.settlements.stripe_reports import NEEDED_COLUMNS, PAYOUT_COLUMNS
from refunds.evidence.three_books.comparing import MOST_ASKED
from refunds.management.commands.import_settlement import OPERATION_COLUMN
from refunds.states import DifferenceKind

TEXT = (Path(__file__).resolve().parents[2] / "docs/settlement.md").read_text()


def test_every_kind_of_difference_and_every_column_is_explained():
    for name in (*DifferenceKind, *NEEDED_COLUMNS, *PAYOUT_COLUMNS, OPERATION_COLUMN):
        assert f"`{name}`" in TEXT, name


def test_the_numbers_are_those_of_the_code():
    assert f"({MOST_ASKED})" in TEXT
