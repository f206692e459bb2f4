"""python -m tests.failures: which tests drive each public failure, and how those last went.

Ends 1 if any failed when it last ran, 2 if the tests cannot be collected. Needs no services: nothing is run.
"""

import io
import os
import sys
from contextlib import redirect_stdout

import pytest

from config.demo.services.checks import UNUSED_SERVICES
from config.demo.services.command import TEST_ENVIRONMENT
from tests.failures.catalogue import FAILURES
from tests.failures.marks import CACHE_KEY, failure_ids
from tests.failures.report import MarkedTest, lines_of, rows_of


class _Collected:
    """Takes what pytest found and what its cache knows."""

    def __init__(self) -> None:
        self.tests: list[MarkedTest] = []
        self.outcomes: dict[str, dict[str, str]] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        found = (MarkedTest(item.nodeid, failure_ids(item)) for item in session.items)
        self.tests = [test for test in found if test.ids]
        self.outcomes = session.config.cache.get(CACHE_KEY, {})


def main() -> int:
    """Print the table and return the exit code."""
    os.environ.update({**UNUSED_SERVICES, **TEST_ENVIRONMENT})
    collected, said = _Collected(), io.StringIO()
    with redirect_stdout(said):
        code = pytest.main(["--collect-only", "-q", "-p", "no:randomly"], plugins=[collected])
    if code:
        sys.stderr.write(said.getvalue())
        return 2
    rows = rows_of(FAILURES, collected.tests, collected.outcomes)
    print("\n".join(lines_of(rows)))
    return int(any(row.failed for row in rows))


if __name__ == "__main__":
    sys.exit(main())
