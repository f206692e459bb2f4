"""Settings that every test run needs; services come from DATABASE_URL and REDIS_URL (make test starts them)."""

import pytest

from ledger import tracing
from refunds.evidence.policy import policy_of
from refunds.selectors.model_qualifications import forget_qualifications

pytest_plugins = ["tests.failures.plugin"]


@pytest.fixture(autouse=True)
def _no_leaking_trace():
    """Begin every test outside any trace."""
    token = tracing._current.set("")
    yield
    tracing._current.reset(token)


@pytest.fixture(autouse=True)
def _nothing_remembered():
    """Begin every test without what a process remembers of rows: in production they never go, in tests they do."""
    policy_of.cache_clear()
    forget_qualifications()
