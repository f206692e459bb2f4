"""The gateway simulator as a subprocess on a free port with a book of its own."""

import json
import os
import selectors
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any, Self

_ROOT = Path(__file__).resolve().parents[2]
_API_KEY = "sk_test_simulator"


class GatewaySimulator:
    """Starts on construction; ``restart`` keeps the port and the book.

    ``with GatewaySimulator(book=tmp_path / "book.sqlite3") as simulator: ...``
    """

    api_key = _API_KEY

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
        """The address for STRIPE_API_BASE."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def port(self) -> int:
        return self._port

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start and wait until it says that it is ready."""
        command = [sys.executable, "-m", "config.demo.gateway_simulator"]
        self._process = subprocess.Popen(
            [*command, "--port", str(self._port), "--book", str(self.book)],
            cwd=_ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        line = _first_line(self._process)
        if "ready on" not in line:
            self.kill()
            raise RuntimeError(f"the gateway simulator did not start: {line!r}")
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

    def seed_charge(self, charge: str, *, amount: int, currency: str = "usd", **more: Any) -> str:
        """Put a captured charge into the book; ``more`` are the other fields of a seed. Returns its id."""
        self.control("POST", "charges", {"id": charge, "amount": amount, "currency": currency, **more})
        return charge

    def refunds(self, charge: str | None = None) -> list[dict[str, Any]]:
        """Return what the provider has booked, oldest first: the truth."""
        found = self.control("GET", f"refunds?charge={charge}" if charge else "refunds")["refunds"]
        assert isinstance(found, list)
        return found

    def set_refund_status(self, refund: str, status: str, *, failure_reason: str | None = None) -> None:
        """Let time pass for one refund: pending to succeeded, succeeded to failed."""
        self.control("POST", f"refunds/{refund}", {"status": status, "failure_reason": failure_reason})

    def log(self, *, method: str | None = None) -> list[dict[str, Any]]:
        """Return every API request, oldest first, all methods or one."""
        entries = self.control("GET", "log")["requests"]
        return [entry for entry in entries if method in (None, entry["method"])]

    def arm(self, kind: str, **more: Any) -> None:
        """Arm one fault; ``more`` are its other fields: charge, count, seconds, status, on, book."""
        self.control("POST", "faults", {"kind": kind, **more})

    def disarm(self) -> None:
        """Disarm every fault and let waiting requests go on."""
        self.control("DELETE", "faults")

    def release(self, charge: str | None = None) -> int:
        """Let waiting requests go on, and return how many there were."""
        return int(self.control("POST", "release", {"charge": charge})["released"])

    def wait_until_waiting(self, count: int = 1, *, seconds: float = 10.0) -> None:
        """Return once so many requests wait for a release."""
        deadline = time.monotonic() + seconds
        while self.control("GET", "faults")["waiting"] < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"fewer than {count} requests reached the simulator")
            time.sleep(0.01)

    def reset(self) -> None:
        """Empty the book and disarm every fault."""
        self.control("POST", "reset", {})

    def control(self, method: str, path: str, value: Any = None) -> Any:
        """Make one control request and return its JSON; raises HTTPError for a refused one."""
        body = None if value is None else json.dumps(value).encode()
        request = urllib.request.Request(
            f"{self.url}/_sim/{path}", data=body, method=method, headers={"Content-Type": "application/json"}
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
