"""An operation that people own is looked up again, at growing waits: a refund that shows up late moves it."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.models import ReviewCase
from refunds.evidence.late_checks import LONGEST_WAIT, USUAL_HORIZON, late_horizon, next_late_check
from refunds.gateways.contract import STRIPE_V1
from refunds.gateways.contracts.adyen_v72 import ADYEN_V72
from refunds.gateways.port import AnswerClass
from refunds.models import ReconciliationCheck, RefundOperation
from refunds.nudges import reconcile_late, submit
from refunds.recovery import find_late_evidence
from tests.recovery.running import committed

INTERVALS = STRIPE_V1.reconciliation_intervals
LOOKED_FOR = late_horizon(STRIPE_V1)
BEGAN = datetime(2026, 11, 1, 12, tzinfo=UTC)
rows = pytest.mark.django_db(transaction=True)


def with_people(desk):
    """Return an operation whose answer was a 500: no list ever proves it absent, so that people have it in the end."""
    operation = committed(desk)
    desk.sim.arm(kind="drop_before", count=1)
    desk.run_one(submit(operation.pk))
    for wait in (timedelta(hours=23), *INTERVALS, timedelta(minutes=1)):
        desk.now += wait
        desk.scan()
    operation = RefundOperation.objects.get(pk=operation.pk)
    assert operation.state == "MANUAL_REVIEW"
    return operation


def look(desk):
    nudges = find_late_evidence(now=desk.now)
    desk.run(nudges)
    return nudges


@rows
def test_nothing_is_looked_at_before_its_time_and_then_once(desk):
    operation = with_people(desk)
    due = operation.next_check_at
    assert due == operation.updated_at + INTERVALS[-1]
    desk.now = due - timedelta(seconds=1)
    assert look(desk) == ()
    desk.now = due
    assert look(desk) == (reconcile_late(operation.pk),)
    assert look(desk) == ()
    check = operation.checks.latest("number")
    assert (check.cause, check.verdict) == ("LATE", "NOT_FOUND_YET")
    assert RefundOperation.objects.get(pk=operation.pk).next_check_at > desk.now


@rows
def test_a_refund_that_shows_up_late_completes_the_operation_and_closes_its_case(desk):
    operation = with_people(desk)
    refund = desk.sim.seed_refund(
        operation.payment_reference,
        amount=operation.amount_minor_units,
        metadata={"refund_operation_id": operation.pk},
    )
    desk.now = operation.next_check_at

    look(desk)

    after = RefundOperation.objects.select_related("workflow").get(pk=operation.pk)
    assert (after.state, after.processor_reference) == ("COMPLETED", refund["id"])
    assert after.workflow.state == "COMPLETED"
    assert not ReviewCase.objects.filter(subject_id=after.workflow_id, closed_at=None).exists()
    assert len(desk.posts()) == 1
    desk.assert_books_agree()


@rows
def test_a_late_look_never_calls_anything_absent_or_rejected(desk):
    """People have it: that there is no refund is theirs to say, even where a scheduled check would have proved it."""
    operation = with_people(desk)
    first = operation.attempts.get()
    assert first.response.answer_class == AnswerClass.UNKNOWN
    desk.now = first.started_at + timedelta(minutes=16)  # inside the safe window, after the in-flight horizon
    RefundOperation.objects.update(next_check_at=desk.now)

    look(desk)

    check = operation.checks.latest("number")
    assert (check.cause, check.verdict) == ("LATE", "CONFIRMED_ABSENT")
    assert RefundOperation.objects.get(pk=operation.pk).state == "MANUAL_REVIEW"
    assert len(desk.posts()) == 1


@rows
def test_a_late_nudge_moves_nothing_that_people_do_not_own(desk):
    operation = committed(desk)
    desk.sim.arm(kind="drop_after", count=1)
    desk.run_one(submit(operation.pk))
    desk.run([reconcile_late(operation.pk)])
    assert RefundOperation.objects.get(pk=operation.pk).state == "STATUS_UNKNOWN"
    assert not ReconciliationCheck.objects.exists()


@rows
def test_the_looks_end_and_are_few(desk):
    operation = with_people(desk)
    since, seen = operation.updated_at, 0
    while (due := RefundOperation.objects.get(pk=operation.pk).next_check_at) is not None:
        desk.now = due
        look(desk)
        seen += 1
    assert since + timedelta(days=29) < desk.now <= since + LOOKED_FOR
    reads = len(desk.sim.log(method="GET"))
    assert (seen, reads < STRIPE_V1.read_budget) == (
        ReconciliationCheck.objects.filter(cause="LATE").count(),
        True,
    )
    desk.later(days=400)
    assert look(desk) == ()
    assert RefundOperation.objects.get(pk=operation.pk).state == "MANUAL_REVIEW"


def test_waits_grow_and_stay_within_the_contract():
    waits, now = [], BEGAN
    while (due := next_late_check(since=BEGAN, now=now, contract=STRIPE_V1)) is not None:
        waits.append(due - now)
        now = due
    assert waits == sorted(waits)
    assert (waits[0], waits[-1]) == (INTERVALS[-1], LONGEST_WAIT)
    assert 30 <= len(waits) <= 40


def test_the_looks_last_for_as_long_as_the_provider_says_that_a_refund_may_change():
    assert timedelta(days=30) == LOOKED_FOR
    assert ADYEN_V72.status_words.late_failure_horizon_seconds.value is None
    assert late_horizon(ADYEN_V72) == USUAL_HORIZON


@given(st.timedeltas(timedelta(0), timedelta(days=60)))
def test_no_look_is_planned_in_the_past_or_after_the_end(age):
    now = BEGAN + age
    due = next_late_check(since=BEGAN, now=now, contract=STRIPE_V1)
    if due is None:
        assert age + LONGEST_WAIT > LOOKED_FOR
    else:
        assert now + INTERVALS[-1] <= due <= min(now + LONGEST_WAIT, BEGAN + LOOKED_FOR)
