"""The shop's clock, which a test may set, and the ages that stand for times in the demo's book."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

_TIMES = frozenset({"placed_at", "created_at", "occurred_at"})
_AGE = re.compile(r"-(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")


class Clock:
    """What time the shop says it is. ``stated`` False: answers do not say when they were read."""

    def __init__(self) -> None:
        self._fixed: datetime | None = None
        self.stated = True

    def set(self, moment: datetime | None, *, stated: bool) -> None:
        """Stop at a moment; None goes with the real time again."""
        self._fixed, self.stated = moment, stated

    def now(self) -> datetime:
        """Return the fixed moment, or the real time."""
        return self._fixed or datetime.now(UTC)


def read_moment(text: str) -> datetime:
    """Return a time with its offset; raises ValueError for anything else."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no UTC offset")
    return moment


def resolve_ages(value: Any, now: datetime) -> Any:
    """Return a document in which ``-1d4h`` became the time 28 hours before ``now``."""
    if isinstance(value, list):
        return [resolve_ages(item, now) for item in value]
    if isinstance(value, dict):
        return {
            name: _moment(item, now) if name in _TIMES else resolve_ages(item, now)
            for name, item in value.items()
        }
    return value


def _moment(text: Any, now: datetime) -> Any:
    parts = _AGE.fullmatch(text) if isinstance(text, str) else None
    if parts is None:
        return text
    days, hours, minutes, seconds = (int(part or 0) for part in parts.groups())
    return (now - timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)).isoformat()
