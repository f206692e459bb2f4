"""The table of everything that `make demo` starts, in order, and with which credentials.

The worker that asks the model has no gateway credentials, the worker that moves money has none for the model,
and the pages have neither: only what the provider's events are signed with. What runs once, before and after
them, to set up and to tell the story, has both.
"""

import signal
import sys
from collections.abc import Mapping

from config.demo.credentials import PASSWORD
from config.demo.demo_data import DATA
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
    """The refund desk with its four simulators."""
    return Plan(
        processes=(
            *_simulators(desk),
            _manage("migrate", desk.env, "bringing the tables up to date", "migrate", "--no-input"),
            _manage(
                "load",
                {**desk.model_env, **desk.gateway_env},
                "loading the demo's merchants, customers and orders, and evaluating its model",
                *("load_demo", "--shop-orders", str(desk.shop_orders)),
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


def _simulators(desk: Desk) -> tuple[Process, ...]:
    """The provider with its events, the model, the shop and the mail server: none knows the product.

    With MODEL=local the model is a real one.
    """
    events = ("--webhook-url", f"{desk.web_url}/webhooks/stripe")
    signed = ("--webhook-secret", desk.state.webhook_secret())
    mail = ("--smtp-port", str(desk.smtp_port), "--outbox", str(desk.mailbox))
    return (
        _simulator("gateway", desk.gateway_port, desk, "--book", str(desk.book("gateway")), *events, *signed),
        _local_model(desk)
        if desk.local_model
        else _simulator("model", desk.model_port, desk, "--book", str(desk.book("model"))),
        _simulator("shop", desk.shop_port, desk, "--book", str(DATA)),
        _simulator("mail", desk.mail_port, desk, *mail, process="mailserver"),
    )


def _simulator(name: str, port: int, desk: Desk, *arguments: str, process: str = "") -> Process:
    return Process(
        name=process or name,
        command=(PYTHON, "-m", f"config.demo.{name}_simulator", "--port", str(port), *arguments),
        env=desk.env,
        doing=f"starting the {name} simulator on port {port}",
        ready=listens(ports.HOST, port),
    )


def _local_model(desk: Desk) -> Process:
    return Process(
        name="model",
        command=(PYTHON, "-m", "config.demo.local_model", "--port", str(desk.model_port)),
        env=desk.env,
        doing=f"loading a real model on port {desk.model_port}",
        ready=says(r"^local model ready"),
        advice="make demo MODEL=local installs what it needs; read its log, put right what it says",
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
        env=desk.web_env,
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
        command=(
            *(PYTHON, "manage.py", "demo", "--shop-orders", str(desk.shop_orders)),
            *("--mail-control", desk.mail_url),
            *(("--local-model",) if desk.local_model else ()),
        ),
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
            f"  Invariants        {desk.web_url}/admin/review/scoreboard/   (the operator's)",
            f"  Metrics           {desk.web_url}/metrics",
            f"  Provider's book   {desk.web_url}/demo/provider/   (beside ours; for staff)",
            f"  All its refunds   {desk.gateway_url}/_sim/refunds",
            f"  Provider's events {desk.gateway_url}/_sim/webhooks",
            f"  Shop's orders     {desk.shop_url}/_sim/orders",
            f"  Mailbox           {desk.mail_url}/_sim/messages",
            f"  Logs, mail        {desk.state.path}",
            "",
            "  Outcomes are looked up after seconds here, and a refund counts as absent after 5 s instead of 15",
            "  minutes: the demo shortens the provider's windows (GATEWAY_CONTRACT_OVERRIDES).",
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
