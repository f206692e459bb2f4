"""Several real processes, one Redis, a clock that stands still: what one learns holds for all, and is decided once."""

import json
import subprocess
import sys
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from tests.proposers.breakers import LIMITS, START, Trial
from tests.support.workers import broker_url

ROOT = Path(__file__).resolve().parents[2]
PROCESSES = 6
# Waits for a line with the time, then asks; tells what it was allowed.
SCRIPT = """
import json, sys
from datetime import datetime
from tests.proposers.breakers import LIMITS
from refunds.proposers.breaker import Outcome
from refunds.proposers.redis_breaker import RedisBreaker, connect

url, endpoint, name = sys.argv[1:]
now = [None]
client = connect(url)
# A busy machine is no lost Redis: giving up early is tried elsewhere.
client.connection_pool.connection_kwargs.update(socket_timeout=20, socket_connect_timeout=20)
breaker = RedisBreaker(
    client=client, endpoint=endpoint, name=name, clock=lambda: now[0], thresholds=LIMITS
)
print("ready", flush=True)
for line in sys.stdin:
    order = json.loads(line)
    now[0] = datetime.fromisoformat(order["now"])
    allowed = []
    for number in range(order["times"]):
        permit = breaker.admit()
        allowed.append(permit.allowed)
        if permit.allowed and order["outcome"]:
            breaker.report(permit, Outcome(order["outcome"]), asked_for=f"{name}-{number}")
    print(json.dumps({"allowed": allowed, "state": str(breaker.state())}), flush=True)
"""


class Process:
    def __init__(self, endpoint, name):
        self._process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, broker_url(), endpoint, name],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def wait(self):
        assert self._process.stdout.readline() == "ready\n"

    def order(self, *, seconds, times, outcome=""):
        now = (START + timedelta(seconds=seconds)).isoformat()
        self._process.stdin.write(json.dumps({"now": now, "times": times, "outcome": outcome}) + "\n")
        self._process.stdin.flush()

    def told(self):
        return json.loads(self._process.stdout.readline())

    def kill(self):
        self._process.kill()
        self.end()

    def end(self):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(10)


@contextmanager
def running(endpoint, number=PROCESSES):
    processes = [Process(endpoint, f"process{index}") for index in range(number)]
    try:
        for process in processes:
            process.wait()
        yield processes
    finally:
        for process in processes:
            if process._process.poll() is None:
                process.kill()


def all_at_once(processes, **order):
    """Order all before any is listened to; return what each was allowed, and the states they saw last."""
    for process in processes:
        process.order(**order)
    told = [process.told() for process in processes]
    return [each["allowed"] for each in told], {each["state"] for each in told}


@pytest.fixture
def endpoint():
    return Trial().endpoint


def test_failures_of_all_processes_count_together_and_close_it_for_all(endpoint):
    with running(endpoint) as processes:
        first, _ = all_at_once(processes, seconds=0, times=1, outcome="FAILED")
        assert first == [[True]] * PROCESSES  # each alone would be far too few

        refused, states = all_at_once(processes, seconds=29, times=20)

        assert refused == [[False] * 20] * PROCESSES
        assert states == {"OPEN"}


def test_of_all_processes_only_so_many_find_out(endpoint):
    with running(endpoint) as processes:
        all_at_once(processes, seconds=0, times=1, outcome="FAILED")

        probes, states = all_at_once(processes, seconds=30, times=5)
        assert sum(map(sum, probes)) == LIMITS.probes_at_once
        assert states == {"HALF_OPEN"}


def test_a_killed_process_frees_its_place_with_its_lease(endpoint):
    with running(endpoint) as processes:
        all_at_once(processes, seconds=0, times=1, outcome="FAILED")
        prober, *others = processes
        prober.order(seconds=30, times=2)
        assert prober.told()["allowed"] == [True, True]
        prober.kill()

        just_before = 30 + LIMITS.probe_lease_seconds - 0.001
        refused, _ = all_at_once(others, seconds=just_before, times=3)
        assert not any(map(sum, refused))

        freed, states = all_at_once(others, seconds=just_before + 0.001, times=1, outcome="ANSWERED")
        assert sum(map(sum, freed)) >= LIMITS.probes_at_once
        assert "CLOSED" in states
        again, states = all_at_once(others, seconds=just_before + 1, times=4, outcome="ANSWERED")
        assert again == [[True] * 4] * (PROCESSES - 1)
        assert states == {"CLOSED"}
