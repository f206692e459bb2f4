"""What the runner prints: progress with elapsed seconds, and the parts' lines with their names in front."""

import contextlib
import os
import sys
import threading
import time
from typing import TextIO

from config.demo.runner.process import Echo

COLOURS = (36, 33, 32, 35, 34, 96, 93, 92, 95, 94)
NAME_WIDTH = 10


class Console:
    """Lines never mix: each is one write. A closed terminal is remembered, not raised."""

    def __init__(self, *, stream: TextIO | None = None, verbose: bool = False) -> None:
        self.stream = stream or sys.stdout
        self.verbose = verbose
        self.following = False
        self.closed = False
        self._colour = self.stream.isatty() and "NO_COLOR" not in os.environ
        self._colours: dict[str, int] = {}
        self._began = time.monotonic()
        self._lock = threading.Lock()

    def progress(self, text: str) -> None:
        """One line of what is happening, with the seconds since the start."""
        self.plain(f"[{time.monotonic() - self._began:6.1f} s] {text}")

    def shows(self, echo: Echo) -> bool:
        """True if a part's lines with this `echo` are wanted now."""
        return self.verbose or (self.following and echo is Echo.PREFIXED)

    def part(self, name: str, line: str) -> None:
        """One line of a part's output."""
        code = self._colours.setdefault(name, COLOURS[len(self._colours) % len(COLOURS)])
        prefix = f"{name:<{NAME_WIDTH}} |"
        self.plain(f"\033[{code}m{prefix}\033[0m {line}" if self._colour else f"{prefix} {line}")

    def plain(self, text: str) -> None:
        """One or more lines as they are."""
        with self._lock:
            if self.closed:
                return
            try:
                self.stream.write(f"{text}\n")
                self.stream.flush()
            except (OSError, ValueError):
                self.closed = True
                self._discard_the_rest()

    def _discard_the_rest(self) -> None:
        """What is still buffered must not fail again when the interpreter ends."""
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.stream.fileno())
            os.close(nowhere)
