"""The alert rules: valid, tested, and about numbers that exist."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from prometheus_client.registry import CollectorRegistry

from ledger.clock import now_utc
from refunds.metrics.collector import DeskCollector
from refunds.metrics.counters import IN_PROCESS

FOLDER = Path(__file__).resolve().parents[2] / "docs/operations"
RULES = (FOLDER / "alerts.yml").read_text()
needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None,
    reason="promtool is missing: install it (package prometheus) to check the alert rules",
)


@needs_promtool
@pytest.mark.parametrize(
    "arguments", [("check", "rules", "alerts.yml"), ("test", "rules", "alerts_test.yml")]
)
def test_promtool_accepts_the_rules_and_their_tests(arguments):
    done = subprocess.run(["promtool", *arguments], cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.django_db
def test_every_number_in_a_rule_exists():
    registry = CollectorRegistry()
    registry.register(DeskCollector(clock=now_utc))
    families = [*registry.collect(), *IN_PROCESS.collect()]
    known = {sample.name for family in families for sample in family.samples} | {f.name for f in families}
    used = set(re.findall(r"refund_desk_\w+", RULES))
    assert len(used) > 12
    assert used <= known


def test_every_alert_says_how_bad_it_is_and_what_to_do_first():
    alerts = RULES.split("- alert: ")[1:]
    for alert in alerts:
        assert re.search(r"severity: (page|ticket),", alert), alert
        assert re.search(r"summary: \S.*\n\s+action: \S", alert), alert


def test_no_rule_is_about_a_409():
    expressions = "\n".join(line for line in RULES.splitlines() if not line.lstrip().startswith("#"))
    assert "conflict" not in expressions.lower()
    assert "409" not in expressions
