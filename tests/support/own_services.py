"""A PostgreSQL and a Redis of one test's own, which it may stop and start again at the same address."""

import signal
from pathlib import Path
from typing import Self
from unittest import mock

import redis as redis_client

from config.demo.services import accounts, ports, postgres, redis
from config.demo.services.child import TERMINATE, Child, reading
from config.demo.services.cluster import Cluster
from tests.support.workers import wait_until


class OwnPostgres:
    """A server that keeps what was committed, like one in production; for a ``with``."""

    def __init__(self, *, log: Path) -> None:
        user = accounts.server_user()
        self._cluster = Cluster(accounts.temporary_folder("postgres", user), user)
        self._log = log
        self._server = self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.stop()
        self._cluster.remove()

    @property
    def url(self) -> str:
        return self._server.url

    def stop_at_once(self) -> None:
        """An immediate shutdown: every session is cut, and the next start begins with recovery."""
        self._server.child.send(signal.SIGQUIT)
        assert self._server.child.wait(60) is not None
        self._server.child.stop()  # what is left of it here

    def start_again(self) -> None:
        """Start at the same address, and return once it accepts connections."""
        with mock.patch.object(ports, "free_port", return_value=self._server.port):
            self._server = self._start()

    def _start(self) -> postgres.PostgresServer:
        # What the operating system would lose in a power cut is not the matter here.
        return postgres.start(
            self._cluster,
            log=self._log,
            durable=True,
            check=lambda: None,
            say=lambda _: None,
            more_settings={"fsync": "off"},
        )


class OwnRedis:
    """A server that keeps nothing; for a ``with``."""

    def __init__(self, *, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self._port, self._password = ports.free_port(), "only-for-this-test"
        self.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._child.stop()

    @property
    def url(self) -> str:
        return f"redis://:{self._password}@{ports.HOST}:{self._port}/0"

    def start(self) -> None:
        """Start at the one address, and return once it answers."""
        config = redis.SETTINGS.format(port=self._port, password=self._password, folder=self._folder)
        with (self._folder / "log").open("ab") as output, reading(config) as stdin:
            self._child = Child.start(
                [redis.find_program(), "-"],
                env=accounts.CLEAN_ENVIRONMENT,
                cwd="/",
                stop_plan=TERMINATE,
                stdin=stdin,
                stdout=output,
            )
        wait_until(self._answers, seconds=60, what="an answer of Redis")

    def flush(self) -> None:
        """Forget everything."""
        with redis_client.Redis.from_url(self.url) as client:
            client.flushall()

    def kill(self) -> None:
        """End it as a power cut would; what was in it is gone."""
        self._child.send(signal.SIGKILL)
        assert self._child.wait(60) is not None
        self._child.stop()  # what is left of it here

    def _answers(self) -> bool:
        try:
            with redis_client.Redis.from_url(self.url) as client:
                return bool(client.ping())
        except redis_client.RedisError:
            return False
