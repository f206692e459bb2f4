"""The provider's book: charges, refunds, kept answers, events and the request log, in one SQLite file.

One connection behind one lock: whatever is decided inside ``transaction()`` is decided on what is booked, and
it is on disk (synchronous FULL) before anything is answered. Not even a power cut loses what was answered.
With ``synced`` false a killed process still loses nothing; a power cut may. The provider's clock and the settings of
what it does not document belong to the book: they outlast a restart, and an emptied book starts with new ones.
"""

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from config.demo.gateway_simulator.clock import Clock
from config.demo.gateway_simulator.schema import ADDED, JSON_COLUMNS, SCHEMA, TABLES
from config.demo.gateway_simulator.undocumented import Undocumented

Row = dict[str, Any]


class Book:
    """Rows in, rows out; the rules are in the modules that use it."""

    def __init__(self, path: Path, *, synced: bool = True, clock: Clock | None = None) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.row_factory = sqlite3.Row
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute(f"PRAGMA synchronous={'FULL' if synced else 'OFF'}")
        self._connection.executescript(SCHEMA)
        self._upgrade()
        self.clock = clock or Clock()
        self.clock.set_ahead(float(self._remembered("ahead_seconds") or 0.0))
        self.settings = Undocumented(**(self._remembered("settings") or {}))

    def now(self) -> float:
        """Return the provider's time."""
        return self.clock.now()

    def advance(self, seconds: float) -> None:
        """Move the provider's clock forward, for good."""
        with self.transaction():
            ahead = self.clock.ahead_seconds + seconds
            self._remember("ahead_seconds", ahead)
        self.clock.set_ahead(ahead)

    def set_undocumented(self, settings: Undocumented) -> None:
        """Make the settings, for good."""
        self._remember("settings", settings.as_json())
        self.settings = settings

    def _remember(self, name: str, value: Any) -> None:
        self.execute("INSERT OR REPLACE INTO world (name, value) VALUES (?, ?)", name, json.dumps(value))

    def _remembered(self, name: str) -> Any:
        row = self.row("SELECT value FROM world WHERE name = ?", name)
        return None if row is None else json.loads(row["value"])

    def _upgrade(self) -> None:
        for table, column, kind in ADDED:
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
        """Empty the book; the clock is the machine's again, and every setting the first one."""
        with self.transaction():
            for table in TABLES:
                self._connection.execute(f"DELETE FROM {table}")  # noqa: S608 - literals of the schema
        self.clock.restart()
        self.settings = Undocumented()

    def close(self) -> None:
        """Close the file; the write-ahead log is folded into it."""
        with self._lock:
            self._connection.close()


def _row(row: sqlite3.Row) -> Row:
    values: Row = dict(row)
    for name in JSON_COLUMNS:
        if isinstance(values.get(name), str):
            values[name] = json.loads(values[name])
    return values
