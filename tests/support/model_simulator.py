"""The model simulator as a subprocess on a free port with a book of its own."""

import json
import os
import selectors
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any, Self

_ROOT = Path(__file__).resolve().parents[2]


class ModelSimulator:
    """Starts on construction; ``restart`` keeps the port and the book.

    ``with ModelSimulator(book=tmp_path / "model.sqlite3") as simulator: ...``
    """

    api_key = "sk-simulator"
    model = "demo-proposer-1"

    def __init__(self, *, book: Path) -> None:
        self.book = book
        self._port = 0
        self._process: subprocess.Popen[str] | None = None
        self.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """The address for OPENAI_BASE_URL."""
        return f"{self._origin}/v1"

    @property
    def port(self) -> int:
        return self._port

    def start(self) -> None:
        """Start and wait until it says that it is ready."""
        command = [sys.executable, "-m", "config.demo.model_simulator"]
        self._process = subprocess.Popen(
            [*command, "--port", str(self._port), "--book", str(self.book)],
            cwd=_ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        line = _first_line(self._process)
        if "ready on" not in line:
            self.kill()
            raise RuntimeError(f"the model simulator did not start: {line!r}")
        self._port = int(line.rsplit(":", 1)[1])

    def stop(self) -> int | None:
        """End it as an operator would, and return its exit code."""
        return self._end(signal.SIGTERM)

    def kill(self) -> int | None:
        """End it as a power cut would."""
        return self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Stop it and start it again on the same port and book."""
        self.stop()
        self.start()

    def arm(self, kind: str, **more: Any) -> None:
        """Arm one fault; ``more`` are its other fields: count, seconds, status, retry_after, content, name."""
        self.control("POST", "faults", {"kind": kind, **more})

    def faults(self) -> list[dict[str, Any]]:
        """Return what is armed, the next one first."""
        found = self.control("GET", "faults")["armed"]
        assert isinstance(found, list)
        return found

    def log(self) -> list[dict[str, Any]]:
        """Return every chat completion request, oldest first."""
        found = self.control("GET", "log")["requests"]
        assert isinstance(found, list)
        return found

    def reset(self) -> None:
        """Forget every fault and request."""
        self.control("POST", "reset", {})

    def control(self, method: str, path: str, value: Any = None) -> Any:
        """Make one control request and return its JSON; raises HTTPError for a refused one."""
        return self.call(method, f"/_sim/{path}", value)

    def call(self, method: str, path: str, value: Any = None) -> Any:
        """Make any request and return its JSON; raises HTTPError for a refused one."""
        body = None if value is None else json.dumps(value).encode()
        request = urllib.request.Request(
            f"{self._origin}{path}", data=body, method=method, headers={"Content-Type": "application/json"}
        )
        with _OPENER.open(request, timeout=10) as response:
            return json.load(response)

    @property
    def _origin(self) -> str:
        return f"http://127.0.0.1:{self._port}"

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
