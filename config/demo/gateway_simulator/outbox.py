"""Events that wait for their delivery, in the book: written in the transaction of the change that they tell.

A delivery is ``waiting`` until ``due_at``, ``held`` until it is released, ``delivered`` after an answer of 2xx,
``failed`` after the last attempt, or ``lost`` (never sent). Event ids stay, signatures are new at each attempt.
"""

import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from config.demo.gateway_simulator.book import Book, Row
from config.demo.gateway_simulator.endpoints import API_VERSION, Endpoint, Endpoints
from config.demo.gateway_simulator.knobs import Knob, Knobs
from config.demo.gateway_simulator.messages import new_id

_EARLY_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event before it has an id. ``about`` are the ids by which knobs and releases find it."""

    type: str
    object: Mapping[str, Any]
    account: str = ""
    previous_attributes: Mapping[str, Any] | None = None
    request_id: str | None = None
    idempotency_key: str | None = None
    about: list[str] = field(default_factory=list)


class Outbox:
    """Writes deliveries, lists them, and lets held ones go."""

    def __init__(self, *, book: Book, endpoints: Endpoints) -> None:
        self._book = book
        self._endpoints = endpoints
        self.knobs = Knobs()
        self.wake = threading.Event()  # for the thread that delivers
        self._attempted = threading.Condition()

    def add(self, events: Sequence[Event]) -> list[int]:
        """Write the deliveries of one change; return those that must leave before its answer.

        Must run inside ``book.transaction()``; the caller sets ``wake`` after it.
        """
        planned = [planned for event in events for planned in self._planned(event)]
        if any(knob.reordered for knob, _ in planned):
            planned.reverse()
        now = self._book.now()
        for place, (knob, row) in enumerate(planned):
            row["due_at"] = row["first_due_at"] = _in_turn(now + knob.seconds, place)
        numbers = [self._book.insert("deliveries", row) for _, row in planned]
        return [number for number, (knob, _) in zip(numbers, planned, strict=True) if knob.early]

    def wait_until_tried(self, numbers: list[int]) -> None:
        """Return once each of these was tried (or cannot be), at most after some seconds."""
        if not numbers:
            return
        deadline = time.monotonic() + _EARLY_SECONDS
        with self._attempted:
            while any(self._untried(number) for number in numbers):
                if not self._attempted.wait(deadline - time.monotonic()):
                    return

    def now(self) -> float:
        """Return the provider's time."""
        return self._book.now()

    def due(self) -> Row | None:
        """Return the delivery whose turn it is."""
        return self._book.row(
            "SELECT * FROM deliveries WHERE state = 'waiting' AND due_at <= ? ORDER BY due_at, number LIMIT 1",
            self._book.now(),
        )

    def next_due_at(self) -> float | None:
        """Return when the next delivery is due (seconds since 1970), None if none waits."""
        row = self._book.row("SELECT min(due_at) AS due_at FROM deliveries WHERE state = 'waiting'")
        return row["due_at"] if row else None

    def record(self, delivery: Row, *, status: int | None, error: str | None) -> None:
        """Write one attempt down, and when the next one is due."""
        now = self._book.now()
        attempts = [*delivery["attempts"], {"at": now, "status": status, "error": error}]
        delivered = status is not None and 200 <= status <= 299  # noqa: PLR2004 - anything else failed (facts 4.2)
        first_due_at = delivery["first_due_at"] or delivery["due_at"]
        due_at = self._endpoints.patience.next_attempt(len(attempts), now=now, first_due_at=first_due_at)
        state = "delivered" if delivered else "failed" if due_at is None else "waiting"
        self._book.execute(
            "UPDATE deliveries SET attempts = ?, state = ?, due_at = ? WHERE number = ?",
            json.dumps(attempts),
            state,
            now if due_at is None else due_at,
            delivery["number"],
        )
        with self._attempted:
            self._attempted.notify_all()

    def release(self, chosen: Sequence[Row]) -> int:
        """Let these held deliveries go, in this order, and return how many."""
        now = self._book.now()
        with self._book.transaction():
            for place, row in enumerate(chosen):
                self._book.execute(
                    "UPDATE deliveries SET state = 'waiting', due_at = ?, first_due_at = ? WHERE number = ?",
                    _in_turn(now, place),
                    now,
                    row["number"],
                )
        self.wake.set()
        return len(chosen)

    def resend(self, event: str, copies: int) -> int:
        """Send an event again (facts 4.2, manual resend) and return how many deliveries that are."""
        rows = self._book.rows("SELECT * FROM deliveries WHERE event = ? GROUP BY url", event)
        with self._book.transaction():
            for row in rows * copies:
                again = {key: value for key, value in row.items() if key != "number"}
                now = self._book.now()
                due = {"due_at": now, "first_due_at": now}
                self._book.insert("deliveries", again | due | {"state": "waiting", "attempts": []})
        self.wake.set()
        return len(rows) * copies

    def deliveries(self, *, state: str | None = None) -> list[Row]:
        """Return every delivery, oldest first, in all states or one."""
        rows = self._book.rows("SELECT * FROM deliveries ORDER BY number")
        return [row for row in rows if state in (None, row["state"])]

    def undelivered(self) -> set[str]:
        """Return the events with a delivery that failed (docs.stripe.com/webhooks/process-undelivered-events)."""
        rows = self._book.rows("SELECT DISTINCT event FROM deliveries WHERE state <> 'delivered'")
        return {row["event"] for row in rows}

    def _planned(self, event: Event) -> list[tuple[Knob, Row]]:
        """Write an event and return its deliveries, with the knob that bends them; a knob waits until one is due."""
        endpoints = [endpoint for endpoint in self._endpoints.all() if endpoint.takes(event.type)]
        knob = self.knobs.take(event.type, event.about, may_be_sent=bool(endpoints))
        if knob.ungenerated:
            return []
        planned = []
        for _ in range(2 if knob.twin else 1):
            body = _body(event, knob, int(self._book.now()))
            self._remember(body, event.account)
            for endpoint in endpoints:
                # Its version, not the request's, shapes what an endpoint is sent (facts 4.1).
                shaped = body | {"api_version": endpoint.api_version}
                planned += [(knob, _row(event, knob, endpoint, shaped)) for _ in range(knob.copies)]
        return planned

    def _remember(self, body: Row, account: str) -> None:
        """Keep the event for the list of events (docs.stripe.com/api/events; facts 3)."""
        kept = {"id": body["id"], "account": account, "type": body["type"], "at": self._book.now()}
        self._book.insert("events", kept | {"body": json.dumps(body)})

    def _untried(self, number: int) -> bool:
        row = self._book.row("SELECT state, attempts FROM deliveries WHERE number = ?", number)
        return row is not None and row["state"] == "waiting" and not row["attempts"]


