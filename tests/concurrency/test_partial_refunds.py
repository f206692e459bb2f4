"""Partial refunds that staff start at the same moment: real threads, real connections, the provider over HTTP."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from approvals.models import ReviewCase
from refunds import pipeline
from refunds.casework.owned_case import CaseAction
from refunds.casework.refusals import CaseWorkRefusedError
from refunds.models import GatewayAttempt, RefundOperation, RefundWorkflow
from refunds.nudges import advance
from refunds.selectors.scoreboard import ask_invariants
from refunds.states import WorkflowState
from tests.casework.staff import approve, charge_of, form, start
from tests.factories import make_duplicate_order, make_staff, workflow_in_state

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(calls):
    """Run every call in a thread of its own, all at the same moment."""
    barrier = threading.Barrier(len(calls))

    def one(call):
        try:
            barrier.wait(30)
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(one, calls))


@pytest.fixture
def shop(desk):
    """A merchant with a starter, a reviewer and a charge of $100.00 in both books."""
    merchant = desk.shop()
    charge = charge_of(merchant)
    desk.seed(charge)
    return charge, make_staff(merchant=merchant), make_staff(merchant=merchant)


def run_until_quiet(desk, workflow_ids):
    for _ in range(3):
        for workflow_id in workflow_ids:
            desk.run([advance(workflow_id)])


@pytest.mark.failure("F041")
def test_of_two_refunds_of_6000_approved_at_once_on_10000_one_is_paid(desk, shop):
    charge, starter, reviewer = shop
    pair = [start(charge, starter, client_token=f"form-{n}") for n in (1, 2)]

    nudges = at_once([lambda w=w: approve(w, reviewer) for w in pair])
    at_once([lambda n=n: desk.run(n) for n in nudges])
    run_until_quiet(desk, [w.pk for w in pair])

    states = sorted(RefundWorkflow.objects.values_list("state", flat=True))
    assert states == ["COMPLETED", "MANUAL_REVIEW"]
    assert [r["amount"] for r in desk.sim.refunds()] == [6000]
    assert ReviewCase.objects.get(closed_at__isnull=True).reason == "NOT_ENOUGH_REMAINING"
    assert {r.check.name: r.rows for r in ask_invariants() if not r.holds} == {}
    desk.assert_books_agree()


@pytest.mark.failure("F041")
def test_of_twenty_refunds_of_600_on_10000_sixteen_are_paid(desk, shop):
    charge, starter, reviewer = shop
    many = [start(charge, starter, client_token=f"form-{n}", amount_minor_units=600) for n in range(20)]
    for workflow in many:
        approve(workflow, reviewer)

    at_once([lambda w=w: desk.run_one(advance(w.pk)) for w in many])

    assert RefundOperation.objects.count() == 16
    assert sum(RefundOperation.objects.values_list("amount_minor_units", flat=True)) <= 10_000
    assert {r.check.name: r.rows for r in ask_invariants() if not r.holds} == {}


@pytest.mark.failure("F018")
def test_two_equal_partial_refunds_are_both_paid_under_two_keys(desk, shop):
    charge, starter, reviewer = shop
    pair = [start(charge, starter, client_token=f"form-{n}", amount_minor_units=2500) for n in (1, 2)]
    for workflow in pair:
        desk.run(approve(workflow, reviewer))
    assert [RefundWorkflow.objects.get(pk=w.pk).state for w in pair] == ["COMPLETED"] * 2
    assert len(set(GatewayAttempt.objects.values_list("idempotency_key", flat=True))) == 2
    assert [r["amount"] for r in desk.sim.refunds()] == [2500, 2500]
    assert len(set(RefundOperation.objects.values_list("processor_reference", flat=True))) == 2
    desk.assert_books_agree()


@pytest.mark.failure("F001")
def test_one_form_sent_ten_times_at_once_is_one_request(shop, desk):
    charge, starter, _reviewer = shop
    asked = form(charge, starter)
    opened = at_once([lambda: pipeline.start_staff_refund(asked=asked, now=desk.now)] * 10)
    assert len({o.workflow_id for o in opened}) == RefundWorkflow.objects.count() == 1
    assert sum(o.created for o in opened) == 1


def test_of_ten_claims_at_once_one_holds_the_case(desk, shop):
    charge, _starter, _reviewer = shop
    order = make_duplicate_order(customer=charge.order.customer, now=desk.now).order
    workflow_in_state(WorkflowState.MANUAL_REVIEW, order=order)
    ticket = ReviewCase.objects.get().ticket
    staff = [make_staff(merchant=charge.merchant) for _ in range(10)]

    def claim(user):
        try:
            return pipeline.claim_case(action=CaseAction(ticket=ticket, staff_user_id=user.pk), now=desk.now)
        except CaseWorkRefusedError as refused:
            return refused.code

    results = at_once([lambda u=u: claim(u) for u in staff])
    assert sorted(map(str, results)) == sorted([str(ticket), *["CLAIMED_BY_ANOTHER"] * 9])
