"""The database backend that the settings name; everything but the way to a new connection is Django's own.

psycopg's pool checks a connection before it hands it out, and waits a second and more between two broken ones. After
a restart of the server every idle connection is broken, so that the wait for a good one would outlast its time.
"""

from typing import Any

from django.db.backends.postgresql import base
from psycopg_pool import PoolTimeout


class DatabaseWrapper(base.DatabaseWrapper):
    """Throws all idle connections away once some of them were found broken, and asks again."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Return a connection that works. A server that is away costs one wait, or two right after it went."""
        found_broken = self._broken()
        try:
            return super().get_new_connection(conn_params)
        except PoolTimeout:
            if self._broken() == found_broken:
                raise
        if self.pool is not None:
            self.pool.drain()
        return super().get_new_connection(conn_params)

    def _broken(self) -> int:
        """Return how many connections of this process were ever found broken."""
        return int(self.pool.get_stats().get("connections_lost", 0)) if self.pool is not None else 0
