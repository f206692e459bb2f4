"""Two beats and ten workers on real sessions, over rows of every kind that can be stuck: no harm, nothing left."""

import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from notifications.models import Notification
from refunds.models import RefundOperation, RefundWorkflow
from refunds.nudges import advance, submit
from refunds.recovery import SCANS, adopt_forgotten, escalate_reviews
from tests.recovery.running import committed
from tests.support.invariants import broken

pytestmark = pytest.mark.django_db(transaction=True)
WORKERS, BEATS, EACH = 10, 2, 4


def stuck(desk, merchant):
    """Return operations whose request, submission, answer or look-up was lost, as many of each."""
    kinds = {"asked": [], "created": [], "not_answered": [], "not_arrived": []}
    for _ in range(EACH):
        kinds["asked"].append(desk.ask(desk.duplicate(desk.customer(merchant)).order, run=False))
        kinds["created"].append(committed(desk, desk.customer(merchant)).workflow_id)
        for kind, fault in (("not_answered", "drop_after"), ("not_arrived", "status")):
            operation = committed(desk, desk.customer(merchant))
            more = {"status": 429, "rate_limited_reason": "global-rate"} if fault == "status" else {}
            desk.sim.arm(kind=fault, count=1, **more)
            desk.run_one(submit(operation.pk))
            kinds[kind].append(operation.workflow_id)
    return kinds


@pytest.mark.failure("F058")
@pytest.mark.failure("F059")
@pytest.mark.failure("F077")
def test_two_beats_and_ten_workers_do_no_harm_and_leave_nothing(desk):
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    kinds = stuck(desk, desk.shop())
    before = len(desk.posts())
    desk.later(minutes=1)
    together, found = threading.Barrier(WORKERS), Counter()

    def work(number):
        chance = random.Random(seed + number)
        try:
            together.wait(60)
            for _ in range(3):
                for scan in chance.sample(SCANS, len(SCANS)):
                    # Every fifth plays a beat that does not know of claims: what is found is done by two.
                    nudges = scan.find(now=desk.now, limit=chance.choice([1, 3, 100]))
                    found.update(nudge.kwargs.get("operation_id") for nudge in nudges)
                    desk.run([*nudges, *nudges] if number < BEATS else nudges)
                adopt_forgotten(now=desk.now)
                escalate_reviews(now=desk.now)
        finally:
            connection.close()

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(work, range(WORKERS)))

    ids = [workflow_id for group in kinds.values() for workflow_id in group]
    states = Counter(RefundWorkflow.objects.filter(pk__in=ids).values_list("state", flat=True))
    assert states == {"COMPLETED": len(ids)}
    refunds = Counter(refund["charge"] for refund in desk.sim.refunds())
    assert set(refunds.values()) == {1}
    assert len(refunds) == len(ids)
    assert len(desk.posts()) - before == len(ids) - len(kinds["not_answered"])
    assert all(count == 1 for operation, count in found.items() if operation), "one claim for each row"
    assert Notification.objects.count() == len(ids)
    assert RefundOperation.objects.count() == len(ids)
    assert adopt_forgotten(now=desk.now) == 0
    with connection.cursor() as cursor:
        assert broken(cursor) == {}
    desk.assert_books_agree()


def test_no_step_of_the_live_path_forgets_a_row(desk):
    """After each single step, every row that scanners own has its due time."""
    for fault in (None, "drop_after", "drop_before", "pending"):
        workflow_id = desk.ask(desk.duplicate(desk.customer()).order, run=False)
        waiting = [advance(workflow_id)]
        if fault:
            desk.sim.arm(kind=fault, count=1)
        while waiting:
            assert adopt_forgotten(now=desk.now) == 0
            waiting.extend(desk.run_one(waiting.pop(0)))
        for _ in range(12):
            desk.later(hours=1)
            for scan in SCANS:
                desk.run(scan.find(now=desk.now))
                assert adopt_forgotten(now=desk.now) == 0
