"""The suite runs against any base URL: what needs no control side passes there, the rest skips and says why."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.support.gateway_simulator import GatewaySimulator

ROOT = Path(__file__).resolve().parents[2]
SUITE = ("test_idempotency.py", "test_refunds.py", "test_lookups.py", "test_webhooks.py")


def run_suite(url: str, key: str, *more: str) -> subprocess.CompletedProcess[str]:
    """Run the suite as somebody would who has a base URL and a key and nothing else."""
    files = [str(ROOT / "tests/conformance" / name) for name in SUITE]
    options = ("-q", "-n", "0", "-rs", "-p", "no:cacheprovider")
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, *files, *more],
        cwd=ROOT,
        env=os.environ | {"CONFORMANCE_BASE_URL": url, "CONFORMANCE_API_KEY": key},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_without_its_control_side_the_simulator_passes_what_can_be_asked(tmp_path: Path) -> None:
    with GatewaySimulator(book=tmp_path / "book.sqlite3") as simulator:
        result = run_suite(simulator.url, simulator.api_key)
        assert {entry["path"].split("/")[1] for entry in simulator.log()} == {"v1"}
    assert result.returncode == 0, result.stdout[-4000:]
    last = result.stdout.splitlines()[-1]
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|skipped)", last)}
    assert counts["passed"] >= 28
    skips = [line for line in result.stdout.splitlines() if line.startswith("SKIPPED")]
    assert skips
    assert all("needs a control side" in line for line in skips)


def test_a_live_key_is_not_taken(tmp_path: Path) -> None:
    result = run_suite("http://127.0.0.1:1", "sk_live_conformance")
    assert result.returncode == 2
    assert "must be a test key" in result.stdout
