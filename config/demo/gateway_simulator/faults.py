"""Faults that the control side arms: what may go wrong between a provider and its clients.

Armed faults live in memory; a restarted simulator has none.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from config.demo.gateway_simulator.messages import ConnectionDroppedError
from config.demo.gateway_simulator.refunds import STATUSES
from config.demo.simulator_faults import ArmedFaults

_LONGEST_SECONDS = 600.0


class FaultKind(StrEnum):
    """Each names what happens to one matching request."""

    DROP_BEFORE = "drop_before"  # close without booking
    DROP_AFTER = "drop_after"  # book, then close without an answer
    DELAY = "delay"  # book, answer after `seconds`
    HOLD = "hold"  # book, answer after release
    DELAY_BEFORE = "delay_before"  # accept; book and answer after release or `seconds`
    STATUS = "status"  # answer this HTTP status; books first only with `book`
    UNPARSABLE = "unparsable"  # book, answer 200 with something that is not JSON
    PENDING = "pending"  # book the refund as `first`; after `seconds` it becomes `then`, if that is given
    IN_FLIGHT = "in_flight"  # answer 409 as if the same key were executing; books nothing
    NOT_READ = "not_read"  # accept the connection, read nothing; close it after release or `seconds`


class FaultError(ValueError):
    """A fault that cannot be armed; the message is for the one who arms it."""


@dataclass(slots=True)
class Fault:
    """One armed fault; ``count`` None means until it is cleared."""

    kind: FaultKind
    on: str = "create"  # "create", "list" or "retrieve"
    charge: str | None = None
    idempotency_key: str | None = None
    count: int | None = 1
    seconds: float = _LONGEST_SECONDS
    status: int = 500
    code: str | None = None
    rate_limited_reason: str | None = None
    should_retry: bool | None = None
    book: bool = False
    first: str = "pending"
    then: str | None = None
    failure_reason: str | None = None

    def matches(self, on: str, references: frozenset[str], idempotency_key: str | None) -> bool:
        """Whether it is meant for this request."""
        return (
            self.on == on
            and (self.charge is None or self.charge in references)
            and self.idempotency_key in (None, idempotency_key)
        )

    def as_json(self) -> dict[str, Any]:
        """Return the fault as the control side shows it."""
        return {name: getattr(self, name) for name in self.__slots__} | {"kind": self.kind.value}


@dataclass(slots=True)
class _Waiting:
    references: frozenset[str]
    released: threading.Event = field(default_factory=threading.Event)
    dropped: bool = False


class Faults:
    """The armed faults and the requests that wait for a release."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._armed: ArmedFaults[Fault] = ArmedFaults()
        self._waiting: list[_Waiting] = []

    def arm(self, value: Any) -> Fault:
        """Arm one fault from JSON; raises FaultError for anything it does not know."""
        return self._armed.add(_fault(value))

    @property
    def may_leave_unread(self) -> bool:
        """Whether a request must be looked at before it is read."""
        return any(fault.kind is FaultKind.NOT_READ for fault in self._armed.all())

    def take(
        self,
        *,
        on: str,
        references: frozenset[str] = frozenset(),
        idempotency_key: str | None = None,
        only: FaultKind | None = None,
    ) -> Fault | None:
        """Return the first fault that matches a request, counted down; ``references`` name its payment.

        Faults for unread requests are taken with ``only``: what is read already cannot be left unread.
        """

        def matches(fault: Fault) -> bool:
            right_time = (fault.kind is FaultKind.NOT_READ) == (only is FaultKind.NOT_READ)
            return right_time and fault.matches(on, references, idempotency_key)

        return self._armed.take(matches)

    def wait(self, seconds: float, references: frozenset[str]) -> None:
        """Wait for a release, at most ``seconds``; raises ConnectionDroppedError if the wait was ended."""
        waiting = _Waiting(references)
        with self._lock:
            self._waiting.append(waiting)
        waiting.released.wait(seconds)
        with self._lock:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
        if waiting.dropped:
            raise ConnectionDroppedError

    def release(self, charge: str | None = None) -> int:
        """Let waiting requests go on, all or those of one payment, and return how many."""
        return self._wake(charge, drop=False)

    def clear(self) -> None:
        """Disarm everything; requests that wait go on."""
        self._armed.clear()
        self._wake(None, drop=False)

    def end(self) -> None:
        """Disarm everything and drop what waits: the book is being emptied, or the process ends."""
        self._armed.clear()
        self._wake(None, drop=True)

    def as_json(self) -> dict[str, Any]:
        """Return what is armed and how many requests wait."""
        armed = [fault.as_json() for fault in self._armed.all()]
        with self._lock:
            return {"armed": armed, "waiting": len(self._waiting)}

    def _wake(self, charge: str | None, *, drop: bool) -> int:
        with self._lock:
            chosen = [one for one in self._waiting if charge is None or charge in one.references]
            self._waiting = [one for one in self._waiting if one not in chosen]
            for one in chosen:
                one.dropped = drop
                one.released.set()
        return len(chosen)


def _fault(value: Any) -> Fault:
    if not isinstance(value, Mapping):
        raise FaultError("a fault is a JSON object")
    unknown = set(value) - set(Fault.__slots__)
    if unknown:
        raise FaultError(f"a fault has no {', '.join(sorted(map(str, unknown)))}")
    try:
        fault = Fault(**{**value, "kind": FaultKind(str(value.get("kind")))})
    except ValueError as error:
        raise FaultError(f"kind must be one of {', '.join(FaultKind)}") from error
    checks = (
        (fault.on in ("create", "list", "retrieve"), "on must be create, list or retrieve"),
        (_is_text(fault.charge), "charge must be a text"),
        (
            fault.count is None or (type(fault.count) is int and fault.count > 0),
            "count must be above 0 or null",
        ),
        (fault.kind is not FaultKind.DELAY or "seconds" in value, "delay needs seconds"),
        (_is_duration(fault.seconds), f"seconds must be from 0 to {_LONGEST_SECONDS:.0f}"),
        (type(fault.status) is int and 400 <= fault.status <= 599, "status must be from 400 to 599"),  # noqa: PLR2004
        (_is_text(fault.code), "code must be a text"),
        (_is_text(fault.idempotency_key), "idempotency_key must be a text"),
        (_is_text(fault.failure_reason), "failure_reason must be a text"),
        (fault.first in STATUSES, f"first must be one of {', '.join(STATUSES)}"),
        (fault.then in (None, *STATUSES), f"then must be one of {', '.join(STATUSES)}"),
        (fault.should_retry in (None, True, False), "should_retry must be true, false or null"),
        (
            fault.kind is not FaultKind.NOT_READ or (fault.on == "create" and fault.charge is None),
            "what is not read can be chosen by idempotency_key only",
        ),
        (_is_header_value(fault.rate_limited_reason), "rate_limited_reason must be a short text"),
        (isinstance(fault.book, bool), "book must be true or false"),
    )
    for holds, message in checks:
        if not holds:
            raise FaultError(message)
    return fault


def _is_text(value: object) -> bool:
    return value is None or isinstance(value, str)


def _is_duration(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _LONGEST_SECONDS


def _is_header_value(value: object) -> bool:
    return value is None or (isinstance(value, str) and value.isascii() and value.isprintable())
