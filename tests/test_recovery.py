"""The scanners: bounded claims that starve nobody, shared by as many scanners as run."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from threading import Barrier, Event

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from refunds.models import RefundOperation, RefundWorkflow
from refunds.nudges import advance, reconcile
from refunds.recovery import (
    BATCH,
    claim_period,
    find_overdue_submissions,
    find_resumable_work,
    find_unknown_outcomes,
)
from refunds.states import OperationState
from tests.factories import NOW, make_customer, make_order, open_workflow, operation_in_state
from tests.stages.trail import nothing_written, path

pytestmark = pytest.mark.django_db
_O = OperationState
EARLIER, LATER = NOW - timedelta(minutes=1), NOW + timedelta(seconds=1)


def requests(*due):
    """Return one open request for each due time, in that order."""
    customer = make_customer()
    return [open_workflow(order=make_order(customer=customer), next_attempt_at=at) for at in due]


def operation_due(state, **columns):
    operation = operation_in_state(state)
    RefundOperation.objects.filter(pk=operation.pk).update(**columns)
    return operation


def advances(*workflows):
    return tuple(advance(workflow.pk) for workflow in workflows)


# -- what is found


def test_due_requests_are_found_the_longest_due_first():
    second, first, _later, _never = requests(NOW, EARLIER, LATER, None)
    assert find_resumable_work(now=NOW) == advances(first, second)


def test_a_claim_keeps_scanners_away_for_a_while_and_changes_nothing_else():
    (workflow,) = requests(NOW)
    before = RefundWorkflow.objects.values().get()
    find_resumable_work(now=NOW)
    until = NOW + claim_period()
    assert RefundWorkflow.objects.values().get() == before | {"claimed_until": until}
    assert path(workflow) == ["EVIDENCE_PENDING"]
    with nothing_written():
        assert find_resumable_work(now=until - timedelta(seconds=1)) == ()
    assert find_resumable_work(now=until) == advances(workflow)


def test_a_claim_outlasts_the_slowest_look_up(settings):
    settings.GATEWAY_TIMEOUT_SECONDS = 5
    assert claim_period() == timedelta(seconds=60)
    settings.GATEWAY_TIMEOUT_SECONDS = 30
    assert claim_period() == timedelta(minutes=5)


def test_each_scanner_finds_the_operations_whose_next_step_it_may_take():
    due = {"next_attempt_at": NOW, "next_check_at": NOW}
    made = {state: operation_due(state, **due).pk for state in _O}
    RefundWorkflow.objects.update(next_attempt_at=None)
    executable = {made[_O.CREATED], made[_O.CONFIRMED_ABSENT]}
    assert {nudge.kwargs["operation_id"] for nudge in find_resumable_work(now=NOW)} == executable
    assert find_overdue_submissions(now=NOW) == (reconcile(made[_O.SUBMITTED]),)
    in_doubt = {made[_O.STATUS_UNKNOWN], made[_O.PROVIDER_PENDING]}
    assert {nudge.kwargs["operation_id"] for nudge in find_unknown_outcomes(now=NOW)} == in_doubt


# -- bounds


def test_one_scan_is_bounded_and_the_next_one_goes_on():
    workflows = requests(*(NOW - timedelta(seconds=n) for n in (5, 4, 3, 2, 1)))
    found = [find_resumable_work(now=NOW, limit=2) for _ in range(4)]
    assert found == [advances(*workflows[:2]), advances(*workflows[2:4]), advances(workflows[4]), ()]


def test_one_stuck_row_starves_nobody(settings):
    """The first row stays due through every claim, as one does whose work fails each time."""
    settings.GATEWAY_TIMEOUT_SECONDS = 3  # a claim of 60 seconds
    stuck, *others = requests(EARLIER, *(NOW - timedelta(seconds=n) for n in (3, 2, 1)))
    now, found = NOW, []
    for _ in range(5):
        found.extend(nudge.kwargs["workflow_id"] for nudge in find_resumable_work(now=now, limit=1))
        now += timedelta(seconds=20)
    assert found == [stuck.pk, *(other.pk for other in others), stuck.pk]


@pytest.mark.parametrize("rows", [1, 5])
def test_a_scan_costs_the_same_few_statements_however_many_rows_it_finds(rows):
    requests(*[NOW] * rows)
    operation = operation_due(_O.CREATED, next_attempt_at=NOW)
    with CaptureQueriesContext(connection) as queries:
        assert len(find_resumable_work(now=NOW)) == rows + 1
    statements = [query["sql"].split()[0] for query in queries]
    one_claim = ["SAVEPOINT", "SELECT", "UPDATE", "RELEASE"]
    assert statements == one_claim * 2
    selects = [query["sql"] for query in queries if query["sql"].startswith("SELECT")]
    assert all(f"LIMIT {BATCH} FOR NO KEY UPDATE" in sql and sql.endswith("SKIP LOCKED") for sql in selects)
    assert path(operation) == ["CREATED"]


def test_a_scan_that_finds_nothing_reads_only(django_assert_num_queries):
    requests(LATER)
    with (
        nothing_written(),
        django_assert_num_queries(3 * 2),
    ):  # SAVEPOINT, SELECT, RELEASE for each kind of row
        assert find_resumable_work(now=NOW) == ()


# -- several scanners


@contextmanager
def held_elsewhere(workflow):
    """Keep a row locked in another connection's transaction, as a worker does."""
    locked, done = Event(), Event()

    def hold():
        try:
            with transaction.atomic():
                RefundWorkflow.objects.select_for_update(no_key=True).get(pk=workflow.pk)
                locked.set()
                done.wait(30)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(hold)
        assert locked.wait(30)
        try:
            yield
        finally:
            done.set()
            holding.result()


@pytest.mark.django_db(transaction=True)
def test_a_row_that_somebody_works_on_is_skipped_and_not_waited_for():
    held, free = requests(EARLIER, NOW)
    with held_elsewhere(held):
        assert find_resumable_work(now=NOW) == advances(free)
    assert find_resumable_work(now=NOW) == advances(held)


@pytest.mark.django_db(transaction=True)
@pytest.mark.failure("F058")
@pytest.mark.failure("F077")
def test_scanners_at_once_share_the_work_and_claim_each_row_once():
    workflows = requests(*[NOW] * 12)
    together = Barrier(3)

    def scan(_number):
        try:
            together.wait(30)
            return find_resumable_work(now=NOW, limit=4)
        finally:
            connection.close()

    with ThreadPoolExecutor(3) as pool:
        shares = list(pool.map(scan, range(3)))
    claimed = [nudge for share in shares for nudge in share]
    assert len(claimed) == len({nudge.kwargs["workflow_id"] for nudge in claimed})
    assert all(len(share) <= 4 for share in shares)
    rest = find_resumable_work(now=NOW)
    assert {n.kwargs["workflow_id"] for n in (*claimed, *rest)} == {w.pk for w in workflows}
