"""Settings that every test run needs; services come from DATABASE_URL and REDIS_URL (make test starts them)."""

from pathlib import Path

import pytest

from ledger import tracing
from refunds.evidence.policy import policy_of

pytest_plugins = ["tests.failures.plugin"]
_HERE = Path(__file__).parent
# Each starts the whole product and waits for it more than it works: one after the other, beside a browser.
_DEPLOYED = {"failures", "http", "processes", "recipes"}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Say which of the slow tests may not run beside each other (``--dist loadgroup``): those of one kind."""
    for item in items:
        if item.get_closest_marker("slow"):
            kind = item.path.relative_to(_HERE).parts[0]
            item.add_marker(pytest.mark.xdist_group("deployed" if kind in _DEPLOYED else kind))


@pytest.fixture(autouse=True)
def _no_leaking_trace():
    """Begin every test outside any trace."""
    token = tracing._current.set("")
    yield
    tracing._current.reset(token)


@pytest.fixture(autouse=True)
def _no_remembered_policies():
    """Begin every test without policy versions of another: rows never change in production, but go in tests."""
    policy_of.cache_clear()
