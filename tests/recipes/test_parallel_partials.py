"""Partial refunds through the staff-start service, approved at one barrier: never more than was captured."""

import itertools
import random

import pytest
from django.db import connection

from approvals.models import ReviewCase
from refunds import pipeline
from refunds.gateways.stripe import StripeGateway
from refunds.models import GatewayAttempt, RefundOperation, RefundWorkflow
from refunds.nudges import advance, submit
from tests.casework.staff import approve, charge_of, form
from tests.factories import make_staff
from tests.recipes.visitors import at_once
from tests.support.invariants import broken

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.failure("F041"),
]
ROUNDS = 25
TURNS = 30


@pytest.fixture
def chance():
    seed = random.randrange(2**32)
    print(f"jitter seed {seed}")
    return random.Random(seed)


@pytest.fixture
def staff(desk):
    desk.gateway = StripeGateway(
        api_key=desk.sim.api_key,
        api_base=desk.sim.url,
        connect_timeout_seconds=20,  # a busy machine answers late, and that is not tested here
        answer_timeout_seconds=20,
    )
    merchant = desk.shop()
    return merchant, make_staff(merchant=merchant), [make_staff(merchant=merchant) for _ in range(2)]


def charge(desk, merchant):
    payment = charge_of(merchant, refreshed_at=desk.now)
    desk.seed(payment)
    desk.sim.arm("delay", charge=payment.processor_reference, seconds=0.1, count=None)
    return payment


def start_at_once(desk, payment, starter, amounts, chance):
    """Start all at one barrier; each reserves nothing yet. Returns the workflows, before people."""
    opened = at_once(
        [
            lambda n=n, amount=amount: pipeline.start_staff_refund(
                asked=form(
                    payment, starter, client_token=f"form-{payment.pk}-{n}", amount_minor_units=amount
                ),
                now=desk.now,
            )
            for n, amount in enumerate(amounts)
        ],
        chance=chance,
    )
    ids = [one.workflow_id for one in opened]
    for workflow_id in ids:
        desk.run_one(advance(workflow_id))
    started = list(RefundWorkflow.objects.filter(pk__in=ids))
    assert {workflow.state for workflow in started} == {"REQUIRES_HUMAN_APPROVAL"}
    return started


def approve_at_once(desk, started, reviewers, chance):
    """Approve every one at one barrier, and take each on to its operation, or to people."""

    def decide(workflow, reviewer):
        for nudge in approve(workflow, reviewer, now=desk.now):
            desk.run_one(nudge)

    turns = zip(started, itertools.cycle(reviewers), strict=False)
    at_once([lambda w=w, r=r: decide(w, r) for w, r in turns], chance=chance)
    refused = RefundWorkflow.objects.filter(pk__in=[w.pk for w in started], state="EVIDENCE_PENDING")
    for workflow in refused:  # another took what was left: the evidence is read anew
        desk.run_one(advance(workflow.pk))


def submit_all(desk, payment, chance):
    """Submit what may be submitted, all at once and again, until nothing waits for another submission to end."""
    for _ in range(TURNS):
        waiting = list(RefundOperation.objects.filter(payment=payment, state="CREATED"))
        if not waiting:
            return
        at_once([lambda o=o: desk.run_one(submit(o.pk)) for o in waiting], chance=chance)
        desk.later(seconds=31)
    raise AssertionError("operations still wait")


def amounts_of(desk, payment):
    return [refund["amount"] for refund in desk.sim.refunds(payment.processor_reference)]


def reasons_of_refusal(started):
    open_cases = ReviewCase.objects.filter(subject_id__in=[w.pk for w in started], closed_at=None)
    return list(open_cases.values_list("reason", flat=True))


def check_rows(desk):
    with connection.cursor() as cursor:
        assert broken(cursor) == {}
    desk.assert_books_agree()


def test_two_of_6000_on_10000_are_never_both_paid(desk, staff, chance):
    merchant, starter, reviewers = staff
    for _ in range(ROUNDS):
        payment = charge(desk, merchant)
        pair = start_at_once(desk, payment, starter, [6000, 6000], chance)
        approve_at_once(desk, pair, reviewers, chance)
        submit_all(desk, payment, chance)
        assert amounts_of(desk, payment) == [6000]
        assert reasons_of_refusal(pair) == ["NOT_ENOUGH_REMAINING"]
    check_rows(desk)


@pytest.mark.failure("F018")
def test_two_of_3000_are_two_refunds_under_two_keys(desk, staff, chance):
    merchant, starter, reviewers = staff
    payment = charge(desk, merchant)
    pair = start_at_once(desk, payment, starter, [3000, 3000], chance)
    approve_at_once(desk, pair, reviewers, chance)
    submit_all(desk, payment, chance)
    assert amounts_of(desk, payment) == [3000, 3000]
    assert len(set(GatewayAttempt.objects.values_list("idempotency_key", flat=True))) == 2
    assert len(set(RefundOperation.objects.values_list("processor_reference", flat=True))) == 2
    check_rows(desk)


def test_of_twenty_of_1000_on_10000_ten_are_paid(desk, staff, chance):
    merchant, starter, reviewers = staff
    payment = charge(desk, merchant)
    started = start_at_once(desk, payment, starter, [1000] * 20, chance)
    approve_at_once(desk, started, reviewers, chance)
    submit_all(desk, payment, chance)
    assert amounts_of(desk, payment) == [1000] * 10
    assert reasons_of_refusal(started) == ["NOT_ENOUGH_REMAINING"] * 10
    check_rows(desk)
