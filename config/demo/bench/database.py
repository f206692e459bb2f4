"""What PostgreSQL itself counted: commit records and bytes in its log, and statements of the product's role.

``pg_stat_statements`` also counts what deferred constraints run at COMMIT (foreign keys, and the triggers that ask
for the event of a state). Nobody sends those and they are no round trip, so they are a number of their own here.
"""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg

SETTINGS: Final = {
    "shared_preload_libraries": "pg_stat_statements",
    "pg_stat_statements.max": "5000",
    "shared_buffers": "1GB",
    "max_wal_size": "16GB",
    "min_wal_size": "1GB",
    "checkpoint_timeout": "1h",
    "wal_compression": "off",
}
WATCHER: Final = "bench_watcher"  # a role of its own, so that looking is not counted
_FOREIGN_KEY: Final = re.compile(r"^SELECT \S+ FROM ONLY .* FOR KEY SHARE OF x$", re.DOTALL)
# How a trigger freezes a payment that facts overdraw (refunds.models.conservation); Django would quote the names.
_FREEZE: Final = re.compile(r"^UPDATE ledger_payments SET frozen_at = now\(\)")
# Any other first word is an expression of PL/pgSQL.
_VERBS: Final = frozenset(
    (
        *("SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "WITH", "VALUES", "TABLE", "COPY", "LOCK"),
        *(
            "BEGIN",
            "START",
            "COMMIT",
            "END",
            "ROLLBACK",
            "ABORT",
            "SAVEPOINT",
            "RELEASE",
            "SET",
            "RESET",
            "SHOW",
        ),
        *("DECLARE", "FETCH", "CLOSE", "LISTEN", "NOTIFY", "DISCARD", "ANALYZE", "CREATE", "ALTER", "DROP"),
    )
)
_COMMITS: Final = re.compile(r"Transaction/COMMIT\s+(\d+)")
_TOTAL: Final = re.compile(r"^Total\s+\d+\s+(\d+)\s+\[[^]]*\]\s+(\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Statements:
    """Calls since the last reset: ``sent`` by the product, ``at_commit`` by deferred constraints."""

    sent: int
    at_commit: int


@dataclass(frozen=True, slots=True)
class Wal:
    """A stretch of the log: commit records (a transaction that only read leaves none), bytes, page images."""

    commits: int
    size: int
    page_images: int


def is_at_commit(query: str) -> bool:
    """Say whether a normalised statement was run by a deferred constraint and sent by nobody."""
    text = query.strip()
    if _FOREIGN_KEY.match(text) or _FREEZE.match(text):
        return True
    return text.split(maxsplit=1)[0].rstrip(";").upper() not in _VERBS


def read_dump(text: str, *, size: int) -> Wal:
    """Return the counts in the output of ``pg_waldump --stats=record`` over ``size`` bytes."""
    total = _TOTAL.search(text)
    commits = sum(int(count) for count in _COMMITS.findall(text))
    return Wal(commits, size, int(total.group(2)) if total else 0)


class Counters:
    """A superuser's connection to another database of the same server, so that it counts nothing of its own."""

    def __init__(self, url: str, *, data: Path, programs: Path) -> None:
        """``url`` names the product's database; ``data`` and ``programs`` are the server's folders."""
        self._data, self._programs = data, programs
        parts = psycopg.conninfo.conninfo_to_dict(url)
        self._database, self._user = str(parts["dbname"]), str(parts["user"])
        self._connection = psycopg.connect(url, dbname="postgres", autocommit=True)
        with psycopg.connect(url, autocommit=True) as product:
            product.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
        self._connection.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")

    def add_watcher(self, url: str) -> str:
        """Create the role that looks for ends and may read everything; return its URL."""
        password = str(psycopg.conninfo.conninfo_to_dict(url)["password"])
        self._connection.execute(
            psycopg.sql.SQL("CREATE ROLE {} LOGIN PASSWORD {} IN ROLE pg_read_all_data").format(
                psycopg.sql.Identifier(WATCHER), psycopg.sql.Literal(password)
            )
        )
        return psycopg.conninfo.make_conninfo(url, user=WATCHER)

    def reset_statements(self) -> None:
        """Begin to count statements at nothing."""
        self._connection.execute("SELECT pg_stat_statements_reset()")

    def statements(self) -> Statements:
        """Return what the product's role has called in its database since the reset."""
        rows = self._connection.execute(
            "SELECT s.query, s.calls FROM pg_stat_statements s"
            " JOIN pg_database d ON d.oid = s.dbid JOIN pg_roles r ON r.oid = s.userid"
            " WHERE d.datname = %s AND r.rolname = %s AND s.toplevel",
            [self._database, self._user],
        ).fetchall()
        at_commit = sum(calls for query, calls in rows if is_at_commit(query))
        return Statements(sum(calls for _, calls in rows) - at_commit, at_commit)

    def position(self) -> str:
        """Return how far the log is on disk."""
        return str(self._one("SELECT pg_current_wal_flush_lsn()"))

    def wal(self, start: str, end: str) -> Wal:
        """Return what stands in the log between two positions."""
        size = int(str(self._one("SELECT %s::pg_lsn - %s::pg_lsn", end, start)))
        program = str(self._programs / "bin" / "pg_waldump")
        words = [program, "-p", str(self._data / "pg_wal"), "-s", start, "-e", end, "--stats=record"]
        done = subprocess.run(words, capture_output=True, text=True, check=False, start_new_session=True)
        if size and not _TOTAL.search(done.stdout):
            raise RuntimeError(f"pg_waldump counted nothing: {done.stderr.strip()}")
        return read_dump(done.stdout, size=size)

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def _one(self, statement: str, *values: str) -> object:
        row = self._connection.execute(statement.encode(), values or None).fetchone()
        return row[0] if row else None
