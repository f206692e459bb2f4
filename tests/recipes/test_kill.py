"""kill -9 of two real workers at every boundary between two commits and around the call, again and again.

The provider's book is the witness. Each round kills the workers that recovered the round before, each with a beat of
its own, and ``TOGETHER`` requests at the same point. A round in which the machine was too slow to bring one of them to the point is checked as
well, and does not count.
"""

import json
import os
import random
import time
from collections import Counter
from datetime import timedelta
from itertools import pairwise

import pytest
from django.db import connection
from django.utils import timezone
from prometheus_client import CollectorRegistry

from approvals.models import ReviewCase
from ledger.models import Heartbeat
from notifications.models import Notification
from notifications.services import CLAIM_FOR
from refunds.gateways.stripe_commands import OPERATION_ID_KEY
from refunds.metrics.collector import DeskCollector
from refunds.models import GatewayWebhook, ReconciliationCheck, RefundOperation, RefundWorkflow
from refunds.states import RESOLVED_OPERATION_STATES, TERMINAL_WORKFLOW_STATES
from tests.recipes.kill_commits import ANY_MOMENT, BETWEEN_COMMITS
from tests.recipes.kill_points import AROUND_THE_CALL, PATIENCE, Scene
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
POINTS = {**AROUND_THE_CALL, **BETWEEN_COMMITS, "z-any-moment": ANY_MOMENT}
# 17 points with 2 rounds each and 4 at any moment: 38 rounds, 76 kills of a worker, 304 requests in flight.
ROUNDS, OFTEN = int(os.environ.get("KILL_ROUNDS", "2")), 2
WORKERS, TOGETHER = 2, 8
SLOTS = TOGETHER // WORKERS + 2  # of each; the scanners' work goes on beside what hangs
JITTER_SECONDS = 0.3
WINDOWS = {
    "GATEWAY_TIMEOUT_SECONDS": "2",
    "GATEWAY_CONTRACT_OVERRIDES": json.dumps(
        {"in_flight_horizon_seconds": 8, "reconciliation_intervals": [1, 1, 2, 2, 5, 5, 10, 10, 10]}
    ),
}


@pytest.fixture
def workers(desk, tmp_path, settings):
    """A function that starts the workers; what still runs at the end is stopped."""
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
        logs = [tmp_path / f"worker{number}.log" for number in range(WORKERS)]
        started[:] = [start_worker(env=env, log=log, concurrency=SLOTS, beat=beat) for log in logs]
        return list(started)

    yield start
    for worker in started:
        worker.stop()
    purge()


@pytest.fixture
def owner(db):
    with OwnerSession(database_url_of_tests()) as session:
        yield session


def refunds_of(desk):
    return Counter(refund["metadata"][OPERATION_ID_KEY] for refund in desk.sim.refunds())


def at_the_point(point, workflow_id, booked):
    """Tell whether the request was where the kill was meant to meet it."""
    workflow = RefundWorkflow.objects.get(pk=workflow_id)
    if point is ANY_MOMENT:
        return workflow.state not in TERMINAL_WORKFLOW_STATES
    operation = workflow.operations.first()
    if operation is None or not point.state:
        return (workflow.state, "" if operation is None else operation.state) == (point.request, point.state)
    answers = operation.attempts.filter(response__isnull=False).count()
    found = (workflow.state, operation.state, operation.attempts.count(), answers, booked[operation.pk])
    expected = (point.request, point.state, point.attempts, point.answers, point.booked)
    lost = (point.request, "STATUS_UNKNOWN", point.attempts, 1, point.booked)
    return found in ({expected, lost} if point.answer_lost else {expected})


def all_resolved(scene):
    """Tell whether every request has ended, or waits for people who know of it."""
    requests = RefundWorkflow.objects.filter(pk__in=scene.requests)
    for workflow in requests.exclude(state__in=TERMINAL_WORKFLOW_STATES):
        case = ReviewCase.objects.filter(subject_id=workflow.pk, closed_at=None)
        if workflow.state != "MANUAL_REVIEW" or not case.exists():
            return False
    states = {operation.state for operation in scene.operations}
    return states <= {*RESOLVED_OPERATION_STATES, "MANUAL_REVIEW"}


def recover(scene):
    """Wait until every request is resolved, or waits for people, and the customers were told."""

    def over():
        for worker in scene.workers:
            assert worker.exit_code is None, worker.log.read_text()[-2000:]
        hurry_messages(scene)
        owed = Notification.objects.filter(subject_id__in=scene.requests, next_attempt_at__isnull=False)
        return all_resolved(scene) and not owed.exists()

    try:
        wait_until(over, seconds=PATIENCE, what="recovery")
    except TimeoutError as error:
        raise TimeoutError(f"{error}: {told(scene)}") from error


def hurry_messages(scene):
    """Spare the wait for messages: a dead worker's claim lasts a quarter of an hour, and a second try takes minutes.

    At every point a message of a request that is already over may be on its way when the workers die.
    """
    now = timezone.now()
    owed = Notification.objects.filter(subject_id__in=scene.requests)
    owed.filter(claimed_until__lt=now + CLAIM_FOR - timedelta(seconds=20)).update(claimed_until=now)
    owed.filter(claimed_until=None, next_attempt_at__gt=now).update(next_attempt_at=now)
    owed.filter(claimed_until__lte=now, next_attempt_at__gt=now).update(next_attempt_at=now)


