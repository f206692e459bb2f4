"""The provider's book: charges, refunds, kept answers and the request log, in one SQLite file.

One connection behind one lock: whatever is decided inside ``transaction()`` is decided on what is booked, and
it is on disk (synchronous FULL) before anything is answered. A killed process loses nothing it had answered.
"""

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_SCHEMA = """
CREATE TABLE IF NOT EXISTS charges (
    account TEXT NOT NULL,
    id TEXT NOT NULL,
    payment_intent TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount > 0),
    currency TEXT NOT NULL,
    captured INTEGER NOT NULL,
    disputed INTEGER NOT NULL,
    payment_method_fingerprint TEXT,
    metadata TEXT NOT NULL,
    created INTEGER NOT NULL,
    PRIMARY KEY (account, id),
    UNIQUE (account, payment_intent)
);
CREATE TABLE IF NOT EXISTS refunds (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    account TEXT NOT NULL,
    id TEXT NOT NULL UNIQUE,
    charge TEXT NOT NULL,
    payment_intent TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount > 0),
    currency TEXT NOT NULL,
    reason TEXT,
    status TEXT NOT NULL,
    failure_reason TEXT,
    metadata TEXT NOT NULL,
    balance_transaction TEXT NOT NULL,
    created INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS refunds_by_charge ON refunds (account, charge);
CREATE TABLE IF NOT EXISTS kept_answers (
    account TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    parameters TEXT NOT NULL,
    status INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (account, idempotency_key)
);
CREATE TABLE IF NOT EXISTS request_log (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    entry TEXT NOT NULL
);
"""

Row = dict[str, Any]


class Book:
    """Rows in, rows out; the rules are in the modules that use it."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.row_factory = sqlite3.Row
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")
        self._connection.executescript(_SCHEMA)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside is booked together or not at all, one transaction at a time."""
        with self._lock:
            if self._connection.in_transaction:  # nested: the outermost commits
                yield
                return
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def rows(self, sql: str, *values: object) -> list[Row]:
        """Return every row of a query."""
        with self._lock:
            return [_row(row) for row in self._connection.execute(sql, values)]

    def row(self, sql: str, *values: object) -> Row | None:
        """Return the first row of a query, if there is one."""
        return next(iter(self.rows(sql, *values)), None)

    def insert(self, table: str, row: Row) -> int:
        """Insert a row (dicts become JSON text) and return its number."""
        columns, marks = ", ".join(row), ", ".join("?" * len(row))
        values = [json.dumps(value) if isinstance(value, dict) else value for value in row.values()]
        with self.transaction():
            # The names come from this package's own literals; values are bound.
            cursor = self._connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", values)  # noqa: S608
            return int(cursor.lastrowid or 0)

    def execute(self, sql: str, *values: object) -> int:
        """Run one statement and return how many rows it touched."""
        with self.transaction():
            return self._connection.execute(sql, values).rowcount

    def wipe(self) -> None:
        """Empty the book."""
        with self.transaction():
            for table in ("charges", "refunds", "kept_answers", "request_log"):
                self._connection.execute(f"DELETE FROM {table}")  # noqa: S608 - literals above

    def close(self) -> None:
        """Close the file; the write-ahead log is folded into it."""
        with self._lock:
            self._connection.close()


def _row(row: sqlite3.Row) -> Row:
    values: Row = dict(row)
    for name in ("metadata", "entry"):
        if name in values:
            values[name] = json.loads(values[name])
    return values
