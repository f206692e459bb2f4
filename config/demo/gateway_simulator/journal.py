"""The request log: every API request as it arrived, and what became of it."""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from config.demo.gateway_simulator.book import Book
from config.demo.gateway_simulator.messages import Answer, Request

_FILTERS = ("method", "path", "idempotency_key")


class Journal:
    """Entries are written when a request has arrived and completed when it is answered or dropped."""

    def __init__(self, book: Book) -> None:
        self._book = book

    def arrived(self, request: Request, request_id: str) -> int:
        """Write the entry and return its number."""
        headers = dict(request.headers)
        if "authorization" in headers:  # keys do not belong in logs, not even test keys
            headers["authorization"] = "redacted"
        entry = {
            "at": _now(),
            "request_id": request_id,
            "method": request.method,
            "path": request.path,
            "query": request.query,
            "account": request.account,
            "idempotency_key": request.headers.get("idempotency-key"),
            "headers": headers,
            "body": request.body.decode("utf-8", errors="replace"),
            "body_sha256": hashlib.sha256(request.body).hexdigest(),
            "status": None,
            "replayed": False,
            "outcome": "executing",
        }
        return self._book.insert("request_log", {"entry": entry})

    def answered(self, number: int, answer: Answer) -> None:
        """Complete the entry with the answer that is about to be sent."""
        replayed = "Idempotent-Replayed" in answer.headers
        self._complete(number, {"status": answer.status, "replayed": replayed, "outcome": "answered"})

    def dropped(self, number: int) -> None:
        """Complete the entry of a request whose connection was closed without an answer."""
        self._complete(number, {"outcome": "dropped"})

    def entries(self, query: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
        """Return the entries, oldest first; those alone that have the method, path or key of ``query``."""
        rows = self._book.rows("SELECT number, entry FROM request_log ORDER BY number")
        entries = [{"number": row["number"], **row["entry"]} for row in rows]
        wanted = {name: value for name, value in (query or {}).items() if name in _FILTERS}
        return [one for one in entries if all(one[name] == value for name, value in wanted.items())]

    def _complete(self, number: int, changes: dict[str, Any]) -> None:
        with self._book.transaction():
            row = self._book.row("SELECT entry FROM request_log WHERE number = ?", number)
            if row is None:  # the book was emptied meanwhile
                return
            entry = row["entry"] | changes | {"ended_at": _now()}
            self._book.execute("UPDATE request_log SET entry = ? WHERE number = ?", json.dumps(entry), number)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
