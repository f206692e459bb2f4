"""Keep one child process: start it, pass signals on, and end it when the launcher is gone.

Run as a script, one keeper per child, in a session of its own:

    keeper.py --lifeline FD --stop INT:20,QUIT:5 [--user NAME] [--group] [--remove DIR] -- COMMAND...

FD is one end of a socket pair; the launcher holds the other. The keeper writes the child's process id and a
newline. A byte from the launcher is a signal number to pass on; end of file means "stop": the launcher closed
its end, or died (SIGKILL included), which is why nothing can be left running. Stopping sends each signal of
--stop and waits its seconds, then SIGKILL, and then the folder of --remove goes. Exits with the child's code,
or 128 + signal; 127 when the command can't be run.
"""

import argparse
import contextlib
import ctypes
import os
import pwd
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

PR_SET_PDEATHSIG = 1
STOPS_THE_KEEPER = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main() -> int:
    """The exit code."""
    options = _parse(sys.argv[1:])
    wake = _watch_signals()
    lifeline = socket.socket(fileno=options.lifeline)
    try:
        child = _start(options)
    except OSError as error:
        print(f"cannot run {options.command[0]}: {error.strerror}", file=sys.stderr)
        return 127
    with contextlib.suppress(OSError):
        lifeline.sendall(f"{child.pid}\n".encode())
    asked_to_stop = _keep(child, lifeline, wake, options)
    code = child.wait()
    if options.remove and asked_to_stop:
        shutil.rmtree(options.remove, ignore_errors=True)
    return code if code >= 0 else 128 - code


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lifeline", type=int, required=True)
    parser.add_argument("--stop", type=_stop_steps, required=True)
    parser.add_argument("--user")
    parser.add_argument("--group", action="store_true")
    parser.add_argument("--remove")
    parser.add_argument("command", nargs="+")
    return parser.parse_args(arguments)


def _stop_steps(text: str) -> list[tuple[signal.Signals, float]]:
    """INT:20,QUIT:5 as [(SIGINT, 20.0), (SIGQUIT, 5.0)]."""
    pairs = (part.split(":") for part in text.split(","))
    return [(signal.Signals[f"SIG{name}"], float(seconds)) for name, seconds in pairs]


def _watch_signals() -> int:
    """The descriptor on which SIGCHLD and requests to stop arrive as bytes."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for signum in (signal.SIGCHLD, *STOPS_THE_KEEPER):
        signal.signal(signum, lambda *_: None)
    return reading


def _start(options: argparse.Namespace) -> "subprocess.Popen[bytes]":
    account = pwd.getpwnam(options.user) if options.user else None
    other_user: dict[str, Any] = (
        {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}
    )
    first_stop = options.stop[0][0]
    return subprocess.Popen(
        options.command,
        process_group=0,
        preexec_fn=_die_with_parent(os.getpid(), first_stop),  # noqa: PLW1509 - the keeper has no other thread
        **other_user,
    )


def _die_with_parent(parent: int, signum: int) -> Callable[[], None] | None:
    """On Linux the child gets a signal even when the keeper itself is killed.

    The kernel clears this on a change of user, and it follows the thread that forked: subprocess runs it
    after the change of user, and the keeper has one thread.
    """
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)

    def in_child() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signum)
        if os.getppid() != parent:
            os._exit(128 + signum)

    return in_child


def _keep(
    child: "subprocess.Popen[bytes]", lifeline: socket.socket, wake: int, options: argparse.Namespace
) -> bool:
    """Return when the child has ended and its process group too; True if it was asked to stop."""
    send = _sender(child.pid, whole_group=options.group)
    steps: Iterator[tuple[int, float]] | None = None
    deadline: float | None = None
    while not _has_ended(child):
        watched = [wake] if steps else [wake, lifeline.fileno()]
        timeout = None if deadline is None else max(0.0, deadline - time.monotonic())
        readable, _, _ = select.select(watched, [], [], timeout)
        asked_to_stop = wake in readable and any(byte in STOPS_THE_KEEPER for byte in os.read(wake, 256))
        if not steps and lifeline.fileno() in readable:
            orders = _receive(lifeline)
            asked_to_stop = asked_to_stop or not orders
            for signum in orders:
                send(signum)
        if asked_to_stop and not steps:
            steps = iter(options.stop)
            deadline = time.monotonic()
        if steps and deadline is not None and time.monotonic() >= deadline:
            signum, patience = next(steps, (signal.SIGKILL, 60.0))
            send(signum)
            deadline = time.monotonic() + patience
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    return steps is not None


def _receive(lifeline: socket.socket) -> bytes:
    try:
        return lifeline.recv(64)
    except OSError:
        return b""


def _sender(pid: int, *, whole_group: bool) -> Callable[[int], None]:
    def send(signum: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if whole_group or signum == signal.SIGKILL:
                os.killpg(pid, signum)
            else:
                os.kill(pid, signum)

    return send


def _has_ended(child: "subprocess.Popen[bytes]") -> bool:
    """Without reaping where the system can: the number stays the child's until its group is gone."""
    if hasattr(os, "waitid"):
        return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return child.poll() is not None


if __name__ == "__main__":
    sys.exit(main())
