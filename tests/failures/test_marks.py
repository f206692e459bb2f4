"""The marks, the catalogue and the table of ``make failures``."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.failures.catalogue import BY_ID, FAILURES, Failure
from tests.failures.marks import CACHE_KEY
from tests.failures.plugin import MALFORMED
from tests.failures.report import NEVER, MarkedTest, lines_of, rows_of

ROOT = Path(__file__).resolve().parents[2]
ONE, TWO = Failure("F001", "gateway", "one thing"), Failure("F002", "money", "another thing")


def test_every_collected_mark_names_one_failure_of_the_catalogue(pytestconfig):
    assert pytestconfig.stash[MALFORMED] == []


def test_the_catalogue_says_each_failure_once():
    assert len(BY_ID) == len(FAILURES)
    assert all(re.fullmatch(r"F\d{3}", failure.id) and failure.requirement for failure in FAILURES)


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        ({}, NEVER),
        ({"a": "passed", "b": "passed"}, "passed"),
        ({"a": "passed"}, "passed (1 of 2)"),
        ({"a": "passed", "b": "failed"}, "failed (1 of 2)"),
        ({"a": "skipped", "b": "passed"}, "passed (1 of 2)"),
        ({"a": "skipped", "b": "skipped"}, "skipped"),
        ({"gone": "failed"}, NEVER),
    ],
)
def test_a_failure_is_as_good_as_its_worst_test_that_still_exists(found, outcome):
    outcomes = {name: {"outcome": value, "at": "2026-11-28T10:00:00+00:00"} for name, value in found.items()}
    (row,) = rows_of([ONE], [MarkedTest("a", ("F001",)), MarkedTest("b", ("F001",))], outcomes)
    assert (row.outcome, row.failed) == (outcome, outcome.startswith("failed"))
    assert row.last_run == ("2026-11-28" if found and "gone" not in found else "")


def test_the_table_lists_tests_once_and_what_has_none_at_the_end():
    tests = [MarkedTest("t.py::test_a[1]", ("F001",)), MarkedTest("t.py::test_a[2]", ("F001",))]
    lines = lines_of(rows_of([TWO, ONE], tests, {}))
    assert [line.split()[0] for line in lines if line] == ["id", "F001", "t.py::test_a", "no", "F002", "1"]
    assert lines[2].endswith("t.py::test_a x2")


SUITE = """
import pytest

@pytest.mark.failure("F001")
def test_good(): pass

@pytest.mark.failure("F002")
@pytest.mark.parametrize("n", [1, 2])
def test_bad(n): assert n == 1

@pytest.mark.failure("F005")
def test_skipped(): pytest.skip("not here")

@pytest.mark.failure("F006")
def test_torn_down(request): request.addfinalizer(lambda: 1 / 0)

def test_unmarked(): pass
"""
OUTCOMES = {
    "test_other.py::test_good": "passed",
    "test_other.py::test_bad[1]": "passed",
    "test_other.py::test_bad[2]": "failed",
    "test_other.py::test_skipped": "skipped",
    "test_other.py::test_torn_down": "failed",
}


def run_suite(folder, *arguments):
    """Run a suite of its own under the plugin and return what the cache then holds: {nodeid: outcome}."""
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = failure(id)\n")
    (folder / "test_other.py").write_text(SUITE)
    plugins = ("-p", "tests.failures.plugin", "-p", "no:django", "-p", "no:randomly")
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugins, *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        check=False,
    )
    kept = folder / ".pytest_cache" / "v" / CACHE_KEY
    return {name: entry["outcome"] for name, entry in json.loads(kept.read_text()).items()}


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_run_keeps_the_outcome_of_every_marked_test(tmp_path, workers):
    assert run_suite(tmp_path, "-n", workers) == OUTCOMES


def test_what_did_not_run_keeps_its_earlier_outcome(tmp_path):
    run_suite(tmp_path)
    assert run_suite(tmp_path, "-k", "test_good") == OUTCOMES
