"""A session of the database's owner beside the product: it holds rows and tables, and sees who waits for them."""

from collections.abc import Iterable
from typing import Self

import psycopg
from psycopg import sql


class OwnerSession:
    """``hold`` and its like keep what they name until ``let_go``."""

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
        self._lock_rows("ledger_payments", list(payment_ids))

    def hold_workflows(self, workflow_ids: Iterable[str]) -> None:
        """Lock these requests: nothing can move them."""
        self._lock_rows("refund_workflows", list(workflow_ids))

    def hold_writes(self, table: str) -> None:
        """Let a table be read and its rows be locked, and nothing be written to it."""
        self._holder.execute(sql.SQL("LOCK TABLE {} IN SHARE MODE").format(sql.Identifier(table)))

    def let_go(self) -> None:
        """Unlock everything."""
        self._holder.rollback()

    def waiting(self) -> int:
        """Return how many sessions wait for what is held, or for one that waits for it."""
        found = self._watcher.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'"
        ).fetchone()
        assert found is not None
        return int(found[0])

    def _lock_rows(self, table: str, ids: list[int] | list[str]) -> None:
        query = sql.SQL("SELECT id FROM {} WHERE id = ANY(%s) ORDER BY id FOR UPDATE")
        self._holder.execute(query.format(sql.Identifier(table)), [ids])
