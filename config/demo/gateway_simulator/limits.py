"""What stops a request before it executes: the rate limiter, and the lock of the object that it is about.

docs.stripe.com/rate-limits; facts 5. A limiter runs before the idempotency layer, so it also stops replays.
"""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from config.demo.gateway_simulator.book import Book
from config.demo.gateway_simulator.messages import ApiError


class Limiter:
    """Counts the requests of the last second, of all accounts together."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._lock = threading.Lock()
        self._arrivals: deque[float] = deque()

    def check(self) -> None:
        """Raise ApiError (429, with the header that only limiters send) if there are too many."""
        limit = self._book.settings.requests_per_second
        if limit is None:
            return
        now = self._book.now()
        with self._lock:
            while self._arrivals and self._arrivals[0] <= now - 1:
                self._arrivals.popleft()
            if len(self._arrivals) < limit:
                self._arrivals.append(now)
                return
        raise ApiError(
            "Too many requests hit the API too quickly.",
            status=429,
            code="rate_limit",
            headers={"Stripe-Rate-Limited-Reason": "global-rate"},
        )


class ObjectLocks:
    """One request at a time for each payment, if the setting says how long others wait."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._free = threading.Condition()
        self._held: set[str] = set()

    @contextmanager
    def held(self, references: frozenset[str]) -> Iterator[None]:
        """Hold the lock; raises ApiError (429 lock_timeout, without a limiter's header) if it is not free."""
        wait = self._book.settings.object_lock_seconds
        if wait is None or not references:
            yield
            return
        with self._free:
            if not self._free.wait_for(lambda: not self._held & references, wait):
                raise _lock_timeout(executed=self._book.settings.keeps_lock_timeouts)
            self._held |= references
        try:
            yield
        finally:
            with self._free:
                self._held -= references
                self._free.notify_all()


def _lock_timeout(*, executed: bool) -> ApiError:
    return ApiError(
        "This object can't be accessed right now because another API request or process is accessing it.",
        status=429,
        code="lock_timeout",
        executed=executed,
    )
