"""Everything that runs while the bench measures: services, stubs, pages, two workers and the beat."""

import shutil
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from config.demo.bench.cost import Pids
from config.demo.bench.database import SETTINGS
from config.demo.bench.options import Options
from config.demo.runner.console import Console
from config.demo.runner.desk import Desk, open_desk
from config.demo.runner.part import Part
from config.demo.runner.probes import answers, listens, says
from config.demo.runner.process import Echo, Process
from config.demo.runner.state_folder import StateFolder
from config.demo.runner.supervisor import Supervisor
from config.demo.services import accounts, binaries, ports, postgres, redis
from config.demo.services.stopping import StopRequests

CHECKOUT: Final = Path(__file__).resolve().parents[3]
PYTHON: Final = sys.executable
CELERY: Final = (PYTHON, "-m", "celery", "-A", "config.celery")
# The one that asks the model has no credentials for the provider, and the other way round.
WORKERS: Final = {"assistant": "assistant,default", "money": "money,mail"}


class _PidKeeper(Supervisor):
    """Remembers the process id of every part that it starts."""

    pids: dict[str, int]

    def _start(self, process: Process) -> Part:
        part = super()._start(process)
        self.pids = {**getattr(self, "pids", {}), process.name: part.child.pid or 0}
        return part


@dataclass
class Rig:
    """The running parts. ``start_product`` comes after the seeding, which needs an idle system."""

    options: Options
    desk: Desk
    supervisor: _PidKeeper
    database: postgres.PostgresServer
    broker: redis.RedisServer

    @classmethod
    def open(cls, options: Options, console: Console, requests: StopRequests, stack: ExitStack) -> Self:
        """Start services and stubs on a disk; everything ends, and its folder goes, with ``stack``."""
        folder = _folder(options)
        if not options.keep:
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
        state = StateFolder(folder, checkout=CHECKOUT)
        state.make_folders()
        supervisor = _PidKeeper(cwd=CHECKOUT, logs=state.logs, console=console, requests=requests)
        stack.callback(supervisor.stop_all)
        log = state.logs / "postgres.log"
        database = postgres.start(
            state.cluster(),
            log=log,
            durable=True,
            check=requests.check,
            say=console.progress,
            more_settings=SETTINGS,
        )
        supervisor.adopt(Part("postgres", database.child, log, "look into its log", database.stop))
        broker = redis.start(check=requests.check, log=state.logs / "redis.log")
        supervisor.adopt(
            Part("redis", broker.child, state.logs / "redis.log", "look into its log", broker.stop)
        )
        desk = open_desk(state, database_url=database.url, redis_url=broker.url)
        rig = cls(options, desk, supervisor, database, broker)
        supervisor.start(rig.stubs())
        supervisor.start(rig.step("migrate", "django", "migrate", "--no-input", "-v", "0"))
        return rig

    @property
    def data(self) -> Path:
        """PGDATA."""
        return self.database.cluster.data

    @property
    def programs(self) -> Path:
        """The folder whose ``bin`` holds pg_waldump."""
        return binaries.installation(accounts.server_user())

    @property
    def folder(self) -> Path:
        """Where everything of this run lies."""
        return self.desk.state.path

    def env(self, more: Mapping[str, str]) -> dict[str, str]:
        """Return a part's environment: production's pace and logs, on the demo's addresses."""
        return {
            **more,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "PYTHONPATH": str(CHECKOUT),
            "RECOVERY_INTERVAL_SECONDS": f"{self.options.interval:g}",
            "NEW_REQUESTS_PER_MINUTE": "10000",
            "LOG_FORMAT": "json",
        }

    def step(self, name: str, module: str, *arguments: str) -> Process:
        """Return a module that runs to its end, with all credentials; its output is in ``logs/NAME.log``."""
        command = (PYTHON, "-m", module, *arguments)
        env = self.env({**self.desk.model_env, **self.desk.gateway_env})
        return Process(name=name, command=command, env=env, doing="working", echo=Echo.LOG_ONLY)

    def start_product(self) -> None:
        """Start pages, workers and beat; returns when all are ready."""
        workers = [self._worker(name, queues) for name, queues in WORKERS.items()]
        for process in (self._web(), *workers, self._beat()):
            self.supervisor.start(process)
        self.supervisor.wait_ready()

    def pids(self, *, watcher: int) -> Pids:
        """Return whose time is counted."""
        product = tuple(self.supervisor.pids[name] for name in ("web", *WORKERS, "beat"))
        return Pids(product, self.database.child.pid or 0, self.broker.child.pid or 0, watcher)

    def stubs(self) -> Process:
        """Return the provider and the model."""
        wanted = (str(self.desk.gateway_port), str(self.desk.model_port))
        return Process(
            name="stubs",
            command=(PYTHON, "-m", "config.demo.bench.stubs", *wanted),
            env=self.env(self.desk.env),
            doing="starting a provider and a model that answer at once",
            ready=listens(ports.HOST, self.desk.model_port),
        )

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
        schedule = str(self.folder / "beat-schedule")
        return Process(
            name="beat",
            command=(*CELERY, "beat", "--schedule", schedule, "--loglevel", "INFO"),
            env=self.env(self.desk.env),
            doing=f"starting the beat, every {self.options.interval:g} s",
            ready=says(r"beat: Starting"),
        )


def _folder(options: Options) -> Path:
    if options.folder is not None:
        options.folder.mkdir(parents=True, exist_ok=True)
        folder = options.folder.resolve()
    else:
        folder = accounts.temporary_folder("bench", accounts.server_user())
    folder.chmod(0o755)  # the database server's account must be able to pass
    return folder
