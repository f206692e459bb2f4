""".demo in the checkout: everything the demo keeps, and the lock that lets one demo run at a time."""

import contextlib
import fcntl
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from config.demo.services import accounts
from config.demo.services.cluster import Cluster, for_demo
from config.demo.services.failure import ServiceError

FOLDER = ".demo"
LOCK = "lock"


class StateFolder:
    """`path` is made when it is missing; `checkout` is the folder the product's commands run in."""

    def __init__(self, path: Path, *, checkout: Path) -> None:
        self.path = path
        self.checkout = checkout

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Hold the lock; raise ServiceError if another demo of this checkout runs."""
        self._make(self.path)
        descriptor = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ServiceError(
                    "demo",
                    f"it is already running here (process {os.read(descriptor, 100).decode().strip()})",
                    "use that one, or stop it with Ctrl-C in its terminal and start again",
                ) from None
            os.ftruncate(descriptor, 0)
            os.write(descriptor, str(os.getpid()).encode())
            self.make_folders()
            yield
        finally:
            os.close(descriptor)

    def make_folders(self) -> None:
        """The folders that the parts write to."""
        for name in ("logs", "mail", "books"):
            self._make(self.path / name)

    def _make(self, folder: Path) -> None:
        try:
            folder.mkdir(mode=0o700)
            # The database server's account must be able to pass; what is secret has its own mode.
            folder.chmod(0o755)
        except FileExistsError:
            pass
        except OSError as error:
            raise ServiceError(
                "demo",
                f"{folder} can't be made: {error.strerror}",
                "start from a checkout that you may write to",
            ) from error

    @property
    def logs(self) -> Path:
        """One file per part, of the last start."""
        return self.path / "logs"

    def cluster(self) -> Cluster:
        """PostgreSQL's data."""
        return for_demo(self.path, self.checkout, accounts.server_user())

    def secret_key(self) -> str:
        """Random, the same at every start, so that sign-ins survive a restart."""
        return self._kept("secret_key", lambda: secrets.token_urlsafe(48))

    def webhook_secret(self) -> str:
        """What the provider signs its events with; the same at every start, since it may repeat old ones."""
        return self._kept("webhook_secret", lambda: f"whsec_{secrets.token_hex(24)}")

    def _kept(self, name: str, make: Callable[[], str]) -> str:
        file = self.path / name
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as new:
                new.write(make())
        return file.read_text()

    def forget(self, check: Callable[[], None]) -> None:
        """Remove everything but the lock, which must be held; also the database data that lies elsewhere.

        A server that is still stopping is waited for. `check` may raise to give up.
        """
        cluster = self.cluster()
        if cluster.home.is_dir():
            with cluster.lock(check):
                cluster.remove()
        outside = accounts.stable_folder(self.checkout)
        if outside.exists():
            accounts.require_own(outside)
            shutil.rmtree(outside)
        for entry in self.path.iterdir():
            if entry.name == LOCK:
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
