"""When a message is tried again (stage 13): eight attempts in all, over about a day. Pure.

The waits grow threefold and are drawn with full jitter: any length between nothing and the ceiling is as likely,
so the sum is about 24 hours on average and 49 at most.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

MAX_ATTEMPTS: Final = 8
FIRST_CEILING: Final = timedelta(seconds=160)
GROWTH: Final = 3

Jitter = Callable[[float], float]


def ceiling(attempts_made: int) -> timedelta:
    """Return the longest wait after this many attempts (at least one)."""
    return FIRST_CEILING * int(GROWTH ** (attempts_made - 1))


def next_attempt_at(*, attempts_made: int, now: datetime, jitter: Jitter) -> datetime | None:
    """Return when the next attempt is due, or None when this was the last one.

    ``jitter(seconds)`` returns a number of seconds from 0 to its argument.
    """
    if attempts_made >= MAX_ATTEMPTS:
        return None
    return now + timedelta(seconds=jitter(ceiling(attempts_made).total_seconds()))
