"""The import contracts hold, and each one fails when it is broken on purpose."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("config", "refunds", "approvals", "notifications", "policies", "ledger")
LINT = Path(sys.executable).with_name("lint-imports")

PLANTED = {
    "approvals knows refunds": ("approvals/services.py", "import refunds.states", "Imports go down"),
    "policies knows notifications": ("policies/rules.py", "import notifications.facts", "Imports go down"),
    "a stage enqueues": ("refunds/stages/s09_create_operation.py", "import refunds.tasks", "Inside refunds"),
    "the gateway knows rows": ("refunds/gateways/stripe.py", "import refunds.models", "Inside refunds"),
    "a utils.py": ("refunds/utils.py", "", "Inside refunds"),
    "a stage knows another": (
        "refunds/stages/s07_validate_proposal.py",
        "import refunds.stages.s09_create_operation",
        "A stage knows no other",
    ),
    "django in a rule": ("ledger/duplicates.py", "import django", "Rules are pure"),
    "celery in a stage": (
        "refunds/stages/s10_submit_refund.py",
        "import celery",
        "Only tasks and deployment speak Celery",
    ),
    "the provider's SDK elsewhere": (
        "refunds/evidence/finding.py",
        "import stripe",
        "Only its adapter speaks",
    ),
    "the model's SDK elsewhere": (
        "refunds/selectors/requests.py",
        "import openai",
        "Only its adapter speaks",
    ),
    "the model's side knows the gateway": (
        "refunds/proposers/prompts.py",
        "import refunds.gateways.stripe",
        "Who asks the model cannot move money",
    ),
    "the gateway knows the model's side": (
        "refunds/gateways/stripe_commands.py",
        "import refunds.proposers.port",
        "Who asks the model cannot move money",
    ),
    "a simulator knows the product": (
        "config/demo/gateway_simulator/book.py",
        "import refunds.states",
        "Simulators know nothing",
    ),
}


def lint(where: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([LINT, "--no-cache"], cwd=where, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    where = tmp_path_factory.mktemp("tree")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, where / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", where)
    return where


def test_the_contracts_hold(tree):
    result = lint(tree)
    assert result.returncode == 0, result.stdout
    assert "0 broken" in result.stdout


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_violation_fails(tree, name):
    file, line, contract = PLANTED[name]
    path = tree / file
    before = path.read_text() if path.exists() else None
    path.write_text((before or "") + f"\n{line}\n")
    try:
        result = lint(tree)
    finally:
        path.unlink() if before is None else path.write_text(before)
    assert result.returncode == 1
    broken = [text for text in result.stdout.splitlines() if text.endswith("BROKEN")]
    assert any(text.startswith(contract) for text in broken), result.stdout or result.stderr
