"""The thread in which time passes: it settles refunds and delivers events, so that no answer waits for either."""

import threading
import traceback

from config.demo.gateway_simulator.book import Book, Row
from config.demo.gateway_simulator.delivery import attempt
from config.demo.gateway_simulator.endpoints import Endpoints
from config.demo.gateway_simulator.events import Events
from config.demo.gateway_simulator.messages import ApiError
from config.demo.gateway_simulator.outbox import Outbox
from config.demo.gateway_simulator.refunds import create_refund

_IDLE_SECONDS = 3600.0
_STOP_SECONDS = 2.0
_TROUBLE_SECONDS = 1.0


class Background:
    """Deliveries go out one after another, in the order in which they are due."""

    def __init__(self, *, book: Book, endpoints: Endpoints, outbox: Outbox, events: Events) -> None:
        self._book = book
        self._endpoints = endpoints
        self._outbox = outbox
        self._events = events
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="background", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the attempt that is under way; one that hangs is left behind and tried again later."""
        self._stopping.set()
        self._outbox.wake.set()
        self._thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._outbox.wake.clear()
            try:
                self._settle()
                self._take_effect()
                self._deliver()
                pause = self._pause()
            except Exception:  # noqa: BLE001 - one bad row must not end all deliveries
                if self._stopping.is_set():  # the book was closed under this thread
                    return
                traceback.print_exc()
                pause = _TROUBLE_SECONDS
            self._outbox.wake.wait(pause)

    def _settle(self) -> None:
        while not self._stopping.is_set():
            due = self._due("SELECT * FROM settlements WHERE due_at <= ? ORDER BY due_at, number")
            if due is None:
                return
            with self._book.transaction():
                self._book.execute("DELETE FROM settlements WHERE number = ?", due["number"])
                refund = self._book.row("SELECT status FROM refunds WHERE id = ?", due["refund"])
                if refund is not None and due["from_status"] in (None, refund["status"]):
                    self._events.set_refund_status(due["refund"], due["status"], due["failure_reason"])

    def _take_effect(self) -> None:
        """Let what a 500 left behind come into effect, told by events alone (docs.stripe.com/error-low-level)."""
        while not self._stopping.is_set():
            due = self._due("SELECT * FROM late_effects WHERE due_at <= ? ORDER BY due_at, number")
            if due is None:
                return
            with self._book.transaction():
                self._book.execute("DELETE FROM late_effects WHERE number = ?", due["number"])
                try:
                    made = create_refund(self._book, due["account"], due["form"])
                except ApiError:  # it can no longer be made, and nobody is told
                    continue
                self._events.refund_created(made, due["account"])

    def _due(self, sql: str) -> Row | None:
        return self._book.row(sql, self._book.now())

    def _deliver(self) -> None:
        while not self._stopping.is_set():
            delivery = self._outbox.due()
            if delivery is None:
                return
            endpoint = self._endpoints.get(delivery["url"])
            status: int | None = None
            error: str | None = "the endpoint is gone"
            if endpoint is not None:
                wait = self._endpoints.patience.timeout_seconds
                now = self._book.now()
                status, error = attempt(delivery, endpoint, timeout_seconds=wait, now=now)
            if not self._stopping.is_set():
                self._outbox.record(delivery, status=status, error=error)

    def _pause(self) -> float:
        if self._outbox.wake.is_set():
            return 0.0
        rows = self._book.rows("SELECT due_at FROM settlements UNION ALL SELECT due_at FROM late_effects")
        times = [self._outbox.next_due_at(), *(row["due_at"] for row in rows)]
        now = self._book.now()
        seconds = min((due for due in times if due is not None), default=now + _IDLE_SECONDS) - now
        return min(max(0.0, seconds), _IDLE_SECONDS)
