"""kill -9 of a real worker at five points around the call, again and again; the provider's book is the witness.

Each round kills the worker that recovered the round before, with ``TOGETHER`` operations at the same point. A round
in which the machine was too slow to bring one of them to the point is checked as well, and does not count.
"""

import json
import os
import random
import time
from collections import Counter
from itertools import pairwise

import pytest
from django.db import connection
from django.utils import timezone
from prometheus_client import CollectorRegistry

from ledger.models import Heartbeat
from notifications.models import Notification
from refunds.gateways.stripe_commands import OPERATION_ID_KEY
from refunds.metrics.collector import DeskCollector
from refunds.models import ReconciliationCheck, RefundOperation
from refunds.nudges import advance
from refunds.states import RESOLVED_OPERATION_STATES
from tests.recipes.kill_points import PATIENCE, POINTS, Scene
from tests.support.deployed import database_url_of_tests, environment, start_worker
from tests.support.invariants import broken
from tests.support.owner_session import OwnerSession
from tests.support.workers import broker_url, purge, send, wait_until

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.failure("F054"),
]
ROUNDS, TOGETHER = int(os.environ.get("KILL_ROUNDS", "5")), 4
AT_MOST = 3 * ROUNDS
SLOTS = TOGETHER + 2  # the scanners' work goes on beside what hangs
JITTER_SECONDS = 0.3
WINDOWS = {
    "GATEWAY_TIMEOUT_SECONDS": "2",
    "GATEWAY_CONTRACT_OVERRIDES": json.dumps(
        {"in_flight_horizon_seconds": 10, "reconciliation_intervals": [1, 1, 2, 2, 5, 5, 10, 10, 10]}
    ),
}


@pytest.fixture
def workers(desk, tmp_path, settings):
    """A function that starts the worker; what still runs at the end is stopped."""
    settings.RECOVERY_INTERVAL_SECONDS = 15  # how long a new operation is left to its nudge
    purge()
    env = environment(
        database_url=database_url_of_tests(),
        redis_url=broker_url(),
        STRIPE_API_KEY=desk.sim.api_key,
        STRIPE_API_BASE=desk.sim.url,
        **WINDOWS,
    )
    started = []

    def start(*, beat=True):
        worker = start_worker(env=env, log=tmp_path / "worker.log", concurrency=SLOTS, beat=beat)
        started.append(worker)
        return worker

    yield start
    for worker in started:
        worker.stop()
    purge()


@pytest.fixture
def owner(db):
    with OwnerSession(database_url_of_tests()) as session:
        yield session


def committed_operations(desk, merchant):
    """Return operations that are committed and not sent, each of a customer of its own."""
    desk.now = timezone.now()
    asked = [desk.ask(desk.duplicate(desk.customer(merchant)).order, run=False) for _ in range(TOGETHER)]
    for workflow_id in asked:
        desk.now = timezone.now()
        desk.run_one(advance(workflow_id))
    return [desk.operation(workflow_id) for workflow_id in asked]


def refunds_of(desk):
    return Counter(refund["metadata"][OPERATION_ID_KEY] for refund in desk.sim.refunds())


def at_the_point(point, operation, booked):
    """Tell whether the operation was where the kill was meant to meet it."""
    row = RefundOperation.objects.get(pk=operation.pk)
    answered = row.attempts.filter(response__isnull=False).count()
    answers = 1 if point.state == "COMPLETED" else 0
    return (row.state, row.attempts.count(), answered, booked[operation.pk]) == (
        point.state,
        point.attempts,
        answers,
        point.booked,
    )


def all_resolved(operations):
    states = set(RefundOperation.objects.filter(pk__in=operations).values_list("state", flat=True))
    return states <= {*RESOLVED_OPERATION_STATES, "MANUAL_REVIEW"}


def recover(worker, operations):
    """Wait until every operation is resolved, or waits for people, and the customers were told."""

    def over():
        assert worker.exit_code is None, worker.log.read_text()[-2000:]
        return all_resolved(operations) and all_told(operations)

    wait_until(over, seconds=PATIENCE, what="recovery")


def all_told(operations):
    ids = [f"refund.completed:{operation.pk}" for operation in operations]
    due = Notification.objects.filter(logical_event_id__in=ids, next_attempt_at__isnull=False)
    return not due.exists()


