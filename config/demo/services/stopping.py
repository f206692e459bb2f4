"""Ctrl-C, SIGTERM and SIGHUP as a request that is answered at safe points, never in the middle of a start."""

import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from types import FrameType, TracebackType
from typing import Self

REQUESTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
POLL_SECONDS = 0.05


class StopRequestedError(Exception):
    """Somebody asked to stop; `signum` says how."""

    def __init__(self, signum: int) -> None:
        super().__init__(signal.Signals(signum).name)
        self.signum = signum

    @property
    def exit_code(self) -> int:
        """What a shell says for a process that this signal ended."""
        return 128 + self.signum


class StopRequests:
    """Collects stop signals while it is entered; the handlers of before come back afterwards."""

    def __init__(self) -> None:
        self.received: list[int] = []
        self._previous = ExitStack()

    def __enter__(self) -> Self:
        for signum in REQUESTS:
            self._previous.callback(signal.signal, signum, signal.signal(signum, self._remember))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._previous.close()

    def _remember(self, signum: int, _frame: FrameType | None) -> None:
        self.received.append(signum)

    def check(self) -> None:
        """Raise StopRequestedError if somebody asked."""
        if self.received:
            raise StopRequestedError(self.received[0])


def wait_until(condition: Callable[[], bool], *, seconds: float, check: Callable[[], None]) -> bool:
    """Poll; False when the time is over. `check` runs before each look and may raise."""
    deadline = time.monotonic() + seconds
    while True:
        check()
        if condition():
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_SECONDS)
