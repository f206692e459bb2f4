"""Run one command beside the services it needs, and leave nothing of them behind."""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from config.demo.services import postgres, redis
from config.demo.services.child import TERMINATE, Child
from config.demo.services.failure import ServiceError
from config.demo.services.stopping import StopRequestedError, StopRequests

PATIENCE_SECONDS = 60.0
IMPATIENT = 3
# What the product reads, by name or beginning. A test run must depend on none of it, least of all on the
# credentials of the person at the keyboard.
PRODUCT_VARIABLES = (
    *(
        "ALLOWED_HOSTS",
        "ASSISTANT_",
        "AUDIT_SINK",
        "DEMO_",
        "DJANGO_",
        "EMAIL_URL",
        "GATEWAY_",
        "LEDGER_SOURCE_",
        "METRICS_TOKEN",
    ),
    *("LOG_FORMAT", "OPENAI_", "POLICY_SOURCE_URL", "PUBLIC_URL", "RECOVERY_", "SECRET_KEY", "STRIPE_"),
)
TEST_ENVIRONMENT = {
    "SECRET_KEY": "for-tests-only-and-long-enough-to-be-accepted-0123456789",
    "ALLOWED_HOSTS": "testserver,127.0.0.1,localhost",
}


def run(command: Sequence[str], *, tests: bool) -> int:
    """The command's exit code, 128 + signal when it was killed.

    Starts what DATABASE_URL and REDIS_URL don't name already, in temporary folders, and passes both on.
    `tests` replaces the product's other variables by those for tests.
    """
    with StopRequests() as requests, ExitStack() as started:
        try:
            env = dict(os.environ)
            if tests:
                env = test_environment(env)
            urls = _services(env, requests, started)
            return _attend(command, {**env, **urls}, requests)
        except ServiceError as failure:
            _say(str(failure))
            return 1
        except StopRequestedError as request:
            return request.exit_code


def test_environment(env: Mapping[str, str]) -> dict[str, str]:
    """`env` with the product's variables for tests in place of the person's own."""
    kept = {name: value for name, value in env.items() if not name.startswith(PRODUCT_VARIABLES)}
    return {**kept, **TEST_ENVIRONMENT}


def _services(env: Mapping[str, str], requests: StopRequests, started: ExitStack) -> dict[str, str]:
    urls = {}
    if not env.get("DATABASE_URL"):
        began = time.monotonic()
        database = postgres.start_temporary(check=requests.check, say=lambda _: None)
        started.callback(database.stop)
        urls["DATABASE_URL"] = database.url
        _say(f"PostgreSQL on port {database.port} ({time.monotonic() - began:.1f} s)")
    if not env.get("REDIS_URL"):
        began = time.monotonic()
        broker = redis.start(check=requests.check)
        started.callback(broker.stop)
        urls["REDIS_URL"] = broker.url
        _say(f"Redis on port {broker.port} ({time.monotonic() - began:.1f} s)")
    return urls


def _attend(command: Sequence[str], env: Mapping[str, str], requests: StopRequests) -> int:
    """Wait for the command; it gets each stop signal once, as from a terminal, and has a minute to end."""
    requests.check()
    child = Child.start(command, env=env, cwd=Path.cwd(), stop_plan=TERMINATE, stdin=None, whole_group=True)
    try:
        passed_on = 0
        deadline: float | None = None
        while (code := child.wait(0.2)) is None:
            for signum in requests.received[passed_on:]:
                passed_on += 1
                child.send(signum)
                deadline = deadline or time.monotonic() + PATIENCE_SECONDS
            if passed_on >= IMPATIENT or (deadline is not None and time.monotonic() > deadline):
                child.kill()
        return code
    finally:
        child.stop()


def _say(text: str) -> None:
    print(f"services: {text}", file=sys.stderr, flush=True)
