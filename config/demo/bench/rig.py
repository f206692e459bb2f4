"""What runs around the product while the bench measures: services on a disk, and the stubs."""

import shutil
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from config.demo.bench.cost import Pids
from config.demo.bench.database import SETTINGS
from config.demo.bench.options import Options
from config.demo.bench.product import PARTS, PYTHON, PidKeeper, Product
from config.demo.runner.console import Console
from config.demo.runner.desk import open_desk
from config.demo.runner.part import Part
from config.demo.runner.probes import listens
from config.demo.runner.process import Echo, Process
from config.demo.runner.state_folder import StateFolder
from config.demo.services import accounts, binaries, ports, postgres, redis
from config.demo.services.stopping import StopRequestedError, StopRequests

CHECKOUT: Final = Path(__file__).resolve().parents[3]


@dataclass
class Rig:
    """The running parts; the product is started after the seeding, which needs an idle system."""

    product: Product
    supervisor: PidKeeper
    database: postgres.PostgresServer
    broker: redis.RedisServer

    @classmethod
    def open(cls, options: Options, console: Console, requests: StopRequests, stack: ExitStack) -> Self:
        """Start services and stubs on a disk. All ends with ``stack``; the folder stays only after a failure."""
        folder = _folder(options)

        def remove(kind: type[BaseException] | None, *_error: object) -> None:
            if not options.keep and (kind is None or issubclass(kind, StopRequestedError)):
                shutil.rmtree(folder, ignore_errors=True)

        stack.push(remove)
        state = StateFolder(folder, checkout=CHECKOUT)
        state.make_folders()
        supervisor = PidKeeper(cwd=CHECKOUT, logs=state.logs, console=console, requests=requests)
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
        rig = cls(Product(options, desk), supervisor, database, broker)
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
        return self.product.desk.state.path

    def step(self, name: str, module: str, *arguments: str) -> Process:
        """Return a module that runs to its end, with all credentials; its output is in ``logs/NAME.log``."""
        command = (PYTHON, "-m", module, *arguments)
        env = self.product.everything_env
        return Process(name=name, command=command, env=env, doing="working", echo=Echo.LOG_ONLY)

    def pids(self, *, watcher: int) -> Pids:
        """Return whose time is counted."""
        product = tuple(self.supervisor.pids[name] for name in PARTS)
        return Pids(product, self.database.child.pid or 0, self.broker.child.pid or 0, watcher)

    def stubs(self) -> Process:
        """Return the provider and the model."""
        desk = self.product.desk
        wanted = (str(desk.gateway_port), str(desk.model_port))
        return Process(
            name="stubs",
            command=(PYTHON, "-m", "config.demo.bench.stubs", *wanted),
            env=self.product.env(desk.env),
            doing="starting a provider and a model that answer at once",
            ready=listens(ports.HOST, desk.model_port),
        )


def _folder(options: Options) -> Path:
    if options.folder is not None:
        options.folder.mkdir(parents=True, exist_ok=True)
        folder = options.folder.resolve()
    else:
        folder = accounts.temporary_folder("bench", accounts.server_user())
    folder.chmod(0o755)  # the database server's account must be able to pass
    return folder
