"""Which SQL statements one process sends, in order, and which of the product's functions sends each.

``BEGIN`` and ``COMMIT`` are among them, as PostgreSQL counts them. What the driver says on a connection that it opens
is not seen from here; the server's own count beside it shows whether that matters.
"""

import re
import traceback
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from django.db import connection

ROOT: Final = Path(__file__).resolve().parents[3]
OURS: Final = ("refunds", "approvals", "notifications", "policies", "ledger", "config")
_MARKERS: Final = {"BEGIN", "COMMIT", "ROLLBACK"}
_WRITES: Final = frozenset({"INSERT", "UPDATE", "DELETE"})
_WRITING_PARTS: Final = (" FOR NO KEY UPDATE", " FOR UPDATE", "(INSERT INTO ", "(UPDATE ")  # locks, and CTEs
_TABLE: Final = re.compile(r'(?:INTO|UPDATE|FROM) "?(\w+)"?')


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement and where it came from, innermost function of the product last."""

    sql: str
    caller: tuple[str, ...]

    @property
    def where(self) -> str:
        """Return the three innermost functions of the product, innermost first."""
        return " < ".join(name.rpartition("/")[2] for name in reversed(self.caller[-3:]))

    @property
    def kind(self) -> str:
        """Return the first word with its main table."""
        word = self.sql.split(maxsplit=1)[0].upper()
        table = _TABLE.search(self.sql)
        lock = " FOR UPDATE" if "FOR NO KEY UPDATE" in self.sql or "FOR UPDATE" in self.sql else ""
        return f"{word} {table.group(1)}{lock}" if table and word not in _MARKERS else self.sql[:60]


class _Recorder(deque[dict[str, Any]]):
    """Stands where Django keeps its log of queries; every statement is appended when it has run."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Statement] = []

    def append(self, entry: dict[str, Any], /) -> None:
        """Keep the statement with its callers."""
        frames = traceback.extract_stack(limit=60)
        ours = [frame for frame in frames if _is_ours(frame.filename)]
        names = tuple(f"{Path(f.filename).relative_to(ROOT)}:{f.lineno} {f.name}" for f in ours)
        self.found.append(Statement(str(entry["sql"] or ""), names))

    def clear(self) -> None:
        """Keep what was recorded: Django forgets its log at the start of each request."""


@contextmanager
def recording() -> Iterator[list[Statement]]:
    """Yield a list that fills with every statement of this thread's connection."""
    recorder = _Recorder()
    kept, forced = connection.queries_log, connection.force_debug_cursor
    connection.queries_log, connection.force_debug_cursor = recorder, True
    try:
        yield recorder.found
    finally:
        connection.queries_log, connection.force_debug_cursor = kept, forced


def commits_of(statements: list[str]) -> int:
    """Return how many transactions wrote or locked a row: those leave a commit record."""
    commits, inside, wrote = 0, False, False
    for sql in statements:
        word = sql.split(maxsplit=1)[0].upper().rstrip(";")
        if word == "BEGIN":
            inside, wrote = True, False
        elif word == "COMMIT":
            commits, inside = commits + wrote, False
        else:
            writes = word in _WRITES or any(part in sql for part in _WRITING_PARTS)
            wrote = wrote or (inside and writes)
            commits += writes and not inside
    return commits


def _is_ours(filename: str) -> bool:
    path = Path(filename)
    if not path.is_relative_to(ROOT):
        return False
    parts = path.relative_to(ROOT).parts
    return parts[0] in OURS and "bench" not in parts
