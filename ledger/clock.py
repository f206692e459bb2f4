"""The one place that reads the wall clock; everything below it takes ``now`` as an argument."""

from datetime import UTC, datetime


def now_utc() -> datetime:
    """Return the current time, aware, in UTC."""
    return datetime.now(UTC)