def check_operation(desk, point, operation, *, was_there, refunds, posts):
    """Check one operation after recovery: what the provider booked, and the way that led there."""
    row = RefundOperation.objects.get(pk=operation.pk)
    story = list(row.events.order_by("state_sequence").values_list("to_state", flat=True))
    assert row.state == "COMPLETED" or (row.state, point.absence_proven) == ("MANUAL_REVIEW", True), story
    assert refunds[row.pk] == 1 if row.state == "COMPLETED" else refunds[row.pk] <= 1, story
    receipts = Notification.objects.filter(logical_event_id=f"refund.completed:{row.pk}")
    assert receipts.count() == (row.state == "COMPLETED")
    attempts = list(row.attempts.order_by("number"))
    for earlier, later in pairwise(attempts):
        proofs = ReconciliationCheck.objects.filter(
            operation=row, verdict="CONFIRMED_ABSENT", at__gt=earlier.started_at, at__lte=later.started_at
        )
        assert proofs.exists(), story
    if was_there:
        assert tuple(story[: len(point.path)]) == point.path
        if tuple(story) in {point.path, (*point.path, "COMPLETED")}:  # nothing else went wrong
            assert posts[row.idempotency_key] == point.posts
            assert bool(row.checks.filter(verdict="CONFIRMED_ABSENT")) == point.absence_proven


@pytest.mark.failure("F006")
@pytest.mark.failure("F008")
@pytest.mark.failure("F011")
@pytest.mark.failure("F134")
@pytest.mark.parametrize("name", POINTS)
def test_kill_at(name, desk, workers, owner):
    point = POINTS[name]
    seed = random.randrange(2**32)
    print(f"jitter seed {seed}")
    chance = random.Random(seed)
    merchant = desk.shop()
    worker, counted, there, completed, longest, total = workers(), 0, 0, 0, 0.0, 0

    for _ in range(AT_MOST):
        operations = committed_operations(desk, merchant)
        scene = Scene(desk, owner, worker, operations)
        point.reach(scene)
        time.sleep(chance.uniform(0, JITTER_SECONDS))
        worker.kill()
        booked = refunds_of(desk)
        was_there = {o.pk for o in operations if at_the_point(point, o, booked)}
        point.mend(scene)

        killed_at = time.monotonic()
        worker = workers()
        recover(worker, operations)
        longest = max(longest, time.monotonic() - killed_at)

        refunds = refunds_of(desk)
        posts = Counter(post["headers"].get("idempotency-key") for post in desk.posts())
        for operation in operations:
            check_operation(
                desk, point, operation, was_there=operation.pk in was_there, refunds=refunds, posts=posts
            )
        total += len(operations)
        there += len(was_there)
        completed += RefundOperation.objects.filter(pk__in=operations, state="COMPLETED").count()
        counted += bool(was_there)
        if counted == ROUNDS:
            break

    print(f"{name}: {counted} kills, {there} of {total} operations at the point, {completed} completed, "
          f"recovered within {longest:.1f} s")  # fmt: skip
    assert counted == ROUNDS, "this machine is too slow to meet the point"
    assert completed > 0
    worker.stop()
    with connection.cursor() as cursor:
        assert broken(cursor) == {}
    assert not RefundOperation.objects.filter(state="SUBMITTED").exists()
    desk.assert_books_agree()


def waiting_age():
    """Return what operators are shown: how long the oldest submission has waited for its answer, in seconds."""
    registry = CollectorRegistry()
    registry.register(DeskCollector(clock=timezone.now))
    ages = {
        sample.labels["state"]: sample.value
        for family in registry.collect()
        for sample in family.samples
        if family.name.endswith("operations_oldest_seconds")
    }
    return max(ages["SUBMITTED"], ages["STATUS_UNKNOWN"])


def test_without_the_scanners_nothing_recovers_and_the_age_rises(desk, workers, owner):
    point, merchant = POINTS["c-not-answered"], desk.shop()
    operations = committed_operations(desk, merchant)
    scene = Scene(desk, owner, workers(beat=False), operations)
    point.reach(scene)
    scene.worker.kill()
    point.mend(scene)
    # Whatever the machine's speed: the window for the answer is over, and a worker is there and works.
    due = max(o.next_check_at for o in RefundOperation.objects.filter(pk__in=operations) if o.next_check_at)
    idle = workers(beat=False)
    wait_until(lambda: timezone.now() > due, seconds=PATIENCE, what="the end of the answers' window")
    before = waiting_age()
    send("heartbeat")
    wait_until(lambda: Heartbeat.objects.filter(name="beat").exists(), seconds=PATIENCE, what="a heartbeat")
    time.sleep(3)

    states = set(RefundOperation.objects.values_list("state", flat=True))
    assert states <= {"SUBMITTED", "STATUS_UNKNOWN"}
    assert states
    assert waiting_age() > before + 2
    idle.stop()

    recover(workers(), operations)
    assert set(RefundOperation.objects.values_list("state", flat=True)) == {"COMPLETED"}
    assert len(desk.sim.refunds()) == len(operations)
    assert waiting_age() == 0
