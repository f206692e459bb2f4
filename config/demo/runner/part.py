"""A started process, its log file, and its lines on their way to the console."""

import subprocess
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from config.demo.runner.console import Console
from config.demo.runner.process import Echo, Process
from config.demo.services.child import Child
from config.demo.services.failure import ServiceError

TAIL_LINES = 15
PUMP_SECONDS = 5.0


@dataclass
class Part:
    """One running piece of the demo. `finish` is called once, when the child is gone."""

    name: str
    child: Child
    log: Path
    advice: str
    finish: Callable[[], None]

    def require_running(self) -> None:
        """Raise ServiceError if it has ended."""
        code = self.child.poll()
        if code is not None:
            self.finish()
            raise self.failure(f"it ended with exit code {code}")

    def failure(self, why: str) -> ServiceError:
        """Which part, why, its last lines, what to do."""
        return ServiceError(self.name, why, f"{self.advice} ({self.log})", last_lines(self.log))


def start_part(process: Process, *, cwd: Path, logs: Path, console: Console) -> Part:
    """Start `process`; its lines go to logs/NAME.log, a fresh file, and to the console as its `echo` says."""
    log = logs / f"{process.name}.log"
    log.write_bytes(b"")
    child = Child.start(
        process.command, env=process.env, cwd=cwd, stop_plan=process.stop_plan, stdout=subprocess.PIPE
    )
    lines = child.keeper.stdout
    if lines is None:
        raise ServiceError(process.name, "its output can't be read", process.advice)
    pump = threading.Thread(target=_pump, args=(lines, log, process, console), daemon=True)
    pump.start()
    return Part(process.name, child, log, process.advice, lambda: pump.join(PUMP_SECONDS))


def _pump(lines: IO[bytes], log: Path, process: Process, console: Console) -> None:
    with lines, log.open("ab", buffering=0) as file:
        for line in lines:
            file.write(line)
            text = line.decode(errors="replace").rstrip("\r\n")
            if process.echo is Echo.PLAIN:
                console.plain(text)
            elif console.shows(process.echo):
                console.part(process.name, text)


def last_lines(log: Path, count: int = TAIL_LINES) -> list[str]:
    """The end of a log file; empty if there is none."""
    try:
        with log.open(errors="replace") as lines:
            return [line.rstrip() for line in deque(lines, count)]
    except OSError:
        return []
