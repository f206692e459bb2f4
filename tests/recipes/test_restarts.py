"""Redis and PostgreSQL go away and come back in the middle of fifty requests over HTTP."""

import json
import subprocess
import sys
from collections import Counter

import psycopg
import pytest
from django.utils import timezone

from config.demo.bench.orders import document
from config.demo.services import ports
from refunds.states import HUMAN_WORKFLOW_STATES, TERMINAL_WORKFLOW_STATES
from tests.recipes.asking import CUSTOMERS_AT_ONCE, Asking
from tests.support.deployed import environment, start_web, start_worker
from tests.support.gateway_simulator import GatewaySimulator
from tests.support.invariants import broken
from tests.support.own_services import OwnPostgres, OwnRedis
from tests.support.workers import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.failure("F054"),
    pytest.mark.failure("F060"),
    pytest.mark.failure("F001"),
]
REQUESTS, SLOTS, PATIENCE = 50, 4, 300.0
ENDED = sorted(map(str, TERMINAL_WORKFLOW_STATES | HUMAN_WORKFLOW_STATES))
WATCHER = "watcher"


@pytest.fixture
def database(tmp_path):
    with OwnPostgres(log=tmp_path / "postgres.log") as server:
        yield server


@pytest.fixture
def broker(tmp_path):
    with OwnRedis(folder=tmp_path / "redis") as server:
        yield server


@pytest.fixture
def simulator(tmp_path):
    with GatewaySimulator(book=tmp_path / "book.sqlite3") as running:
        yield running


@pytest.fixture
def asking(tmp_path, database, broker, simulator):
    """Customers at the gates of a whole deployment with services of its own."""
    port = ports.free_port()
    env = environment(
        database_url=database.url,
        redis_url=broker.url,
        NEW_REQUESTS_PER_MINUTE="10000",
        STRIPE_API_KEY=simulator.api_key,
        STRIPE_API_BASE=simulator.url,
        GATEWAY_TIMEOUT_SECONDS="2",
        GATEWAY_CONTRACT_OVERRIDES=json.dumps(
            {"in_flight_horizon_seconds": 10, "reconciliation_intervals": [1, 1, 2, 2, 5, 5, 10, 10, 10]}
        ),
    )
    tokens = tmp_path / "tokens"
    for step in (
        ("django", "migrate", "--no-input", "-v", "0"),
        ("django", "bench_seed", str(REQUESTS), str(tokens)),
    ):
        subprocess.run([sys.executable, "-m", *step], env=env, check=True)
    for order in document(count=REQUESTS, now=timezone.now())["orders"]:
        for payment in order["payments"]:
            simulator.seed_charge(payment["reference"], amount=order["total_minor_units"])
    web = start_web(env=env, log=tmp_path / "web.log", port=port, threads=CUSTOMERS_AT_ONCE)
    worker = start_worker(env=env, log=tmp_path / "worker.log", concurrency=SLOTS, beat=True)
    customers = Asking(port=port, tokens=tokens.read_text().split())
    try:
        wait_until(lambda: not ports.is_free(port), seconds=PATIENCE, what="the pages")
        yield customers
        assert (web.exit_code, worker.exit_code) == (None, None)
    finally:
        customers.end()
        web.stop()
        worker.stop()


def ask_database(database, sql, *parameters):
    with psycopg.connect(database.url, application_name=WATCHER, autocommit=True) as connection:
        return connection.execute(sql, parameters).fetchall()


def connections(database):
    """Return how many sessions the product has."""
    sql = """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
             AND backend_type = 'client backend' AND application_name <> %s"""
    return ask_database(database, sql, WATCHER)[0][0]


def end_sessions(database):
    sql = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
             AND backend_type = 'client backend' AND application_name <> %s"""
    return len(ask_database(database, sql, WATCHER))


def states(database):
    return Counter(state for (state,) in ask_database(database, "SELECT state FROM refund_workflows"))


def accepted(asking, count):
    """Wait until so many requests were accepted."""

    def enough():
        asking.raise_failures()
        return len(asking.accepted) >= count

    wait_until(enough, seconds=PATIENCE, what=f"{count} accepted requests")


def check_answers(asking):
    """Every answer said what was so: accepted, or not confirmed and safe to repeat."""
    for _phase, status, body in asking.answers:
        assert status in {200, 201, 503}, body
        if status == 503:
            assert body["code"] == "database_unavailable"
            assert "could not confirm" in body["detail"]
    assert set(asking.statuses("without redis")) <= {200, 201}
    assert set(asking.statuses("calm")) <= {200, 201}


def test_fifty_requests_survive_the_restart_of_redis_and_postgresql(asking, database, broker, simulator):
    simulator.arm("delay", seconds=0.2, count=None)
    asking.let(12)
    accepted(asking, 5)
    base_line = connections(database)

    broker.flush()
    broker.kill()
    accepted(asking, 12)  # what was on its way when Redis went
    asking.phase = "without redis"
    asking.let(8)
    accepted(asking, 20)
    broker.start()

    asking.phase = "sessions ended"
    asking.let(12)
    accepted(asking, 22)
    ended = end_sessions(database)
    accepted(asking, 26)
    ended += end_sessions(database)
    accepted(asking, 32)

    asking.phase = "database restarted"
    asking.let(18)
    accepted(asking, 34)
    database.stop_at_once()
    wait_until(
        lambda: asking.statuses("database restarted")[503] >= CUSTOMERS_AT_ONCE,
        seconds=PATIENCE,
        what="answers without a database",
    )
    database.start_again()
    accepted(asking, REQUESTS)

    wait_until(
        lambda: sum(states(database)[state] for state in ENDED) == REQUESTS,
        seconds=PATIENCE,
        what="the end of every request",
    )
    print(f"{dict(states(database))}, {ended} sessions ended, "
          f"answers {dict(Counter((phase, status) for phase, status, _ in asking.answers))}")  # fmt: skip
    check_answers(asking)
    rows = dict(ask_database(database, "SELECT id, state FROM refund_workflows"))
    assert set(rows) == set(asking.accepted.values())
    assert len(rows) == REQUESTS
    check_money(database, simulator)
    limit = max(base_line, CUSTOMERS_AT_ONCE + SLOTS)
    wait_until(lambda: connections(database) <= limit, seconds=PATIENCE, what="the base line of connections")


def check_money(database, simulator):
    """At most one refund each, one where it counts as completed, told once, and the rows agree with themselves."""
    booked = Counter(refund["charge"] for refund in simulator.refunds())
    assert max(booked.values()) == 1
    operations = ask_database(database, "SELECT payment_reference, state, id FROM refund_operations")
    assert {state for _, state, _ in operations} <= {"COMPLETED", "MANUAL_REVIEW"}
    completed = {charge for charge, state, _ in operations if state == "COMPLETED"}
    assert completed <= set(booked) <= {charge for charge, _, _ in operations}
    assert len(completed) > REQUESTS / 2
    told = ask_database(
        database,
        "SELECT logical_event_id FROM notifications WHERE logical_event_id LIKE 'refund.completed:%%'",
    )
    assert len(told) == len(completed)
    with (
        psycopg.connect(database.url, application_name=WATCHER, autocommit=True) as connection,
        connection.cursor() as cursor,
    ):
        assert broken(cursor) == {}
