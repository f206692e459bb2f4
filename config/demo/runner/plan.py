"""The table of everything that `make demo` starts, in order, and with which credentials.

The worker that asks the model has no gateway credentials, the worker that moves money has none for the model,
and the pages have neither.
"""

import signal
import sys
from collections.abc import Mapping

from config.demo.credentials import PASSWORD
from config.demo.runner.desk import Desk
from config.demo.runner.probes import answers, listens, says
from config.demo.runner.process import Echo, Plan, Process
from config.demo.services import ports
from config.demo.services.child import StopPlan

PYTHON = sys.executable
CELERY = (PYTHON, "-m", "celery", "-A", "config.celery")
# TERM lets a worker finish its task, QUIT drops it: acks_late and the scanners pick it up at the next start.
WORKER_STOP = StopPlan(((signal.SIGTERM, 8.0), (signal.SIGQUIT, 3.0)))


def demo_plan(desk: Desk) -> Plan:
    """The refund desk with its two simulators."""
    return Plan(
        processes=(
            _simulator("gateway", desk.gateway_port, desk),
            _simulator("model", desk.model_port, desk),
            _manage("migrate", desk.env, "bringing the tables up to date", "migrate", "--no-input"),
            _manage(
                "load", desk.gateway_env, "loading the demo's merchants, customers and orders", "load_demo"
            ),
            _web(desk),
            _worker("money", "money", desk.gateway_env, concurrency=1),
            _worker("assistant", "assistant", desk.model_env, concurrency=1),
            _worker("default", "default", desk.env, concurrency=1),
            _worker("mail", "mail", desk.env, concurrency=1),
            _beat(desk),
        ),
        story=_story(desk),
        welcome=_welcome(desk),
    )


def _manage(name: str, env: Mapping[str, str], doing: str, *arguments: str) -> Process:
    return Process(
        name=name, command=(PYTHON, "manage.py", *arguments), env=env, doing=doing, echo=Echo.LOG_ONLY
    )


def _simulator(name: str, port: int, desk: Desk) -> Process:
    module, book = f"config.demo.{name}_simulator", str(desk.book(name))
    return Process(
        name=name,
        command=(PYTHON, "-m", module, "--port", str(port), "--book", book),
        env=desk.env,
        doing=f"starting the {name} simulator on port {port}",
        ready=listens(ports.HOST, port),
    )


def _web(desk: Desk) -> Process:
    address = f"{ports.HOST}:{desk.web_port}"
    return Process(
        name="web",
        command=(
            *(PYTHON, "-m", "gunicorn", "config.wsgi:application", "--bind", address),
            *("--threads", "8", "--graceful-timeout", "5"),
            # Its control socket would lie in the home folder.
            "--no-control-socket",
        ),
        env=desk.env,
        doing=f"starting the pages on {desk.web_url}",
        ready=answers(f"{desk.web_url}/livez"),
    )


def _worker(name: str, queues: str, env: Mapping[str, str], *, concurrency: int) -> Process:
    return Process(
        name=name,
        command=(
            *CELERY,
            *("worker", "--queues", queues, "--hostname", f"{name}@%h"),
            *("--concurrency", str(concurrency), "--loglevel", "INFO"),
            *("--without-mingle", "--without-gossip", "--without-heartbeat"),
        ),
        env=env,
        doing=f"starting the worker for {queues}",
        ready=says(r"@\S+ ready\b"),
        echo=Echo.LOG_ONLY,
        stop_plan=WORKER_STOP,
    )


def _beat(desk: Desk) -> Process:
    return Process(
        name="beat",
        command=(*CELERY, "beat", "--schedule", str(desk.state.path / "beat-schedule"), "--loglevel", "INFO"),
        env=desk.env,
        doing="starting the clock",
        ready=says(r"beat: Starting"),
        echo=Echo.LOG_ONLY,
    )


def _story(desk: Desk) -> Process:
    return Process(
        name="story",
        command=(PYTHON, "manage.py", "demo"),
        env={**desk.model_env, **desk.gateway_env},
        doing="telling the story",
        echo=Echo.PLAIN,
    )


def _welcome(desk: Desk) -> str:
    """The addresses and logins."""
    return "\n".join(
        (
            "",
            f"  Customer pages    {desk.web_url}/support/",
            f"  Review console    {desk.web_url}/admin/review/",
            f"  API               {desk.web_url}/api/docs/",
            f"  Provider's book   {desk.gateway_url}/_sim/refunds",
            f"  Logs, mail        {desk.state.path}",
            "",
            f"  Sign in with the password {PASSWORD} as",
            "    ana@example.com                         a customer; ask about order 2841, 2843 or 2845",
            "    reviewer@harbour-home.example.com       billing staff who may approve (second@… is a colleague)",
            "    viewer@harbour-home.example.com         billing staff who may only look",
            "    admin@refund-desk.example.com           the operator",
            "",
            "  Ctrl-C stops everything and keeps the data; RESET=1 make demo starts fresh.",
        )
    )
