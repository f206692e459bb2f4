"""A PostgreSQL data folder: where it may lie, whose it is, and who is using it.

home/            this process's account, others may only pass
  lock           held by flock for as long as a server (or its keeper) lives
  password       of the role `postgres`; random, readable by this process's account alone
  cluster/       the server's account
    data/        made as data.new and renamed when complete
"""

import contextlib
import fcntl
import os
import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from config.demo.services import accounts, binaries
from config.demo.services.failure import ServiceError
from config.demo.services.stopping import wait_until

PART = "PostgreSQL"
LOCK_SECONDS = 30.0
FRESH = "RESET=1 make demo starts with fresh data (the old data is removed)"


@dataclass(frozen=True)
class Cluster:
    """`user` is the server's account, None for this process's own."""

    home: Path
    user: str | None

    @property
    def owned(self) -> Path:
        """The folder in which the server's account may make things."""
        return self.home / "cluster"

    @property
    def data(self) -> Path:
        """PGDATA."""
        return self.owned / "data"

    @property
    def exists(self) -> bool:
        """True once the data has been made completely."""
        return self.data.is_dir()

    def prepare(self) -> None:
        """Make the folders; refuse data that this installation can't serve."""
        self.home.mkdir(mode=0o700, exist_ok=True)
        self.home.chmod(0o711)
        if not self.owned.is_dir():
            self.owned.mkdir(mode=0o700)
            accounts.hand_over(self.owned, self.user)
        owner = self.owned.stat().st_uid
        if owner != accounts.server_uid(self.user):
            raise ServiceError(
                PART,
                f"{self.owned} belongs to account number {owner}, which made it at an earlier start",
                f"start as that account again, or: {FRESH}",
            )
        if self.exists:
            self._require_servable()

    def _require_servable(self) -> None:
        found = (self.data / "PG_VERSION").read_text().strip()
        if found != binaries.major_version():
            raise ServiceError(
                PART, f"{self.data} was made by version {found}, this is {binaries.major_version()}", FRESH
            )
        if not self._password_file.exists():
            raise ServiceError(PART, f"{self._password_file} is missing, so nobody can sign in", FRESH)

    @property
    def _password_file(self) -> Path:
        return self.home / "password"

    def password(self) -> str:
        """The superuser's password, made at the first call."""
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(self._password_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(secrets.token_hex(16))
        return self._password_file.read_text()

    @contextmanager
    def lock(self, check: Callable[[], None]) -> Iterator[int]:
        """Yield a locked descriptor; a keeper that inherits it holds the lock until its server is gone."""
        descriptor = os.open(self.home / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if not wait_until(lambda: _locked(descriptor), seconds=LOCK_SECONDS, check=check):
                raise ServiceError(
                    PART,
                    f"another running instance uses {self.home}",
                    "stop it (Ctrl-C in its terminal), then start again",
                )
            yield descriptor
        finally:
            os.close(descriptor)

    def stale_pid_file(self) -> bool:
        """True if postmaster.pid names a process that lives but is no server of this data.

        A number of a dead process is PostgreSQL's own business: it recovers. A number that somebody else got
        since then would keep it from starting.
        """
        pid = self.recorded_pid()
        if pid is None or not _alive(pid):
            return False
        if str(self.data) not in _command_line(pid):
            return True
        raise ServiceError(
            PART,
            f"process {pid} is a server that already uses {self.data}",
            f"stop it with `kill -INT {pid}`, then start again",
        )

    def recorded_pid(self) -> int | None:
        """The process number in postmaster.pid (negative there for a single-user server)."""
        lines = self.pid_file()
        return abs(int(lines[0])) if lines and lines[0].strip().lstrip("-").isdigit() else None

    def pid_file(self) -> list[str]:
        """postmaster.pid: process id, data folder, start, port, sockets, address, memory, status."""
        try:
            return (self.data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return []

    def remove(self) -> None:
        """Remove everything; the server must have stopped."""
        shutil.rmtree(self.home, ignore_errors=True)


def for_demo(state: Path, checkout: Path, user: str | None) -> Cluster:
    """In the demo's state folder, else (not reachable for the server's account) a stable temporary one."""
    if accounts.can_enter(user, state):
        return Cluster(state / "postgres", user)
    return Cluster(accounts.make_private(accounts.stable_folder(checkout)) / "postgres", user)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _command_line(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ")
    listed = subprocess.run(
        ["ps", "-p", str(pid), "-o", "args="],
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
    )
    return listed.stdout
