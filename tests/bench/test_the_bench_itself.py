"""The whole bench on a few orders: its two ways of counting agree, and it says when nothing was paid twice."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_short_run_counts_every_refund(tmp_path):
    env = {
        **os.environ,
        "BENCH_ORDERS": "60",
        "BENCH_CONC": "2",
        "BENCH_SECONDS": "1",
        "BENCH_WARM_UP": "1",
        "BENCH_IDLE": "4",
        "BENCH_INTERVAL": "2",
        "BENCH_SLOTS": "2",
    }
    found = tmp_path / "found.json"
    command = [sys.executable, "-m", "config.demo.bench", "--json", str(found)]
    done = subprocess.run(command, cwd=CHECKOUT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    report = json.loads(found.read_text())
    assert all(step["sent"] == step["seen"] for step in report["stages"])  # the server's count and Django's
    (result,) = report["results"]
    alone = sum(step["sent"] for step in report["stages"][:-1])
    # The relay's share comes on top; one delivery may serve several refunds.
    assert 0.8 * alone < result["per_refund"]["statements"] < 1.5 * alone
    assert result["per_refund"]["commits"] >= 4
    assert report["gateway"]["charges_with_several_keys"] == 0
