"""PostgreSQL as a foreground child: TCP on 127.0.0.1 only, no socket file, a random password."""

import signal
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from config.demo.services import accounts, binaries, ports
from config.demo.services.child import Child, StopPlan, reading
from config.demo.services.cluster import PART, Cluster
from config.demo.services.failure import ServiceError
from config.demo.services.stopping import POLL_SECONDS

DATABASE = "refunds"
LAUNCH = Path(__file__).with_name("launch.sh")
STOP = StopPlan(((signal.SIGINT, 20.0), (signal.SIGQUIT, 5.0)))
START_SECONDS = 180.0
PROGRESS_SECONDS = 5.0
ATTEMPTS = 20
RETRY_SECONDS = 0.5
PORT_TAKEN = "could not bind"
OLD_BACKENDS = "pre-existing shared memory block"
SETTINGS = {
    "listen_addresses": ports.HOST,
    "unix_socket_directories": "",
    "max_connections": "200",
    "TimeZone": "UTC",
    "log_timezone": "UTC",
    "scram_iterations": "1",  # the password is 128 random bits: stretching it only costs time
    "dynamic_shared_memory_type": "mmap",  # /dev/shm is tiny in many containers
    "io_method": "sync",
    "jit": "off",
    "log_checkpoints": "off",
}
FAST = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
}


@dataclass
class PostgresServer:
    """A running server. `url` names its empty or kept database as the superuser."""

    url: str
    port: int
    child: Child
    cluster: Cluster
    temporary: bool

    def stop(self) -> None:
        """Fast shutdown; a temporary server's folder goes too."""
        self.child.stop()
        if self.temporary:
            self.cluster.remove()


def start(
    cluster: Cluster,
    *,
    log: Path,
    durable: bool,
    check: Callable[[], None],
    say: Callable[[str], None],
    more_settings: Mapping[str, str] | None = None,
) -> PostgresServer:
    """Serve `cluster`, made at its first start; returns when it accepts connections.

    `durable` off gives speed for throw-away data. `check` may raise to give up; `say` gets progress lines.
    `more_settings` of the server come last, so that they win. Raises ServiceError.
    """
    starting = Starting(cluster, log, durable=durable, temporary=False, check=check, say=say)
    starting.settings |= more_settings or {}
    return starting.run()


def start_temporary(*, check: Callable[[], None], say: Callable[[str], None]) -> PostgresServer:
    """A server without durability whose folder goes with it, even when the launcher is killed."""
    user = accounts.server_user()
    home = accounts.temporary_folder("postgres", user)
    cluster = Cluster(home, user)
    try:
        return Starting(cluster, home / "log", durable=False, temporary=True, check=check, say=say).run()
    except BaseException:
        cluster.remove()
        raise


class Starting:
    """Attempts until the server is ready: a free port may be taken, old backends may linger."""

    def __init__(
        self,
        cluster: Cluster,
        log: Path,
        *,
        durable: bool,
        temporary: bool,
        check: Callable[[], None],
        say: Callable[[str], None],
    ) -> None:
        self.cluster = cluster
        self.log = log
        self.durable = durable
        self.temporary = temporary
        self.check = check
        self.say = say
        self.settings = {**SETTINGS, **({} if durable else FAST)}

    def run(self) -> PostgresServer:
        """The running server. Raises ServiceError."""
        programs = binaries.installation(self.cluster.user)
        self.cluster.prepare()
        with self.cluster.lock(self.check) as lock:
            if not self.cluster.exists:
                self.say("creating an empty database")
            for _ in range(ATTEMPTS):
                port = ports.free_port()
                child = self._launch(programs, port, lock)
                try:
                    ready = self._becomes_ready(child)
                except BaseException:
                    child.stop()
                    raise
                if ready:
                    return self._server(child, port)
                child.stop()
                self._require_temporary_trouble()
                time.sleep(RETRY_SECONDS)
        raise self._failure("it did not start")

    def _launch(self, programs: Path, port: int, lock: int) -> Child:
        settings = {**self.settings, "port": str(port)}
        arguments = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        durability = "durable" if self.durable else "fast"
        env = {**accounts.CLEAN_ENVIRONMENT, "PASSWORD": self.cluster.password(), "DATABASE": DATABASE}
        if self.cluster.stale_pid_file():
            env["STALE_PID_FILE"] = "yes"
        with self.log.open("ab") as log, reading(LAUNCH.read_text()) as script:
            return Child.start(
                ["/bin/sh", "-s", "--", str(programs), str(self.cluster.data), durability, *arguments],
                env=env,
                cwd="/",
                stop_plan=STOP,
                stdin=script,
                stdout=log,
                user=self.cluster.user,
                remove=self.cluster.home if self.temporary else None,
                inherit=[lock],
            )

    def _becomes_ready(self, child: Child) -> bool:
        """False when the server has ended."""
        started = spoken = time.monotonic()
        while child.running:
            self.check()
            lines = self.cluster.pid_file()
            if child.pid is not None and lines[:1] == [str(child.pid)] and lines[7:8] and "ready" in lines[7]:
                return True
            now = time.monotonic()
            if now - started > START_SECONDS:
                raise self._failure(f"it was not ready after {START_SECONDS:.0f} seconds")
            if now - spoken > PROGRESS_SECONDS:
                spoken = now
                self.say(f"still starting: {' '.join(self._last_lines(1))}")
            time.sleep(POLL_SECONDS)
        return False

    def _server(self, child: Child, port: int) -> PostgresServer:
        url = f"postgresql://postgres:{self.cluster.password()}@{ports.HOST}:{port}/{DATABASE}"
        return PostgresServer(url, port, child, self.cluster, self.temporary)

    def _require_temporary_trouble(self) -> None:
        said = "\n".join(self._last_lines(10))
        if PORT_TAKEN not in said and OLD_BACKENDS not in said:
            raise self._failure("it ended while starting")

    def _failure(self, why: str) -> ServiceError:
        return ServiceError(
            PART,
            why,
            f"read {self.log}; a full disk or too little memory are the usual causes"
            if not self.temporary
            else "a full disk or too little memory are the usual causes",
            self._last_lines(12),
        )

    def _last_lines(self, count: int) -> list[str]:
        try:
            with self.log.open(errors="replace") as file:
                return [line.rstrip() for line in deque(file, count)]
        except OSError:
            return []
