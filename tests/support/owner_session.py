"""A session of the database's owner beside the product: it holds rows, and sees who waits for them."""

from collections.abc import Iterable
from typing import Self

import psycopg


class OwnerSession:
    """``hold`` keeps rows of payments locked until ``let_go``."""

    def __init__(self, url: str) -> None:
        self._holder = psycopg.connect(url)
        self._watcher = psycopg.connect(url, autocommit=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._holder.close()
        self._watcher.close()

    def hold(self, payment_ids: Iterable[int]) -> None:
        """Lock these payments, which every beat of a submission needs first."""
        sql = "SELECT id FROM ledger_payments WHERE id = ANY(%s) ORDER BY id FOR UPDATE"
        self._holder.execute(sql, [list(payment_ids)])

    def let_go(self) -> None:
        """Unlock everything."""
        self._holder.rollback()

    def waiting(self) -> int:
        """Return how many sessions wait for what is held."""
        found = self._watcher.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))",
            [self._holder.info.backend_pid],
        ).fetchone()
        assert found is not None
        return int(found[0])
