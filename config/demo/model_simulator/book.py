"""What the simulator remembers across restarts: armed faults and the request log, in one SQLite file."""

import json
import sqlite3
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_TABLES = """
CREATE TABLE IF NOT EXISTS faults (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    fault TEXT NOT NULL,
    remaining INTEGER CHECK (remaining > 0)
);
CREATE TABLE IF NOT EXISTS request_log (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    entry TEXT NOT NULL
);
"""


class Book:
    """One connection behind one lock; every change is committed before anything is answered."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.executescript(_TABLES)

    def arm(self, fault: dict[str, Any], *, remaining: int | None) -> None:
        """Add a fault for so many requests, or for all that follow."""
        self._run("INSERT INTO faults (fault, remaining) VALUES (?, ?)", json.dumps(fault), remaining)

    def take_fault(self, question: str) -> dict[str, Any] | None:
        """Return the oldest armed fault that happens to this question and count it down; None if there is none."""
        with self._lock, self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            row = self._connection.execute(
                "SELECT number, fault, remaining FROM faults"
                " WHERE coalesce(json_extract(fault, '$.question'), ?1) = ?1 ORDER BY number LIMIT 1",
                (question,),
            ).fetchone()
            if row is None:
                return None
            number, fault, remaining = row
            if remaining == 1:
                self._connection.execute("DELETE FROM faults WHERE number = ?", (number,))
            elif remaining is not None:
                self._connection.execute(
                    "UPDATE faults SET remaining = remaining - 1 WHERE number = ?", (number,)
                )
        taken: dict[str, Any] = json.loads(fault)
        return taken

    def faults(self) -> list[dict[str, Any]]:
        """Return what is armed, the next one first."""
        rows = self._run("SELECT fault, remaining FROM faults ORDER BY number")
        return [{**json.loads(fault), "count": remaining} for fault, remaining in rows]

    def disarm(self) -> None:
        """Remove every fault."""
        self._run("DELETE FROM faults")

    def log_arrival(self, entry: dict[str, Any]) -> int:
        """Write a request down before it is answered, and return its number."""
        text = json.dumps({"at": _now(), **entry, "fault": None, "status": None})
        with self._lock:
            return int(
                self._connection.execute("INSERT INTO request_log (entry) VALUES (?)", (text,)).lastrowid or 0
            )

    def log_answer(self, number: int, *, fault: str | None, status: int | None) -> None:
        """Complete an entry; the status is None when the connection was closed without an answer."""
        self._run(
            "UPDATE request_log SET entry = json_set(entry, '$.fault', ?, '$.status', ?, '$.ended_at', ?)"
            " WHERE number = ?",
            fault,
            status,
            _now(),
            number,
        )

    def log(self) -> list[dict[str, Any]]:
        """Return every request, oldest first."""
        rows = self._run("SELECT number, entry FROM request_log ORDER BY number")
        return [{"number": number, **json.loads(entry)} for number, entry in rows]

    def wipe(self) -> None:
        """Forget everything."""
        self._run("DELETE FROM faults")
        self._run("DELETE FROM request_log")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def _run(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._connection.execute(sql, values).fetchall()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
