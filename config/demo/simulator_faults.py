"""The faults that a simulator was told of: in memory, in order, each for so many requests or for all."""

import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar


class Counted(Protocol):
    """A fault; ``count`` is for how many more requests, None for all."""

    count: int | None


F = TypeVar("F", bound=Counted)


class ArmedFaults(Generic[F]):
    """Keeps the armed faults, oldest first; safe for the threads of a server."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._armed: list[F] = []

    def add(self, fault: F) -> F:
        """Arm a fault and return it."""
        with self._lock:
            self._armed.append(fault)
        return fault

    def take(self, matches: Callable[[F], bool]) -> F | None:
        """Return the first fault that matches, counted down; one that is used up is gone."""
        with self._lock:
            fault = next((armed for armed in self._armed if matches(armed)), None)
            if fault is not None and fault.count is not None:
                fault.count -= 1
                if fault.count == 0:
                    self._armed.remove(fault)
            return fault

    def clear(self) -> None:
        """Disarm everything."""
        with self._lock:
            self._armed.clear()

    def all(self) -> list[F]:
        """Return what is armed, the next one first."""
        with self._lock:
            return list(self._armed)
