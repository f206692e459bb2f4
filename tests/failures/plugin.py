"""Keeps the last outcome of every test that bears a failure id, for ``make failures``.

The outcomes stand in pytest's own cache. Tests that did not run keep what they had; ``-p no:cacheprovider`` keeps
nothing. With xdist the reports of all workers pass through the controller, and it alone writes.
"""

from datetime import UTC, datetime
from typing import Any, Final

import pytest

from tests.failures.catalogue import BY_ID
from tests.failures.marks import CACHE_KEY, failure_ids, malformed_marks

_PROPERTY: Final = "failure_ids"
MALFORMED: Final = pytest.StashKey[list[str]]()


class _Outcomes:
    """What became of the marked tests of this run."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._seen: dict[str, dict[str, str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if _PROPERTY not in dict(report.user_properties):
            return
        before = self._seen.get(report.nodeid, {}).get("outcome", "")
        outcome = _worse(before, report.outcome)
        self._seen[report.nodeid] = {"outcome": outcome, "at": datetime.now(UTC).isoformat("T", "seconds")}

    def pytest_sessionfinish(self) -> None:
        if self._seen:
            kept: Any = self._config.cache.get(CACHE_KEY, {})
            self._config.cache.set(CACHE_KEY, (kept if isinstance(kept, dict) else {}) | self._seen)


def _worse(one: str, other: str) -> str:
    """Return what a test is whose phases ended so: a failed teardown fails it, a skip outlives its teardown."""
    return max(one, other, key=("", "passed", "skipped", "failed").index)


def pytest_configure(config: pytest.Config) -> None:
    """Watch the reports, once, where they all arrive."""
    if not hasattr(config, "workerinput") and getattr(config, "cache", None) is not None:
        config.pluginmanager.register(_Outcomes(config), "failure-outcomes")


@pytest.hookimpl(tryfirst=True)  # before any are deselected
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let the ids travel with the reports, and keep what is wrong with marks for the test that looks at them."""
    known = frozenset(BY_ID)
    config.stash[MALFORMED] = [line for item in items for line in malformed_marks(item, known)]
    for item in items:
        if ids := failure_ids(item):
            item.user_properties.append((_PROPERTY, " ".join(ids)))
