"""Single processes of the product, as they are deployed, that a test may freeze and kill."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from django.conf import settings

from config.demo.services import ports

_ROOT = Path(__file__).resolve().parents[2]
ALL_QUEUES = "assistant,money,mail,default"


class Deployed:
    """One process and its children, in a process group of their own."""

    def __init__(self, *command: str, env: Mapping[str, str], log: Path) -> None:
        self.log = log
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=_ROOT,
                env=dict(env),
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    def freeze_parent(self) -> None:
        """Stop the parent where it is; its children go on."""
        os.kill(self._process.pid, signal.SIGSTOP)

    def kill(self) -> None:
        """End parent and children as a power cut would."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(30)

    def stop(self) -> None:
        """End it politely, and by force what stays."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()


def environment(*, database_url: str, redis_url: str, **more: str) -> dict[str, str]:
    """Return what every process of one deployment reads; ``more`` are its own variables."""
    kept = {name: value for name, value in os.environ.items() if name != "DJANGO_ALLOW_ASYNC_UNSAFE"}
    return {
        **kept,
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "DEMO_MODE": "1",  # the provider's simulator speaks plain HTTP
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "RECOVERY_INTERVAL_SECONDS": "1",
        "LOG_FORMAT": "text",
        **more,
    }


def database_url_of_tests() -> str:
    """Return the address of the test run's own database."""
    database = settings.DATABASES["default"]
    who = f"{database['USER']}:{database['PASSWORD']}"
    return f"postgresql://{who}@{database['HOST']}:{database['PORT']}/{database['NAME']}"


def start_worker(
    *, env: Mapping[str, str], log: Path, concurrency: int, queues: str = ALL_QUEUES, beat: bool = False
) -> Deployed:
    """Start a Celery worker; a beat that was killed leaves a schedule behind, so each has its own."""
    schedule = log.with_name(f"beat-{ports.free_port()}")
    return Deployed(
        *("celery", "-A", "config.celery", "worker", "--concurrency", str(concurrency), "--queues", queues),
        *("--hostname", f"{log.stem}@%h", "--loglevel", "INFO"),
        *("--without-mingle", "--without-gossip", "--without-heartbeat"),
        *(("--beat", "--schedule", str(schedule)) if beat else ()),
        env=env,
        log=log,
    )


def start_web(*, env: Mapping[str, str], log: Path, port: int, threads: int) -> Deployed:
    """Start one process of pages and API on ``port``."""
    return Deployed(
        *("gunicorn", "config.wsgi:application", "--bind", f"{ports.HOST}:{port}"),
        *("--threads", str(threads), "--no-control-socket"),
        env=env,
        log=log,
    )
