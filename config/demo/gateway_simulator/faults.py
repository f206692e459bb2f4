"""Faults that the control side arms: what may go wrong between a provider and its clients.

Armed faults live in memory; a restarted simulator has none.
"""

import threading
from dataclasses import dataclass, field
from typing import Any

from config.demo.gateway_simulator.fault_kinds import Fault, FaultKind, read_fault
from config.demo.gateway_simulator.messages import ConnectionDroppedError
from config.demo.simulator_faults import ArmedFaults


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
        return self._armed.add(read_fault(value))

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
