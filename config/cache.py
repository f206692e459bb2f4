"""The cache: Redis while it answers, and an empty cache while it does not.

Only rate limits and other things that may be forgotten are kept here, so a Redis that is down costs their memory and
never a page. One that hangs is asked once, and then left alone for a few seconds.
"""

import time
from collections.abc import Callable
from typing import Any, Final

import structlog
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

logger = structlog.get_logger("cache")
PAUSE_SECONDS: Final = 3.0


class Pause:
    """How long a server that failed is left alone: ``seconds`` by ``clock`` (monotonic, in seconds)."""

    def __init__(
        self, *, seconds: float = PAUSE_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds, self._clock, self._ends_at = seconds, clock, float("-inf")

    def begin(self) -> None:
        """Leave the server alone from now on."""
        self._ends_at = self._clock() + self._seconds

    @property
    def lasts(self) -> bool:
        """Whether the server is still left alone."""
        return self._clock() < self._ends_at


# Django makes one cache object for every thread; what one thread learns about a server holds for the whole process.
_pauses: dict[str, Pause] = {}


class FailOpenRedisCache(RedisCache):
    """Redis, where every failure of the server reads as "not there" and writes nothing."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self.pause = _pauses.setdefault(server, Pause())

    def add(self, *args: Any, **kwargs: Any) -> bool:
        """Store a value that is not there yet; True as well when nothing could be stored."""
        return bool(self._or(default=True, call=super().add, args=args, kwargs=kwargs))

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        """Return the value, or ``default``."""
        return self._or(default=default, call=super().get, args=(key, default, version), kwargs={})

    def set(self, *args: Any, **kwargs: Any) -> None:
        """Store a value if Redis answers."""
        self._or(default=None, call=super().set, args=args, kwargs=kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> bool:
        """Forget a value if Redis answers."""
        return bool(self._or(default=False, call=super().delete, args=args, kwargs=kwargs))

    def touch(self, *args: Any, **kwargs: Any) -> bool:
        """Keep a value longer if Redis answers."""
        return bool(self._or(default=False, call=super().touch, args=args, kwargs=kwargs))

    def incr(self, key: Any, delta: int = 1, version: int | None = None) -> int:
        """Count up; a counter that cannot be reached stays at ``delta``."""
        return int(self._or(default=delta, call=super().incr, args=(key, delta, version), kwargs={}))

    def _or(self, *, default: Any, call: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.pause.lasts:
            return default
        try:
            return call(*args, **kwargs)
        except RedisError as error:
            self.pause.begin()
            logger.warning("cache.unreachable", error=type(error).__name__)
            return default