def told(scene):
    """Return what is not over, for whoever reads the failure: rows that wait, and for when."""
    now = timezone.now()
    waiting = (
        scene.operations,
        GatewayWebhook.objects.filter(outcome="RECEIVED"),
        Notification.objects.filter(subject_id__in=scene.requests, next_attempt_at__isnull=False),
    )
    return "\n".join(waits(row, now) for rows in waiting for row in rows)


def waits(row, now):
    """Return one row's name, where it stands, and how many seconds it waits."""
    due = {name: getattr(row, name, None) for name in ("next_attempt_at", "next_check_at", "claimed_until")}
    until = [f"{name} {(at - now).total_seconds():+.0f} s" for name, at in due.items() if at is not None]
    return " ".join([type(row).__name__, str(row.pk), str(getattr(row, "state", "")), *until])


def check_request(point, workflow_id, *, was_there, refunds, posts):
    """Check one request after recovery: what the provider booked, and the way that led there."""
    row = RefundOperation.objects.get(workflow_id=workflow_id)  # one request, one operation
    story = list(
        row.events.filter(kind="TRANSITION").order_by("state_sequence").values_list("to_state", flat=True)
    )
    may_wait = point.absence_proven or point is ANY_MOMENT
    assert row.state == "COMPLETED" or (row.state, may_wait) == ("MANUAL_REVIEW", True), story
    assert refunds[row.pk] == 1 if row.state == "COMPLETED" else refunds[row.pk] <= 1, story
    receipts = Notification.objects.filter(logical_event_id=f"refund.completed:{row.pk}")
    assert receipts.count() == (row.state == "COMPLETED")
    for receipt in receipts:
        assert receipt.delivered_at is not None
        assert receipt.attempts.filter(outcome="DELIVERED").count() == 1
    for earlier, later in pairwise(row.attempts.order_by("number")):
        proofs = ReconciliationCheck.objects.filter(
            operation=row, verdict="CONFIRMED_ABSENT", at__gt=earlier.started_at, at__lte=later.started_at
        )
        assert proofs.exists(), story
    if was_there and point is not ANY_MOMENT:
        check_story(point, row, story, posts)


def check_story(point, row, story, posts):
    """Check the way of an operation that was at the point: it goes on from there, and nowhere else."""
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
    running, counted, there, completed, longest, total = workers(), 0, 0, 0, 0.0, 0
    rounds = OFTEN * ROUNDS if point is ANY_MOMENT else ROUNDS

    for _ in range(3 * rounds):
        scene = Scene(desk, owner, running, merchant, TOGETHER)
        point.reach(scene)
        time.sleep(chance.uniform(0, JITTER_SECONDS))
        scene.kill()
        booked = refunds_of(desk)
        was_there = {pk for pk in scene.requests if at_the_point(point, pk, booked)}
        point.mend(scene)

        killed_at = time.monotonic()
        scene.workers = running = workers()
        recover(scene)
        longest = max(longest, time.monotonic() - killed_at)

        refunds = refunds_of(desk)
        posts = Counter(post["headers"].get("idempotency-key") for post in desk.posts())
        for pk in scene.requests:
            check_request(point, pk, was_there=pk in was_there, refunds=refunds, posts=posts)
        total += len(scene.requests)
        there += len(was_there)
        completed += sum(operation.state == "COMPLETED" for operation in scene.operations)
        counted += bool(was_there)
        if counted == rounds:
            break

    print(f"{name}: {counted * WORKERS} kills in {counted} rounds, {there} of {total} requests at the point, {completed} completed, "
          f"recovered within {longest:.1f} s")  # fmt: skip
    assert counted == rounds, "this machine is too slow to meet the point"
    assert completed > 0
    for worker in running:
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
    point = POINTS["c-not-answered"]
    scene = Scene(desk, owner, workers(beat=False), desk.shop(), TOGETHER)
    point.reach(scene)
    scene.kill()
    point.mend(scene)
    # Whatever the machine's speed: the window for the answer is over, and a worker is there and works.
    due = max(operation.next_check_at for operation in scene.operations if operation.next_check_at)
    idle = workers(beat=False)
    wait_until(lambda: timezone.now() > due, seconds=PATIENCE, what="the end of the answers' window")
    before = waiting_age()
    send("heartbeat")
    wait_until(lambda: Heartbeat.objects.filter(name="beat").exists(), seconds=PATIENCE, what="a heartbeat")
    time.sleep(3)

    states = {operation.state for operation in scene.operations}
    assert states <= {"SUBMITTED", "STATUS_UNKNOWN"}
    assert states
    assert waiting_age() > before + 2
    for worker in idle:
        worker.stop()

    scene.workers = workers()
    recover(scene)
    assert {operation.state for operation in scene.operations} == {"COMPLETED"}
    assert len(desk.sim.refunds()) == len(scene.operations)
    assert waiting_age() == 0
