"""``manage.py load_ledger``: what it prints, and exit codes that mean something."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from ledger.loading.formats.examples import EXAMPLES
from ledger.models import Order
from tests.factories import make_merchant
from tests.ledger.loading_files import document, row_counts, write_file

pytestmark = pytest.mark.django_db


def old_document(change=None):
    return json.dumps(document(change), indent=1).replace("2026-11", "2024-11")


def run(*arguments) -> tuple[int, str, str]:
    out, err = StringIO(), StringIO()
    try:
        call_command("load_ledger", *map(str, arguments), stdout=out, stderr=err)
    except CommandError as error:
        return error.returncode, out.getvalue(), f"{err.getvalue()}{error}"
    return 0, out.getvalue(), err.getvalue()


def test_a_sound_file_is_loaded_and_counted(tmp_path):
    path = write_file(tmp_path / "a.json", old_document())
    expected = [
        "users: 1 added, 0 updated, 0 unchanged",
        "merchants: 1 added, 0 updated, 0 unchanged",
        "customers: 1 added, 0 updated, 0 unchanged",
        "orders: 1 added, 0 updated, 0 unchanged",
        "payments: 1 added, 0 updated, 0 unchanged",
        "entries: 2 added, 0 updated, 0 unchanged",
        "0 payments confirmed as of 2024-11-28T09:00:00+00:00",
    ]
    assert run(path, "--dry-run") == (0, "\n".join([*expected, "dry run: nothing was changed", ""]), "")
    assert row_counts() == (0, 0, 0, 0, 0)
    assert run(path) == (0, "\n".join([*expected, ""]), "")
    assert row_counts() == (1, 1, 1, 1, 2)
    code, out, _ = run(path, "--as-of", "2024-11-28T09:30:00Z", "--format", "json")
    assert (code, out.splitlines()[5:]) == (
        0,
        [
            "entries: 0 added, 0 updated, 2 unchanged",
            "1 payments confirmed as of 2024-11-28T09:30:00+00:00",
        ],
    )


def test_bad_rows_are_listed_and_exit_with_one(tmp_path):
    def bad(made):
        made["orders"][0]["currency"] = "XXZ"
        made["customers"][0]["colour"] = "blue"

    code, out, err = run(write_file(tmp_path / "a.json", old_document(bad)))
    assert (code, out) == (1, "note: 'colour' is not read (1 times)\n")
    assert err == (
        "line 20, orders[0]: currency is no ISO 4217 currency: 'XXZ'\n1 bad row; nothing was loaded"
    )
    assert row_counts() == (0, 0, 0, 0, 0)


def test_a_long_list_of_bad_rows_is_cut(tmp_path):
    make_merchant(code="harbour")
    text = "order_number,customer_reference\n" + "2841\n" * 250
    code, _, err = run(write_file(tmp_path / "a.csv", text), "--merchant", "harbour")
    lines = err.splitlines()
    assert (code, len(lines)) == (1, 202)
    assert lines[-2:] == ["... and 50 more", "250 bad rows; nothing was loaded"]


def test_a_file_that_cannot_be_read_exits_with_two(tmp_path):
    path = write_file(tmp_path / "a.json", "{")
    assert run(path) == (2, "", f"{path}: line 1: Expecting property name enclosed in double quotes")
    missing = tmp_path / "none.csv"
    assert run(missing) == (2, "", f"{missing}: No such file or directory")
    assert run() == (2, "", "say which FILE to load, or --example json")
    stripe = write_file(tmp_path / "a.csv", "id,Amount,Currency,Captured,Status,Created (UTC)\n")
    assert run(stripe)[0] == 2
    with pytest.raises(CommandError, match="has no UTC offset"):
        call_command("load_ledger", str(path), "--as-of", "2024-11-28T09:30:00")


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_the_examples_can_be_loaded_as_they_are(tmp_path, name):
    if name == "csv":
        make_merchant(code="harbour-home")
    code, out, err = run("--example", name)
    assert (code, out, err) == (0, EXAMPLES[name], "")
    assert run(write_file(tmp_path / "example", out))[0] == 0
    assert Order.objects.get(number="2841").total_minor_units == 4999


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_the_documentation_shows_the_same_examples(name):
    page = Path(__file__).parents[2] / "docs" / "ledger-files.md"
    assert EXAMPLES[name] in page.read_text(encoding="utf-8")
