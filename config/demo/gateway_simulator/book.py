"""The provider's book: charges, refunds, kept answers and the request log, in one SQLite file.

One connection behind one lock: whatever is decided inside ``transaction()`` is decided on what is booked, and
it is on disk (synchronous FULL) before anything is answered. Not even a power cut loses what was answered.
With ``synced`` false a killed process still loses nothing; a power cut may.
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
CREATE TABLE IF NOT EXISTS settlements (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    refund TEXT NOT NULL,
    status TEXT NOT NULL,
    failure_reason TEXT,
    due_at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS disputes (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    account TEXT NOT NULL,
    id TEXT NOT NULL UNIQUE,
    charge TEXT NOT NULL,
    payment_intent TEXT NOT NULL,
    amount INTEGER NOT NULL,
    currency TEXT NOT NULL,
    reason TEXT NOT NULL,
    status TEXT NOT NULL,
    created INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS deliveries (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    event TEXT NOT NULL,
    type TEXT NOT NULL,
    about TEXT NOT NULL,
    url TEXT NOT NULL,
    body TEXT NOT NULL,
    state TEXT NOT NULL,
    due_at REAL NOT NULL,
    options TEXT NOT NULL,
    attempts TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS deliveries_by_due ON deliveries (due_at) WHERE state = 'waiting';
CREATE TABLE IF NOT EXISTS request_log (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    entry TEXT NOT NULL
);
"""

# Columns that books of an earlier version lack.
_ADDED = (
    ("charges", "payment_method", "TEXT"),
    ("refunds", "failure_balance_transaction", "TEXT"),
)
_TABLES = ("charges", "refunds", "kept_answers", "settlements", "disputes", "deliveries", "request_log")
_JSON = ("metadata", "entry", "about", "options", "attempts")

Row = dict[str, Any]


class Book:
    """Rows in, rows out; the rules are in the modules that use it."""

    def __init__(self, path: Path, *, synced: bool = True) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.row_factory = sqlite3.Row
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute(f"PRAGMA synchronous={'FULL' if synced else 'OFF'}")
        self._connection.executescript(_SCHEMA)
        self._upgrade()

    def _upgrade(self) -> None:
        for table, column, kind in _ADDED:
            known = {row["name"] for row in self.rows(f"PRAGMA table_info({table})")}
            if column not in known:
                self.execute(f"ALTER TABLE {table} ADD COLUMN {column} {kind}")

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
        """Insert a row (dicts and lists become JSON text) and return its number."""
        columns, marks = ", ".join(row), ", ".join("?" * len(row))
        values = [json.dumps(value) if isinstance(value, dict | list) else value for value in row.values()]
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
            for table in _TABLES:
                self._connection.execute(f"DELETE FROM {table}")  # noqa: S608 - literals above

    def close(self) -> None:
        """Close the file; the write-ahead log is folded into it."""
        with self._lock:
            self._connection.close()


def _row(row: sqlite3.Row) -> Row:
    values: Row = dict(row)
    for name in _JSON:
        if name in values:
            values[name] = json.loads(values[name])
    return values
