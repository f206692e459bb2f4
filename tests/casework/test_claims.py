"""Who works on a case: leases, and what each leaves behind."""

from datetime import timedelta

import pytest

from approvals.business_days import business_days_after
from approvals.models import ReviewCase
from approvals.services import DecisionRefusedError
from ledger.models import StaffMembership
from refunds import pipeline
from refunds.casework.owned_case import CaseAction
from refunds.casework.refusals import CaseWorkRefusedError
from refunds.models import RefundWorkflow
from refunds.states import WorkflowState
from tests.casework.staff import approve, charge_of, start
from tests.console.conftest import ticket_of
from tests.factories import (
    NOW,
    make_duplicate_order,
    make_merchant,
    make_staff,
    open_workflow,
    workflow_in_state,
)
from tests.stages.trail import nothing_written

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(minutes=10)


@pytest.fixture
def case(merchant):
    """A request in manual review, and its ticket."""
    double = make_duplicate_order(customer__merchant=merchant)
    return ticket_of(workflow_in_state(WorkflowState.MANUAL_REVIEW, order=double.order))


def claim(ticket, staff, *, now=NOW):
    return pipeline.claim_case(action=CaseAction(ticket=ticket, staff_user_id=staff.pk), now=now)


def release(ticket, staff, *, now=NOW):
    pipeline.release_case(action=CaseAction(ticket=ticket, staff_user_id=staff.pk), now=now)


def refused(call, ticket, staff, *, now=NOW):
    with nothing_written(), pytest.raises(CaseWorkRefusedError) as refusal:
        call(ticket, staff, now=now)
    return refusal.value.code


def told(ticket):
    """The records about the case, as (reason, who)."""
    subject = ReviewCase.objects.get(ticket=ticket).subject_id
    events = RefundWorkflow.objects.get(pk=subject).events.filter(kind="RECORD").order_by("pk")
    return [(event.reason, event.actor_id) for event in events]


def test_a_claim_lasts_twenty_minutes_and_is_recorded_once(case, starter):
    assert claim(case, starter) == case
    stored = ReviewCase.objects.get(ticket=case)
    assert (stored.claimed_by, stored.claimed_until) == (f"user:{starter.pk}", NOW + timedelta(minutes=20))
    claim(case, starter, now=LATER)
    assert ReviewCase.objects.get(ticket=case).claimed_until == LATER + timedelta(minutes=20)
    assert told(case) == [("CASE_CLAIMED", f"user:{starter.pk}")]


def test_a_colleague_waits_for_the_lease_to_run_out_and_then_takes_over(case, starter, colleague):
    claim(case, starter)
    assert refused(claim, case, colleague, now=LATER) == "CLAIMED_BY_ANOTHER"
    claim(case, colleague, now=NOW + timedelta(minutes=20))
    assert told(case)[-1] == ("CASE_TAKEN_OVER", f"user:{colleague.pk}")
    assert refused(release, case, starter, now=NOW + timedelta(minutes=21)) == "CLAIMED_BY_ANOTHER"


def test_a_case_that_was_given_back_is_anybodys(case, starter, colleague):
    assert refused(release, case, starter) == "NOT_CLAIMED"
    claim(case, starter)
    release(case, starter)
    claim(case, colleague)
    assert [reason for reason, _ in told(case)] == ["CASE_CLAIMED", "CASE_RELEASED", "CASE_CLAIMED"]


@pytest.mark.failure("F113")
def test_whoever_may_not_act_for_the_merchant_claims_nothing(case, merchant):
    for who in (make_staff(merchant=merchant, can_approve=False), make_staff(merchant=make_merchant())):
        assert refused(claim, case, who) == "NOT_ALLOWED"
    customer = RefundWorkflow.objects.get().customer.user
    StaffMembership.objects.create(merchant=merchant, user=customer, can_approve=True)
    assert refused(claim, case, customer) == "OWN_REQUEST"
    assert refused(claim, case + 1000, customer) == "NO_SUCH_CASE"


def test_a_closed_case_is_not_claimed(case, starter):
    ReviewCase.objects.update(closed_at=NOW)
    assert refused(claim, case, starter) == "CASE_CLOSED"


def test_a_decision_waits_for_the_colleague_who_works_on_the_case(charge, merchant, starter, colleague):
    workflow, third = start(charge, starter, amount_minor_units=1), make_staff(merchant=merchant)
    claim(ticket_of(workflow), colleague)
    with nothing_written(), pytest.raises(DecisionRefusedError, match="CLAIMED_BY_ANOTHER"):
        approve(workflow, third)
    approve(workflow, colleague)
    assert RefundWorkflow.objects.get(pk=workflow.pk).state == "APPROVED"


def test_whoever_voted_first_is_done_with_the_case(merchant, starter, colleague):
    workflow = start(charge_of(merchant, amount=100_000), starter, amount_minor_units=60_000)
    claim(ticket_of(workflow), colleague)
    approve(workflow, colleague)
    approve(workflow, make_staff(merchant=merchant))
    assert RefundWorkflow.objects.get(pk=workflow.pk).state == "APPROVED"


def test_claiming_the_case_of_an_unreadable_source_takes_the_request_over(merchant, starter):
    workflow = open_workflow(order=make_duplicate_order(customer__merchant=merchant).order)
    RefundWorkflow.objects.filter(pk=workflow.pk).update(source_failures=1)
    case = ReviewCase.objects.create(
        id="case_1", ticket=1, merchant=merchant, kind="VERIFICATION", subject_id=workflow.pk,
        reason="SOURCE_UNREADABLE", opened_at=NOW,
    )  # fmt: skip
    held = claim(case.ticket, starter)
    assert held == case.ticket
    assert RefundWorkflow.objects.get(pk=workflow.pk).state == "MANUAL_REVIEW"
    (open_one,) = ReviewCase.objects.filter(subject_id=workflow.pk, closed_at__isnull=True)
    assert (open_one.pk, open_one.claimed_by) == (case.pk, f"user:{starter.pk}")


@pytest.mark.parametrize(
    ("opened", "days", "due"),
    [("2026-11-27", 2, "2026-12-01"), ("2026-11-28", 1, "2026-11-30"), ("2026-11-30", 5, "2026-12-07")],
)
def test_a_weekend_is_no_business_day(opened, days, due):
    start_at = NOW.fromisoformat(f"{opened}T17:00:00+00:00")
    assert business_days_after(start_at, days) == NOW.fromisoformat(f"{due}T17:00:00+00:00")


def test_whoever_asked_for_a_refund_does_not_keep_its_reviewers_away(charge, starter, colleague):
    workflow = start(charge, starter, amount_minor_units=1)
    assert refused(claim, ticket_of(workflow), starter) == "OWN_REQUEST"
    claim(ticket_of(workflow), colleague)


def test_neither_does_whoever_rebuilt_its_command_nor_whoever_started_it_before(
    charge, merchant, starter, colleague
):
    workflow = start(charge, starter, amount_minor_units=1)
    RefundWorkflow.objects.filter(pk=workflow.pk).update(maker_id=f"user:{colleague.pk}")
    for who in (starter, colleague):
        assert refused(claim, ticket_of(workflow), who) == "OWN_REQUEST"
    claim(ticket_of(workflow), make_staff(merchant=merchant))
