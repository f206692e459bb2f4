"""The control side under /_sim/: facts, faults, the clock. JSON in and out, no authentication, loopback only."""

import os
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from config.demo.shop_simulator.answers import Answer, error_answer, json_answer
from config.demo.shop_simulator.book import Book, BookError
from config.demo.shop_simulator.clock import Clock, read_moment
from config.demo.shop_simulator.faults import FaultError, Faults


class RequestLog:
    """Every request for an order, oldest first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: list[dict[str, Any]] = []

    def arrive(self, entry: dict[str, Any]) -> dict[str, Any]:
        """Write a request down before it is answered; the caller completes what is returned."""
        stamped = {"at": datetime.now(UTC).isoformat(timespec="milliseconds"), **entry}
        with self._lock:
            self._entries.append(stamped | {"number": len(self._entries) + 1})
            return self._entries[-1]

    def entries(self) -> list[dict[str, Any]]:
        """Return copies of all entries; the status is None while, or because, nothing was answered."""
        with self._lock:
            return [dict(entry) for entry in self._entries]

    def clear(self) -> None:
        """Forget every request."""
        with self._lock:
            self._entries.clear()


class Control:
    """What a test or the demo may do to the shop, and what it may know of it."""

    def __init__(self, *, book: Book, faults: Faults, clock: Clock, log: RequestLog) -> None:
        self._book, self._faults, self._clock, self._log = book, faults, clock, log

    def handle(self, method: str, path: str, value: Any) -> Answer:
        """Return the answer to one control request; mistakes are answered 400 with a sentence."""
        try:
            return self._facts(method, path, value)
        except (BookError, FaultError, ValueError) as error:
            return error_answer(str(error), status=400)

    def _facts(self, method: str, path: str, value: Any) -> Answer:
        match method, path:
            case "GET", "orders":
                return json_answer({"orders": self._book.orders()})
            case "POST", "orders":
                return json_answer({"orders": self._book.add(value)})
            case "POST", "change":
                changed = self._book.change(*_order(value), _part(value, "set"))
                return json_answer(changed)
            case "POST", "payments":
                return json_answer(self._book.add_payment(*_order(value), value.get("payment")))
            case "POST", "entries":
                payment, entry = _text(value, "payment"), value.get("entry")
                return json_answer(self._book.add_entry(*_order(value), payment, entry))
        return self._trouble(method, path, value)

    def _trouble(self, method: str, path: str, value: Any) -> Answer:
        match method, path:
            case "GET", "health":
                return json_answer({"status": "ok", "service": "shop_simulator", "pid": os.getpid()})
            case "GET", "log":
                return json_answer({"requests": self._log.entries()})
            case "GET" | "POST" | "DELETE", "faults":
                return self._arm(method, value)
            case "POST", "clock":
                self._set_clock(value)
                return json_answer({"now": self._clock.now().isoformat(), "stated": self._clock.stated})
            case "POST", "reset":
                self._reset()
                return json_answer({"reset": True})
        return error_answer("There is no such control endpoint.", status=404)

    def _arm(self, method: str, value: Any) -> Answer:
        if method == "POST":
            self._faults.arm(value)
        elif method == "DELETE":
            self._faults.clear()
        return json_answer({"armed": self._faults.as_json()})

    def _set_clock(self, value: Any) -> None:
        if not isinstance(value, Mapping) or value.keys() - {"now", "stated"}:
            raise FaultError("a clock has now (a time, or null) and stated")
        moment = None if value.get("now") is None else read_moment(_text(value, "now"))
        self._clock.set(moment, stated=value.get("stated", True) is True)

    def _reset(self) -> None:
        self._faults.clear()
        self._log.clear()
        self._clock.set(None, stated=True)
        self._book.reset()


def _order(value: Any) -> tuple[str, str]:
    return _text(value, "merchant"), _text(value, "number")


def _part(value: Any, name: str) -> Mapping[str, Any]:
    part = value.get(name) if isinstance(value, Mapping) else None
    if not isinstance(part, Mapping):
        raise BookError(f"{name} must be an object")
    return part


def _text(value: Any, name: str) -> str:
    text = value.get(name) if isinstance(value, Mapping) else None
    if not isinstance(text, str):
        raise BookError(f"{name} must be a text")
    return text
