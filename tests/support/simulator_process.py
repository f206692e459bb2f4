"""A simulator as a subprocess on a free port: start, stop, kill, and its control side."""

import json
import os
import selectors
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[2]


class SimulatorProcess:
    """Starts on construction; ``restart`` keeps the ports and what is on disk."""

    module = ""

    def __init__(self) -> None:
        self._port = 0
        self._process: subprocess.Popen[str] | None = None
        self.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    @property
    def port(self) -> int:
        """The HTTP port."""
        return self._port

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def arguments(self) -> list[str]:
        """Return what stands on the command line beside the port."""
        return []

    def started(self, line: str) -> None:
        """Take what a subclass needs from the line that says it is ready."""

    def start(self) -> None:
        """Start and wait until it says that it is ready."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", self.module, "--port", str(self._port), *self.arguments()],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        line = _first_line(self._process)
        if "ready on" not in line:
            self.kill()
            raise RuntimeError(f"{self.module} did not start: {line!r}")
        self._port = int(line.rsplit(":", 1)[1])
        self.started(line)

    def stop(self) -> int | None:
        """End it as an operator would, and return its exit code."""
        return self._end(signal.SIGTERM)

    def kill(self) -> int | None:
        """End it as a power cut would."""
        return self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Stop it and start it again on the same ports."""
        self.stop()
        self.start()

    def reset(self) -> None:
        """Forget everything and disarm every fault."""
        self.control("POST", "reset", {})

    def control(self, method: str, path: str, value: Any = None) -> Any:
        """Make one control request and return its JSON; raises HTTPError for a refused one."""
        return self.call(method, f"/_sim/{path}", value)

    def call(self, method: str, path: str, value: Any = None) -> Any:
        """Make any request and return its JSON; raises HTTPError for a refused one."""
        body = None if value is None else json.dumps(value).encode()
        request = urllib.request.Request(
            f"{self.origin}{path}", data=body, method=method, headers={"Content-Type": "application/json"}
        )
        with _OPENER.open(request, timeout=10) as response:
            return json.load(response)

    def _end(self, number: signal.Signals) -> int | None:
        process, self._process = self._process, None
        if process is None:
            return None
        process.send_signal(number)
        try:
            code = process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait(10)
        if process.stdout is not None:
            process.stdout.close()
        return code


_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def _first_line(process: subprocess.Popen[str], *, seconds: float = 30.0) -> str:
    """Return the first line that the process prints, or what it printed until then."""
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        if not selector.select(seconds):
            return ""
    return process.stdout.readline() or os.linesep
