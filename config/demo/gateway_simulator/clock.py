"""The provider's own time: the machine's, and ahead of it by as much as the control side moved it.

The provider's test clocks age billing objects only (docs.stripe.com/billing/testing/test-clocks; facts 5), so keys,
refunds and webhook schedules have this one. Journal entries and signatures keep the machine's time: those are for
whoever reads or receives them now.
"""

import threading
import time
from collections.abc import Callable

_LONGEST_WAIT_SECONDS = 3600.0


class Clock:
    """Seconds since 1970; moves forward until it starts anew. Safe for the threads of a server."""

    def __init__(self, *, ahead_seconds: float = 0.0, machine: Callable[[], float] = time.time) -> None:
        self._machine = machine
        self._moved = threading.Condition()
        self._restarts = 0
        self.ahead_seconds = ahead_seconds

    def now(self) -> float:
        """Return the provider's time."""
        return self._machine() + self.ahead_seconds

    def set_ahead(self, seconds: float) -> None:
        """Be so far ahead of the machine; whoever waits looks at the clock again."""
        with self._moved:
            self.ahead_seconds = seconds
            self._moved.notify_all()

    def restart(self) -> None:
        """Be the machine's time again; whatever was waited for will not come."""
        with self._moved:
            self._restarts += 1
            self.ahead_seconds = 0.0
            self._moved.notify_all()

    def wait(self, seconds: float) -> bool:
        """Return True when so many seconds have passed on this clock, False if it started anew meanwhile."""
        due_at, restarts = self.now() + seconds, self._restarts
        with self._moved:
            while self._restarts == restarts:
                left = due_at - self.now()
                if left <= 0:
                    return True
                self._moved.wait(min(left, _LONGEST_WAIT_SECONDS))
        return False
