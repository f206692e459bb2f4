"""The product's own processes as the bench runs them: pages, two workers and the beat."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from config.demo.bench.options import Options
from config.demo.runner.desk import Desk
from config.demo.runner.part import Part
from config.demo.runner.probes import answers, says
from config.demo.runner.process import Process
from config.demo.runner.supervisor import Supervisor
from config.demo.services import ports

PYTHON: Final = sys.executable
CELERY: Final = (PYTHON, "-m", "celery", "-A", "config.celery")
# The one that asks the model has no credentials for the provider, and the other way round.
WORKERS: Final = {"assistant": "assistant,default", "money": "money,mail"}
PARTS: Final = ("web", *WORKERS, "beat")


class PidKeeper(Supervisor):
    """Remembers the process id of every part that it starts."""

    pids: dict[str, int]

    def _start(self, process: Process) -> Part:
        part = super()._start(process)
        self.pids = {**getattr(self, "pids", {}), process.name: part.child.pid or 0}
        return part


@dataclass(frozen=True)
class Product:
    """``replaced`` are variables that this run sets in another way."""

    options: Options
    desk: Desk
    replaced: Mapping[str, str] = field(default_factory=dict)

    def env(self, more: Mapping[str, str]) -> dict[str, str]:
        """Return a part's environment: production's pace and logs, the demo's addresses, no other simulator."""
        return {
            **more,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "PYTHONPATH": str(self.desk.state.checkout),
            "RECOVERY_INTERVAL_SECONDS": f"{self.options.interval:g}",
            "NEW_REQUESTS_PER_MINUTE": "10000",
            "GATEWAY_TIMEOUT_SECONDS": "20",
            "GATEWAY_CONTRACT_OVERRIDES": "{}",
            "LEDGER_SOURCE_URL": "",  # local tables: what another system takes to answer is not ours
            "EMAIL_URL": (self.desk.state.path / "mail").as_uri(),
            "LOG_FORMAT": "json",
            **self.replaced,
        }

    @property
    def everything_env(self) -> dict[str, str]:
        """For the steps that do the work of all parts in one process."""
        return self.env({**self.desk.model_env, **self.desk.gateway_env})

    def start(self, supervisor: Supervisor) -> None:
        """Start all of them; returns when all are ready. Raises ServiceError."""
        workers = [self._worker(name, queues) for name, queues in WORKERS.items()]
        for process in (self._web(), *workers, self._beat()):
            supervisor.start(process)
        supervisor.wait_ready()

    def _web(self) -> Process:
        where = ("--bind", f"{ports.HOST}:{self.desk.web_port}")
        return Process(
            name="web",
            command=(
                *(PYTHON, "-m", "gunicorn", "config.wsgi:application", *where),
                *("--threads", "8", "--keep-alive", "75", "--no-control-socket"),
            ),
            env=self.env(self.desk.env),
            doing="starting the pages: 1 process, 8 threads",
            ready=answers(f"{self.desk.web_url}/livez"),
        )

    def _worker(self, name: str, queues: str) -> Process:
        credentials = self.desk.model_env if name == "assistant" else self.desk.gateway_env
        slots = self.options.slots
        return Process(
            name=name,
            command=(
                *CELERY,
                *("worker", "--queues", queues, "--hostname", f"{name}@%h"),
                *("--pool", self.options.pool, "--concurrency", str(slots), "--loglevel", "INFO"),
                *("--without-mingle", "--without-gossip", "--without-heartbeat"),
            ),
            env=self.env(credentials),
            doing=f"starting a worker for {queues}: {slots} {self.options.pool} slots",
            ready=says(r"@\S+ ready\b"),
        )

    def _beat(self) -> Process:
        schedule = str(self.desk.state.path / "beat-schedule")
        return Process(
            name="beat",
            command=(*CELERY, "beat", "--schedule", schedule, "--loglevel", "INFO"),
            env=self.env(self.desk.env),
            doing=f"starting the beat, every {self.options.interval:g} s",
            ready=says(r"beat: Starting"),
        )
