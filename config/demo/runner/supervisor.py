"""Start parts, watch all of them, stop all of them."""

import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from config.demo.runner.console import Console
from config.demo.runner.part import Part, start_part
from config.demo.runner.process import Echo, Process, Ready
from config.demo.services.child import MARGIN_SECONDS
from config.demo.services.stopping import POLL_SECONDS, StopRequestedError, StopRequests

PROGRESS_SECONDS = 5.0
WATCH_SECONDS = 0.2


class Supervisor:
    """Every wait looks at `requests`, so that a stop takes no longer than the stopping itself."""

    def __init__(self, *, cwd: Path, logs: Path, console: Console, requests: StopRequests) -> None:
        self.cwd = cwd
        self.logs = logs
        self.console = console
        self.requests = requests
        self._services: list[Part] = []
        self._parts: list[Part] = []
        self._unready: list[tuple[Part, Ready, float, float]] = []

    def check(self) -> None:
        """Raise StopRequestedError if somebody asked to stop, or the console has been closed."""
        self.requests.check()
        if self.console.closed:
            raise StopRequestedError(signal.SIGPIPE)

    def watch(self, *, but: Part | None = None) -> None:
        """As `check`; raise ServiceError if a part has ended, `but` excepted."""
        self.check()
        for part in (*self._services, *self._parts):
            if part is not but:
                part.require_running()

    def adopt(self, part: Part) -> None:
        """Watch a service that runs already; it is stopped after everything started later."""
        self._services.append(part)

    def start(self, process: Process) -> None:
        """Start a service and go on; or run a step to its end, which must be 0. Raises ServiceError."""
        if process.ready is None:
            step = self.run(process)
            code = step.child.poll()
            if code != 0:
                raise step.failure(f"it ended with exit code {code}")
            return
        part = self._start(process)
        self._unready.append((part, process.ready, time.monotonic(), process.ready_seconds))

    def run(self, process: Process) -> Part:
        """Wait for the services, then run `process` to its end, watching them; it, ended."""
        self.wait_ready()
        step = self._start(process)
        began = spoken = time.monotonic()
        while step.child.running:
            self.watch(but=step)
            if time.monotonic() - spoken > PROGRESS_SECONDS and process.echo is not Echo.PLAIN:
                spoken = time.monotonic()
                self.console.progress(f"{process.name}: still at it ({spoken - began:.0f} s)")
            time.sleep(POLL_SECONDS)
        self._parts.remove(step)
        step.child.stop()
        step.finish()
        return step

    def wait_ready(self) -> None:
        """Return when every started service is ready. Raises ServiceError."""
        spoken = time.monotonic()
        while self._unready:
            self.watch()
            for waiting in tuple(self._unready):
                part, ready, since, patience = waiting
                took = time.monotonic() - since
                if ready(part.log):
                    self._unready.remove(waiting)
                    self.console.progress(f"{part.name}: ready ({took:.1f} s)")
                elif took > patience:
                    raise part.failure(f"it was not ready after {patience:.0f} seconds")
            if time.monotonic() - spoken > PROGRESS_SECONDS:
                spoken = time.monotonic()
                names = ", ".join(part.name for part, *_ in self._unready)
                self.console.progress(f"waiting for {names}")
            time.sleep(POLL_SECONDS)

    def stay(self) -> NoReturn:
        """Watch until somebody asks to stop. Raises ServiceError, StopRequestedError."""
        while True:
            self.watch()
            time.sleep(WATCH_SECONDS)

    def stop_all(self) -> None:
        """Stop in reverse order, the services last; a further stop signal means at once."""
        seen = len(self.requests.received)
        self.console.progress("stopping (Ctrl-C now stops at once)")
        waves = [self._parts, *([service] for service in reversed(self._services))]
        for wave in waves:
            self._stop(wave, seen)
        self._parts, self._services, self._unready = [], [], []
        self.console.progress("stopped; nothing is left running")

    def _start(self, process: Process) -> Part:
        self.check()
        self.console.progress(f"{process.name}: {process.doing}")
        part = start_part(process, cwd=self.cwd, logs=self.logs, console=self.console)
        self._parts.append(part)
        return part

    def _stop(self, wave: Sequence[Part], seen: int) -> None:
        for part in reversed(wave):
            part.child.request_stop()
        patience = max((part.child.stop_plan.seconds for part in wave), default=0.0) + MARGIN_SECONDS
        deadline = time.monotonic() + patience
        while any(part.child.running for part in wave):
            if len(self.requests.received) > seen or time.monotonic() > deadline:
                for part in wave:
                    part.child.kill()
            time.sleep(POLL_SECONDS)
        for part in wave:
            part.child.stop()
            part.finish()
