"""Settings that every test run needs; services come from DATABASE_URL and REDIS_URL (make test starts them)."""

import pytest

from ledger import tracing
from refunds.evidence.policy import policy_of

pytest_plugins = ["tests.failures.plugin"]


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
