"""python -m config.demo.services.checks test | slow | lint: the checks of this product, one after the other.

`test` and `slow` need DATABASE_URL and REDIS_URL: `python -m config.demo.services run --tests -- ...` brings both.
All checks run, also after a failure; the exit code is 0 only if every one held.
"""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from config.demo.services.command import TEST_ENVIRONMENT

INTERRUPTED = 130
TEARDOWN_SECONDS = 30.0
PYTHON = (sys.executable, "-m")
PRODUCT = ("config", "refunds", "approvals", "notifications", "policies", "ledger")
# Static checks read the settings and never connect.
UNUSED_SERVICES = {"DATABASE_URL": "postgresql://unused@127.0.0.1/unused", "REDIS_URL": "redis://127.0.0.1/0"}
PRODUCTION = {
    "SECRET_KEY": "a-key-of-production-length-0123456789-abcdefghijklmnopqrstuvwxyz",
    "ALLOWED_HOSTS": "desk.example",
    "PUBLIC_URL": "https://desk.example",
    "STRIPE_API_KEY": "rk_for_the_check_only",
    "STRIPE_WEBHOOK_SECRETS": "whsec_for_the_check_only",
    "EMAIL_URL": "smtps://desk:for-the-check-only@mail.example:465",
}


@dataclass(frozen=True)
class Check:
    """A command that must end with 0; `env` is added to the environment."""

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)


LINT = (
    Check("ruff check", (*PYTHON, "ruff", "check", ".")),
    Check("ruff format", (*PYTHON, "ruff", "format", "--check", ".")),
    Check("mypy", (*PYTHON, "mypy", *PRODUCT)),
    Check(
        "import contracts",
        (sys.executable, "-c", "from importlinter.cli import lint_imports_command as lint; lint()"),
    ),
)
DJANGO = (
    Check("migrations", (sys.executable, "manage.py", "makemigrations", "--check", "--dry-run")),
    Check(
        "deployment",
        (sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"),
        PRODUCTION,
    ),
)
TESTS = (Check("tests", (*PYTHON, "pytest", "-n", "2", "-m", "not slow")),)
# They wait more than they work, and some for minutes: two at a time, each handed out alone (no groups are named).
SLOW = (Check("slow tests", (*PYTHON, "pytest", "-n", "2", "--dist", "loadgroup", "-m", "slow")),)


def main() -> int:
    """0 if everything held."""
    wanted = sys.argv[1]
    if wanted == "lint":
        return run_all(LINT, {**UNUSED_SERVICES, **TEST_ENVIRONMENT})
    if wanted == "slow":
        return run_all(SLOW, {})
    return run_all((*LINT, *DJANGO, *TESTS), {})


def run_all(checks: Sequence[Check], env: Mapping[str, str]) -> int:
    """Run each check, say how it went, list the failures at the end; 130 after Ctrl-C."""
    failed = []
    for check in checks:
        print(f"== {check.name}", flush=True)
        began = time.monotonic()
        code = _run(check, env)
        if code == INTERRUPTED:
            return code
        took = time.monotonic() - began
        print(f"== {check.name}: {'ok' if code == 0 else f'FAILED ({code})'}, {took:.1f} s", flush=True)
        failed += [check.name] if code else []
    if failed:
        print(f"== failed: {', '.join(failed)}", flush=True)
    return 1 if failed else 0


def _run(check: Check, env: Mapping[str, str]) -> int:
    with subprocess.Popen(check.command, env={**os.environ, **env, **check.env}) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:
            # The check got the same signal and ends in its own way.
            process.wait(TEARDOWN_SECONDS)
            return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
