import asyncio
import os
import subprocess
import sys

import pytest

from config.demo.bench import kernel
from config.demo.bench.cost import Cost
from config.demo.bench.load import Load, OutOfOrdersError, percentile
from config.demo.bench.options import Options
from config.demo.bench.report import Report
from config.demo.bench.statements import commits_of
from config.demo.bench.watcher import NotCompletedError, Watcher

BURN = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\ninput()"


def cost(seconds, each):
    names = (
        *("commits", "statements", "statements_at_commit", "wal", "wal_page_images"),
        *("cpu_product", "cpu_postgres", "cpu_redis"),
    )
    return Cost(seconds=seconds, **dict.fromkeys(names, each))


def test_what_an_idle_system_costs_is_taken_out_by_the_second():
    per_refund = cost(10.0, 100.0).without(cost(5.0, 10.0)).each(4)
    assert per_refund.commits == per_refund.statements == per_refund.wal == (100 - 20) / 4


def test_a_cost_is_never_below_nothing():
    assert cost(10.0, 1.0).without(cost(1.0, 1.0)).commits == 0


def test_percentiles_are_of_the_sorted_values():
    values = [float(n) for n in range(100, 0, -1)]
    assert (percentile(values, 0.5), percentile(values, 0.95), percentile([7.0], 0.99)) == (51.0, 96.0, 7.0)


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        (["BEGIN", 'INSERT INTO "a"', 'UPDATE "a"', "COMMIT"], 1),
        (["BEGIN", 'SELECT 1 FROM "a" FOR NO KEY UPDATE', "COMMIT"], 1),
        (["BEGIN", 'SELECT 1 FROM "a"', "COMMIT"], 0),
        (["BEGIN", 'WITH "e" AS (INSERT INTO "a" VALUES (1)) SELECT 1', "COMMIT"], 1),
        (["BEGIN", 'WITH "e" AS (SELECT 1) SELECT 1', "COMMIT"], 0),
        (['UPDATE "a"', 'SELECT 1 FROM "a"', 'INSERT INTO "a"'], 2),
    ],
)
def test_commits_are_transactions_that_left_something(statements, expected):
    assert commits_of(statements) == expected


def test_cpu_time_and_memory_of_children_belong_to_their_parent():
    with subprocess.Popen(
        [sys.executable, "-c", BURN], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        child.stdout.readline()
        own, with_child = kernel.cpu_seconds([child.pid]), kernel.cpu_seconds([os.getpid()])
        peak = kernel.peak_rss_mb([child.pid])
        child.communicate(b"\n")
    assert own >= 0.25
    assert with_child >= own
    assert 2 < peak < 500


def test_a_process_that_is_gone_costs_nothing():
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert kernel.cpu_seconds([child.pid]) == kernel.peak_rss_mb([child.pid]) == 0


def test_options_come_from_the_environment():
    env = {"BENCH_CONC": "2,4", "BENCH_SECONDS": "1.5", "STAGES": "1", "BENCH_POOL": "prefork"}
    options = Options.read(env, ["--json", "out.json"])
    assert (options.concurrency, options.seconds, options.stages, options.pool) == (
        (2, 4),
        1.5,
        True,
        "prefork",
    )
    assert str(options.json) == "out.json"


@pytest.mark.parametrize("env", [{"BENCH_CONC": "many"}, {"BENCH_POOL": "eventlet"}])
def test_a_wrong_option_ends_with_one_line(env, capsys):
    with pytest.raises(SystemExit):
        Options.read(env, [])
    assert "BENCH_" in capsys.readouterr().err


class CountedStretch:
    fdatasync_ms = 1.0

    def end(self):
        return cost(1.0, 60.0), 0.5


class Api:
    """Answers every POST; ``open`` is how many requests were in flight at most."""

    def __init__(self, status=201):
        self.status, self.posted, self.now, self.open = status, [], 0, 0

    async def call(self, method, path, payload=None, *, token=""):
        self.now += 1
        self.open = max(self.open, self.now)
        self.posted.append((method, path, payload["order_number"], token))
        return self.status, {"workflow_id": f"wf_{len(self.posted)}"}


class EndsAtOnce:
    def __init__(self, api):
        self.api = api

    async def watch(self):
        await asyncio.Event().wait()

    async def completed(self, workflow_id, *, seconds):  # noqa: ARG002 - the watcher's own names
        await asyncio.sleep(0.001)
        self.api.now -= 1
        return asyncio.get_running_loop().time()

    async def drained(self, *, seconds):
        pass


def run(api, *, tokens, concurrency=3, seconds=0.05):
    load = Load(client=api, watcher=EndsAtOnce(api), tokens=tokens, asked=2)
    return asyncio.run(load.run(concurrency=concurrency, seconds=seconds, stretch=CountedStretch)), load


def test_a_closed_loop_keeps_its_number_in_flight_and_asks_for_each_order_once():
    api = Api()
    result, load = run(api, tokens=[f"t{n}" for n in range(5000)])
    orders = [order for _, _, order, _ in api.posted]
    assert api.open == 3
    assert result.refunds == len(orders) == len(set(orders)) == load.asked - 2
    assert api.posted[0][2:] == ("100002", "t2")  # the first two orders were the stages'
    assert result.rate > 0
    assert 0 < result.p50 <= result.p95 <= result.p99


def test_a_loop_that_runs_out_of_orders_says_so():
    with pytest.raises(ExceptionGroup) as failure:
        run(Api(), tokens=["t0", "t1", "t2"])
    assert failure.group_contains(OutOfOrdersError)


def test_an_api_that_refuses_stops_the_run():
    with pytest.raises(ExceptionGroup) as failure:
        run(Api(status=429), tokens=["t"] * 100)
    assert failure.group_contains(NotCompletedError, match="429")


def test_a_refund_that_ends_elsewhere_stops_the_run():
    async def ends_elsewhere():
        watcher = Watcher(None)
        waiting = asyncio.ensure_future(watcher.completed("wf_1", seconds=5))
        await asyncio.sleep(0)
        watcher._settle("wf_1", "MANUAL_REVIEW", "SPLIT_TENDER", 1.0)
        await waiting

    with pytest.raises(NotCompletedError, match="MANUAL_REVIEW"):
        asyncio.run(ends_elsewhere())


def test_a_refund_that_never_ends_stops_the_run():
    with pytest.raises(NotCompletedError, match="not COMPLETED after"):
        asyncio.run(Watcher(None).completed("wf_1", seconds=0.01))


def test_the_report_shows_costs_of_one_refund_and_whether_the_target_is_met():
    result, _ = run(Api(), tokens=["t"] * 5000)
    step = {"name": "POST", "sent": 10, "at_commit": 4, "seen": 10, "commits": 1, "statements": []}
    report = Report(setting={}, stages=[step, step], idle=cost(1.0, 0.0), results=[result])
    plain = report.as_json()
    assert plain["results"][0]["per_refund"]["commits"] == pytest.approx(60 / result.refunds)
    assert "met" in report.text()
    assert "| one refund, without the relay |         10 |" in report.text()
