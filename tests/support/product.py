"""The product as the processes that a deployment runs: pages, workers, beat, and the two simulators beside them.

The worker that moves money has no credentials of the model, and the other one none of the provider.
"""

import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.core.management import call_command

from config.demo.services import ports
from ledger.clock import now_utc
from tests.factories import qualify_model
from tests.support.gateway_simulator import GatewaySimulator
from tests.support.model_simulator import ModelSimulator
from tests.support.workers import broker_url, purge, wait_until

_ROOT = Path(__file__).resolve().parents[2]
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Product:
    """Pages and simulators from ``start`` on, workers between ``start_workers`` and ``stop_workers``.

    ``folder`` takes every log, the simulators' books and the mail.
    """

    def __init__(self, *, folder: Path) -> None:
        self.folder = folder
        self.url = f"http://{ports.HOST}:{ports.free_port()}"
        self._web: list[subprocess.Popen[bytes]] = []
        self._workers: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start the simulators and the pages, and return once the pages answer."""
        purge()
        self.gateway = GatewaySimulator(book=self.folder / "gateway.sqlite3")
        self.model = ModelSimulator(book=self.folder / "model.sqlite3")
        self._web.append(
            self._run("web", "gunicorn", "config.wsgi:application", "--bind", self.url.removeprefix("http://"),
                      "--threads", "8", "--no-control-socket")
        )  # fmt: skip
        wait_until(self._answers, seconds=90, what=f"an answer of the pages at {self.url}")

    def start_workers(self) -> None:
        """Start the workers and beat; what is asked of them before they are ready waits for them."""
        self._qualify()
        self._workers += [
            self._worker("money", "money", **self._gateway_credentials()),
            self._worker("others", "assistant,mail,default", beat=True, **self._model_credentials()),
        ]

    @contextmanager
    def halted(self) -> Iterator[None]:
        """Let the workers stand still, so that what is done meanwhile is seen before they take it on."""
        for process in self._workers:
            os.killpg(process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for process in self._workers:
                os.killpg(process.pid, signal.SIGCONT)

    def stop_workers(self) -> None:
        """End the workers and forget what they did not do."""
        _stop(self._workers)
        purge()

    def stop(self) -> None:
        """End everything that was started."""
        self.stop_workers()
        _stop(self._web)
        for simulator in (getattr(self, "gateway", None), getattr(self, "model", None)):
            if simulator is not None:
                simulator.stop()

    def forget(self) -> None:
        """Empty every table and both simulators."""
        call_command("flush", verbosity=0, interactive=False)
        self._qualify()
        self.gateway.reset()
        self.model.reset()

    def _worker(self, name: str, queues: str, *, beat: bool = False, **env: str) -> subprocess.Popen[bytes]:
        with_beat = ("--beat", "--schedule", str(self.folder / "beat-schedule")) if beat else ()
        return self._run(
            name, "celery", "-A", "config.celery", "worker", "--concurrency", "1", "--queues", queues,
            "--hostname", f"{name}@%h", "--loglevel", "INFO", "--without-mingle", "--without-gossip",
            "--without-heartbeat", *with_beat, **env,
        )  # fmt: skip

    def _run(self, name: str, module: str, *arguments: str, **env: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                cwd=_ROOT,
                env={**self._env(), **env},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _env(self) -> dict[str, str]:
        database = settings.DATABASES["default"]
        who = f"{database['USER']}:{database['PASSWORD']}"
        kept = {name: value for name, value in os.environ.items() if name != "DJANGO_ALLOW_ASYNC_UNSAFE"}
        return {
            **kept,
            "DATABASE_URL": f"postgresql://{who}@{database['HOST']}:{database['PORT']}/{database['NAME']}",
            "REDIS_URL": broker_url(),
            "PUBLIC_URL": self.url,
            "ALLOWED_HOSTS": f"{ports.HOST},testserver",
            "DEMO_MODE": "1",  # the simulators speak plain HTTP
            "EMAIL_URL": (self.folder / "mail").as_uri(),
            "RECOVERY_INTERVAL_SECONDS": "2",
            "GATEWAY_TIMEOUT_SECONDS": "20",  # a busy machine answers late, and that is not tested here
            "ASSISTANT_DEADLINE_SECONDS": "20",
            "LOG_FORMAT": "text",
        }

    def _qualify(self) -> None:
        """Let the model be asked, as after its evaluation."""
        qualify_model(base_url=self.model.url, model=self.model.model, at=now_utc())

    def _gateway_credentials(self) -> dict[str, str]:
        return {"STRIPE_API_KEY": self.gateway.api_key, "STRIPE_API_BASE": self.gateway.url}

    def _model_credentials(self) -> dict[str, str]:
        return {
            "OPENAI_BASE_URL": self.model.url,
            "OPENAI_API_KEY": self.model.api_key,
            "ASSISTANT_MODELS": self.model.model,
        }

    def _answers(self) -> bool:
        if (code := self._web[0].poll()) is not None:
            raise RuntimeError(f"the pages ended with {code}:\n{self._end_of_web_log()}")
        try:
            # The first page loads most of the product, which nobody should wait for in a test.
            with _DIRECT.open(f"{self.url}/accounts/login/", timeout=60):
                return True
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"the pages answer {error.code}:\n{self._end_of_web_log()}") from error
        except OSError:
            return False

    def _end_of_web_log(self) -> str:
        return (self.folder / "web.log").read_text(errors="replace")[-2000:]


def _stop(processes: list[subprocess.Popen[bytes]]) -> None:
    """End whole process groups: first all politely, then each by force if it stays."""
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
    for process in processes:
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)
    processes.clear()
