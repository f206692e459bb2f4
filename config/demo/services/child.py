"""A child process that can't outlive its launcher; seen from the launcher's side."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

KEEPER = Path(__file__).with_name("keeper.py")
START_SECONDS = 60.0
MARGIN_SECONDS = 5.0

Output = int | IO[bytes] | None


@dataclass(frozen=True)
class StopPlan:
    """Signals and the seconds to wait after each, then SIGKILL."""

    steps: tuple[tuple[signal.Signals, float], ...] = ((signal.SIGTERM, 10.0),)

    def __str__(self) -> str:
        return ",".join(f"{signum.name.removeprefix('SIG')}:{seconds:g}" for signum, seconds in self.steps)

    @property
    def seconds(self) -> float:
        """Until SIGKILL."""
        return sum(seconds for _, seconds in self.steps)


TERMINATE = StopPlan()


@dataclass
class Child:
    """Made by `start`. `pid` is the child's own number, None if its command could not be run."""

    keeper: "subprocess.Popen[bytes]"
    lifeline: socket.socket
    stop_plan: StopPlan
    pid: int | None = None

    @classmethod
    def start(
        cls,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str | Path,
        stop_plan: StopPlan,
        stdin: Output = subprocess.DEVNULL,
        stdout: Output = None,
        user: str | None = None,
        whole_group: bool = False,
        remove: Path | None = None,
        inherit: Sequence[int] = (),
    ) -> Self:
        """Run `command` under a keeper, in a session of its own.

        `whole_group`: signals go to its process group, as from a terminal. `remove`: a folder that goes when it is
        stopped or loses its launcher. `inherit`: descriptors (locks) that stay open as long as the keeper lives.
        """
        ours, theirs = socket.socketpair()
        words = ["--lifeline", str(theirs.fileno()), "--stop", str(stop_plan)]
        words += [*(["--user", user] if user else []), *(["--group"] if whole_group else [])]
        words += ["--remove", str(remove)] if remove else []
        child = cls(
            subprocess.Popen(
                [sys.executable, "-I", "-S", str(KEEPER), *words, "--", *command],
                env=dict(env),
                cwd=cwd,
                stdin=stdin,
                stdout=stdout,
                stderr=None if stdout is None else subprocess.STDOUT,
                start_new_session=True,
                pass_fds=[theirs.fileno(), *inherit],
            ),
            ours,
            stop_plan,
        )
        theirs.close()
        child.pid = child._read_pid()
        return child

    def _read_pid(self) -> int | None:
        self.lifeline.settimeout(START_SECONDS)
        answer = b""
        with contextlib.suppress(OSError):
            while not answer.endswith(b"\n"):
                part = self.lifeline.recv(32)
                if not part:
                    break
                answer += part
        return int(answer) if answer.strip() else None

    def poll(self) -> int | None:
        """The exit code (128 + signal when killed), None while it runs."""
        code = self.keeper.poll()
        return code if code is None or code >= 0 else 128 - code

    @property
    def running(self) -> bool:
        """True until the child has ended."""
        return self.poll() is None

    def wait(self, seconds: float) -> int | None:
        """The exit code, None if it still runs after `seconds`."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.keeper.wait(seconds)
        return self.poll()

    def send(self, signum: int) -> None:
        """Pass a signal on; nothing happens if the child has ended."""
        with contextlib.suppress(OSError):
            self.lifeline.sendall(bytes([signum]))

    def request_stop(self) -> None:
        """Begin the stop plan; returns at once. The keeper does the waiting."""
        self.lifeline.close()

    def kill(self) -> None:
        """SIGKILL to the child's whole group."""
        if self.lifeline.fileno() >= 0:
            self.send(signal.SIGKILL)
            self.lifeline.close()
        elif self.pid is not None and self.running:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)

    def stop(self) -> int:
        """Stop and wait until it is gone; the exit code."""
        self.request_stop()
        code = self.wait(self.stop_plan.seconds + MARGIN_SECONDS)
        if code is None:
            self.kill()
            self.keeper.kill()
            self.keeper.wait()
        return self.poll() or 0


@contextlib.contextmanager
def reading(text: str) -> Iterator[IO[bytes]]:
    """A pipe to be a child's stdin that holds a short `text` (4 KiB fit everywhere)."""
    source, sink = os.pipe()
    with os.fdopen(source, "rb") as stdin:
        with os.fdopen(sink, "w") as file:
            file.write(text)
        yield stdin
