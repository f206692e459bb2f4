"""The cache: Redis while it answers, and an empty cache while it does not.

Only rate limits and other things that may be forgotten are kept here, so a Redis that is down costs their memory and
never a page.
"""

from typing import Any

import structlog
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

logger = structlog.get_logger("cache")


class FailOpenRedisCache(RedisCache):
    """Redis, where every failure of the server reads as "not there" and writes nothing."""

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
        try:
            return call(*args, **kwargs)
        except RedisError as error:
            logger.warning("cache.unreachable", error=type(error).__name__)
            return default