def _in_turn(due_at: float, place: int) -> float:
    """Return a time a millionth of a second after the one before: deliveries go in the order of their times."""
    return due_at + place / 1e6


def _row(event: Event, knob: Knob, endpoint: Endpoint, body: Row) -> Row:
    return {
        "event": body["id"],
        "type": event.type,
        "about": event.about,
        "url": endpoint.url,
        "body": json.dumps(body, indent=2),
        "state": "lost" if knob.lost else "held" if knob.held else "waiting",
        "options": {"wrong_secret": knob.wrong_secret, "age": knob.age_seconds, "tampered": knob.tampered},
        "attempts": [],
    }


def _body(event: Event, knob: Knob, created: int) -> dict[str, Any]:
    """Return the envelope (docs.stripe.com/api/events/object). ``account`` is there for connected accounts only."""
    data: dict[str, Any] = {"object": dict(event.object)}
    if event.previous_attributes is not None:
        data["previous_attributes"] = dict(event.previous_attributes)
    account = event.account if knob.account is None else knob.account
    return {
        "id": new_id("evt_3", 23),
        "object": "event",
        **({"account": account} if account else {}),
        "api_version": API_VERSION,
        "created": created,
        "data": data,
        "livemode": knob.livemode,
        "pending_webhooks": 1,
        # Null on automatic changes and on those of the dashboard (facts 2.2, recorded payload).
        "request": {"id": event.request_id, "idempotency_key": event.idempotency_key},
        "type": event.type,
    }
