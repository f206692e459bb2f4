"""A real Celery worker with its beat, as processes of their own that can be killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import redis
from celery import Celery
from django.conf import settings

from config.celery import app as configured

_ROOT = Path(__file__).resolve().parents[2]


def broker_url() -> str:
    """The test run's Redis, with a database of this xdist worker's own."""
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) + 1
    return urlsplit(settings.CELERY_BROKER_URL)._replace(path=f"/{number}").geturl()


class Worker:
    """One worker process group; ``kill`` ends parent and children as a power cut would."""

    def __init__(
        self,
        *,
        log: Path,
        gateway_url: str = "",
        api_key: str = "",
        beat: bool = True,
        queues: str = "assistant,money,mail,default",
        app: str = "config.celery",
        options: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._log = log.open("ab")
        command = [sys.executable, "-m", "celery", "-A", app, "worker", "--concurrency", "1", *options]
        if beat:
            command += ["--beat", "--schedule", str(log.with_suffix(".schedule"))]
        self._process = subprocess.Popen(
            [*command, "--queues", queues, "--loglevel", "INFO", "--without-mingle",
             "--without-gossip", "--without-heartbeat"],
            cwd=_ROOT,
            env=self._env(gateway_url, api_key) | dict(environment or {}),
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip

    def _env(self, gateway_url: str, api_key: str) -> dict[str, str]:
        database = settings.DATABASES["default"]
        who = f"{database['USER']}:{database['PASSWORD']}"
        url = f"postgresql://{who}@{database['HOST']}:{database['PORT']}/{database['NAME']}"
        return {
            **os.environ,
            "DATABASE_URL": url,
            "REDIS_URL": broker_url(),
            "DEMO_MODE": "1",
            "STRIPE_API_KEY": api_key,
            "STRIPE_API_BASE": gateway_url,
            "GATEWAY_TIMEOUT_SECONDS": "1",
            "RECOVERY_INTERVAL_SECONDS": "1",
        }

    @property
    def environment(self) -> dict[str, str]:
        """What the running process was started with, as the system knows it."""
        entries = Path(f"/proc/{self._process.pid}/environ").read_text().split("\0")
        return dict(entry.split("=", 1) for entry in entries if "=" in entry)

    def kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(10)
        self._log.close()

    def stop(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            try:
                self._process.wait(15)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait(10)
        self._log.close()


def send(task: str, **kwargs: str) -> None:
    """Enqueue a task on the test run's own broker database."""
    app = Celery("tests", broker=broker_url(), set_as_current=False)
    app.conf.update(
        task_routes=configured.conf.task_routes,
        task_default_queue=configured.conf.task_default_queue,
        task_ignore_result=True,
    )
    with app.connection_for_write() as connection:
        app.send_task(f"refunds.{task}", kwargs=kwargs, connection=connection)


def purge() -> None:
    """Forget everything that is queued on this broker database."""
    with redis.Redis.from_url(broker_url()) as client:
        client.flushdb()


def wait_until(condition, *, seconds: float = 60.0, what: str = "the condition"):
    """Poll until ``condition()`` is true and return its value."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not hold within {seconds:.0f} s")
        time.sleep(0.1)
    return value
