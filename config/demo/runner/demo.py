"""The demo from the first line to the last: services, table, story, stay, stop."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Self
from urllib.parse import urlsplit

from config.demo.runner.console import Console
from config.demo.runner.desk import Desk, open_desk
from config.demo.runner.part import Part
from config.demo.runner.process import Plan
from config.demo.runner.state_folder import StateFolder
from config.demo.runner.supervisor import Supervisor
from config.demo.services import postgres, redis
from config.demo.services.failure import ServiceError
from config.demo.services.stopping import StopRequestedError, StopRequests

LOCAL: Final = "local"


@dataclass(frozen=True)
class Wishes:
    """What the person asked for: RESET=1, ONCE=1, LOGS=1, MODEL=local, and services of their own."""

    reset: bool = False
    once: bool = False
    logs: bool = False
    local_model: bool = False
    database_url: str = ""
    redis_url: str = ""

    @classmethod
    def read(cls, env: Mapping[str, str]) -> Self:
        """From the environment; empty and 0 mean no. Raises ServiceError for a model that the demo does not have."""
        asked = {name: env.get(name, "") not in {"", "0"} for name in ("RESET", "ONCE", "LOGS")}
        return cls(
            reset=asked["RESET"],
            once=asked["ONCE"],
            logs=asked["LOGS"],
            local_model=_wants_local_model(env.get("MODEL", "")),
            database_url=env.get("DATABASE_URL", ""),
            redis_url=env.get("REDIS_URL", ""),
        )


def _wants_local_model(name: str) -> bool:
    if name not in {"", "0", LOCAL}:
        raise ServiceError("model", f"the demo has no model {name!r}", f"say MODEL={LOCAL}, or leave it out")
    return name == LOCAL


def run_demo(state: StateFolder, plan: Callable[[Desk], Plan], wishes: Wishes, console: Console) -> int:
    """The exit code: the story's, 1 if a part failed, 128 + signal if stopped before the story's end."""
    with StopRequests() as requests:
        try:
            with state.in_use():
                if wishes.reset:
                    _reset(state, wishes, console, requests)
                supervisor = Supervisor(
                    cwd=state.checkout, logs=state.logs, console=console, requests=requests
                )
                try:
                    return _tell(state, plan, wishes, supervisor)
                except ServiceError as failure:
                    console.progress(f"{failure.part}: {failure.why}")
                    raise
                finally:
                    console.following = False
                    supervisor.stop_all()
        except ServiceError as failure:
            console.plain(f"\n{failure}")
            return 1
        except StopRequestedError as request:
            return request.exit_code


def _reset(state: StateFolder, wishes: Wishes, console: Console, requests: StopRequests) -> None:
    state.forget(requests.check)
    state.make_folders()
    console.progress("RESET: the data of earlier starts is removed")
    if wishes.database_url:
        console.progress("RESET: the database of DATABASE_URL is left as it is")


def _tell(state: StateFolder, plan: Callable[[Desk], Plan], wishes: Wishes, supervisor: Supervisor) -> int:
    console = supervisor.console
    for part, url in (("postgres", wishes.database_url), ("redis", wishes.redis_url)):
        if url:
            console.progress(f"{part}: using yours at {urlsplit(url).hostname}:{urlsplit(url).port}")
    desk = open_desk(
        state,
        database_url=wishes.database_url or _start_postgres(state, supervisor),
        redis_url=wishes.redis_url or _start_redis(state, supervisor),
        local_model=wishes.local_model,
    )
    if desk.web_port != desk.preferred_port:
        console.progress(f"port {desk.preferred_port} is taken; the pages use {desk.web_port}")
    demo = plan(desk)
    for process in demo.processes:
        supervisor.start(process)
    told = supervisor.run(demo.story).child.poll() or 0
    if told:
        console.plain(f"\nThe story did not hold: {demo.story.name} ended with exit code {told}.")
    if wishes.once:
        return told
    console.plain(demo.welcome)
    console.following = True
    try:
        supervisor.stay()
    except StopRequestedError:
        return told


def _start_postgres(state: StateFolder, supervisor: Supervisor) -> str:
    log = state.logs / "postgres.log"
    log.write_bytes(b"")
    cluster = state.cluster()
    supervisor.console.progress(f"postgres: starting, data in {cluster.home}")
    server = postgres.start(
        cluster,
        log=log,
        durable=True,
        check=supervisor.check,
        say=lambda text: supervisor.console.progress(f"postgres: {text}"),
    )
    supervisor.adopt(Part("postgres", server.child, log, "start again; it recovers by itself", server.stop))
    supervisor.console.progress(f"postgres: ready on port {server.port}")
    return server.url


def _start_redis(state: StateFolder, supervisor: Supervisor) -> str:
    log = state.logs / "redis.log"
    log.write_bytes(b"")
    server = redis.start(check=supervisor.check, log=log)
    supervisor.adopt(Part("redis", server.child, log, "start again; it keeps nothing", server.stop))
    supervisor.console.progress(f"redis: ready on port {server.port}")
    return server.url
