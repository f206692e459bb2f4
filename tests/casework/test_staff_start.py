"""A refund that staff ask for: what is refused before any row, and who must approve what is not."""

from datetime import timedelta

import pytest

from approvals.models import ReviewCase
from approvals.services import DecisionRefusedError
from ledger.models import ErasableText, StaffMembership
from ledger.snapshot import EntryKind, EntryStatus
from notifications.models import Notification
from refunds import pipeline
from refunds.casework.refusals import StaffStartRefusedError
from refunds.models import Proposal, RefundOperation, RefundWorkflow, RuleResult
from tests.casework.staff import approve, charge_of, form, start, states_of
from tests.console.conftest import superuser
from tests.factories import (
    NOW,
    latest_approval,
    make_duplicate_order,
    make_entry,
    make_merchant,
    make_order,
    make_payment,
    make_policy,
    make_staff,
)
from tests.stages.trail import nothing_written

pytestmark = pytest.mark.django_db


def refused(payment, staff, **changes):
    with nothing_written(), pytest.raises(StaffStartRefusedError) as refusal:
        pipeline.start_staff_refund(asked=form(payment, staff, **changes), now=changes.pop("at", NOW))
    return refusal.value.code


def test_a_partial_refund_is_put_before_others_with_the_form_as_its_proposal(charge, starter):
    workflow = start(charge, starter)
    assert states_of(workflow) == [
        "EVIDENCE_PENDING", "EVIDENCE_VERIFIED", "ACTION_PROPOSED", "PROPOSAL_VALIDATED",
        "REQUIRES_HUMAN_APPROVAL",
    ]  # fmt: skip
    assert (workflow.origin, workflow.maker_id, workflow.open_slot) == ("STAFF", f"user:{starter.pk}", None)
    assert (workflow.customer_id, workflow.person_required) == (charge.order.customer_id, True)
    assert (workflow.finding, workflow.reason_code) == ("STAFF_REQUESTED", "CAPTURE_PROVEN")
    assert workflow.finding_evidence == [charge.processor_reference]
    assert (workflow.refund_payment_id, workflow.kept_payment_id) == (charge.pk, None)
    assert (workflow.amount_minor_units, workflow.currency) == (6000, "USD")
    proposal = Proposal.objects.get(workflow=workflow)
    assert (proposal.proposer, proposal.model_snapshot, proposal.requests) == ("staff", "", 0)
    results = dict(RuleResult.objects.filter(workflow=workflow).values_list("rule", "result"))
    assert (len(results), set(results.values())) == (7, {"PASS"})
    approval = latest_approval(workflow)
    assert (approval.maker_id, approval.approvals_needed, approval.rule) == (f"user:{starter.pk}", 1, "")
    assert (approval.command["amount_minor_units"], approval.command["payment"]) == (
        6000,
        charge.processor_reference,
    )
    case = ReviewCase.objects.get(subject_id=workflow.pk)
    assert (case.kind, case.reason, case.due_at) == ("APPROVAL", "STAFF_REQUESTED", NOW + timedelta(days=3))


def test_the_note_is_erasable_and_stands_beside_the_first_event(charge, starter):
    first = start(charge, starter, run=False).events.get(state_sequence=1)
    assert (first.actor_type, first.actor_id, first.reason) == (
        "STAFF",
        f"user:{starter.pk}",
        "DUPLICATE_CHARGE",
    )
    assert ErasableText.objects.get(pk=first.evidence["note_text"]).body == "The zip broke on the first day."
    assert "zip" not in str(first.evidence)


@pytest.mark.failure("F043")
@pytest.mark.failure("F047")
@pytest.mark.parametrize(
    "amount", [-500, 0, -0, "1e3", "5,00", "6000", 145.05, 8.20, 19.99, 60.0, True, None, 2**63, 10**30]
)
def test_what_is_no_positive_integer_is_no_amount(charge, starter, amount):
    assert refused(charge, starter, amount_minor_units=amount) == "AMOUNT_INVALID"


@pytest.mark.failure("F049")
@pytest.mark.parametrize("currency", ["GBP", "usd", "", "INR"])
def test_the_currency_is_the_charges_own(merchant, starter, currency):
    order = make_order(customer=charge_of(merchant).order.customer, currency="GBP", total_minor_units=100_000)
    payment = make_payment(order=order, amount_minor_units=9_863_300, currency="USD", refreshed_at=NOW)
    assert refused(payment, starter, currency=currency) == "CURRENCY_MISMATCH"
    assert start(payment, starter, currency="USD").currency == "USD"


@pytest.mark.failure("F045")
def test_yen_have_no_minor_unit(merchant, starter):
    payment = charge_of(merchant, amount=50_000, currency="JPY")
    workflow = start(payment, starter, currency="JPY", amount_minor_units=500)
    assert latest_approval(workflow).command["amount_minor_units"] == 500


@pytest.mark.failure("F044")
def test_the_limit_is_what_was_captured_and_not_what_was_held(merchant, starter):
    payment = charge_of(merchant, amount=10_000, captured=False)
    assert refused(payment, starter, amount_minor_units=1) == "NO_COMPLETED_CAPTURE"
    make_entry(payment=payment, kind=EntryKind.CAPTURE, amount_minor_units=4000, currency="USD")
    assert refused(payment, starter, amount_minor_units=7000) == "NOT_ENOUGH_REMAINING"
    assert start(payment, starter, amount_minor_units=4000).state == "REQUIRES_HUMAN_APPROVAL"


@pytest.mark.failure("F027")
@pytest.mark.parametrize(("status", "code"), [("OPEN", "DISPUTE_OPEN"), ("LOST", "DISPUTE_DECIDED")])
def test_what_the_bank_holds_or_took_back_is_not_refunded_as_well(charge, starter, status, code):
    make_entry(payment=charge, kind=EntryKind.DISPUTE, status=EntryStatus(status), amount_minor_units=1)
    assert refused(charge, starter) == code


def test_more_than_what_is_left_is_refused(charge, starter):
    make_entry(payment=charge, kind=EntryKind.REFUND, amount_minor_units=4001, currency="USD")
    assert refused(charge, starter) == "NOT_ENOUGH_REMAINING"


@pytest.mark.failure("F113")
def test_only_staff_of_the_merchant_who_may_approve_start_a_refund(charge, merchant):
    view_only = make_staff(merchant=merchant, can_approve=False)
    elsewhere = make_staff(merchant=make_merchant())
    for who in (view_only, elsewhere, superuser()):
        assert refused(charge, who) == "NOT_ALLOWED"


def test_nobody_refunds_an_order_of_their_own(charge, merchant):
    customer = charge.order.customer.user
    StaffMembership.objects.create(merchant=merchant, user=customer, can_approve=True)
    assert refused(charge, customer) == "OWN_REQUEST"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"order_number": "no-such"}, "ORDER_NOT_FOUND"),
        ({"order_number": "2\x00"}, "ORDER_NOT_FOUND"),
        ({"payment_reference": "ch_none"}, "PAYMENT_NOT_FOUND"),
        ({"payment_reference": "ch\x00"}, "PAYMENT_NOT_FOUND"),
        ({"reason_code": "BECAUSE"}, "REASON_UNKNOWN"),
        ({"reason_code": "OTHER", "note": " "}, "NOTE_REQUIRED"),
        ({"note": "x" * 2001}, "NOTE_TOO_LONG"),
        ({"note": "a\x00b"}, "NOTE_NOT_READABLE"),
        ({"client_token": ""}, "CLIENT_TOKEN_INVALID"),
        ({"client_token": "x" * 65}, "CLIENT_TOKEN_INVALID"),
        ({"reason_code": "GOODWILL"}, "POLICY_MISSING"),
    ],
)
def test_what_does_not_fit_is_refused_before_any_row(charge, starter, changes, code):
    assert refused(charge, starter, **changes) == code


def test_the_charge_of_another_order_or_merchant_is_not_found(charge, merchant, starter):
    for other in (charge_of(merchant), charge_of(make_merchant())):
        assert refused(charge, starter, payment_reference=other.processor_reference) == "PAYMENT_NOT_FOUND"


def test_an_order_older_than_the_policy_looks_back_is_refused(charge, starter):
    charge.order.placed_at = NOW - timedelta(days=91)
    charge.order.save()
    assert refused(charge, starter) == "OLDER_THAN_POLICY"


@pytest.mark.failure("F001")
def test_the_same_form_sent_twice_is_one_request(charge, starter):
    first = start(charge, starter)
    again = pipeline.start_staff_refund(asked=form(charge, starter), now=NOW)
    assert (again.workflow_id, again.created) == (first.pk, False)
    assert RefundWorkflow.objects.count() == 1
    assert refused(charge, starter, amount_minor_units=5999) == "CLIENT_TOKEN_REUSED"


@pytest.mark.failure("F018")
def test_two_equal_partial_refunds_are_two_requests(charge, starter):
    first = start(charge, starter, amount_minor_units=1000)
    second = start(charge, starter, amount_minor_units=1000, client_token="form-2")
    assert first.pk != second.pk
    assert len({latest_approval(w).request_fingerprint for w in (first, second)}) == 2


@pytest.mark.failure("F103")
def test_whoever_started_it_never_approves_it(charge, merchant, starter, colleague):
    starter.is_superuser = True
    starter.save()
    workflow = start(charge, starter)
    with nothing_written(), pytest.raises(DecisionRefusedError, match="OWN_REQUEST"):
        approve(workflow, starter)
    customer = charge.order.customer.user
    StaffMembership.objects.create(merchant=merchant, user=customer, can_approve=True)
    with nothing_written(), pytest.raises(DecisionRefusedError, match="OWN_REQUEST"):
        approve(workflow, customer)
    approve(workflow, colleague)
    assert RefundWorkflow.objects.get(pk=workflow.pk).state == "APPROVED"


@pytest.mark.failure("F103")
def test_two_refunds_just_under_the_limit_need_as_many_people_as_one_above_it(merchant, starter, colleague):
    payment = charge_of(merchant, amount=100_000)
    first = start(payment, starter, amount_minor_units=50_000)
    second = start(payment, starter, amount_minor_units=1, client_token="form-2")
    assert (latest_approval(first).approvals_needed, latest_approval(second).approvals_needed) == (1, 2)
    approve(second, colleague)
    assert RefundWorkflow.objects.get(pk=second.pk).state == "REQUIRES_HUMAN_APPROVAL"
    approve(second, make_staff(merchant=merchant))
    assert RefundWorkflow.objects.get(pk=second.pk).state == "APPROVED"


@pytest.mark.failure("F041")
def test_of_two_approved_refunds_that_do_not_fit_together_one_goes_to_people(charge, starter, colleague):
    first, second = start(charge, starter), start(charge, starter, client_token="form-2")
    for workflow in (first, second):
        approve(workflow, colleague)
        pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: NOW)
    assert RefundOperation.objects.get().workflow_id == first.pk
    pipeline.advance_workflow(workflow_id=second.pk, clock=lambda: NOW)
    loser = RefundWorkflow.objects.get(pk=second.pk)
    assert (loser.state, loser.reason_code) == ("MANUAL_REVIEW", "NOT_ENOUGH_REMAINING")
    assert latest_approval(second).state == "VOIDED"


@pytest.mark.failure("F106")
def test_an_approval_that_ran_out_is_not_used(charge, starter, colleague):
    workflow = start(charge, starter)
    approve(workflow, colleague)
    late = NOW + timedelta(hours=25)
    type(charge).objects.update(refreshed_at=late)
    pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: late)
    assert latest_approval(workflow).state == "EXPIRED"
    assert not RefundOperation.objects.exists()
    pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: late)
    assert RefundWorkflow.objects.get(pk=workflow.pk).state == "REQUIRES_HUMAN_APPROVAL"


@pytest.mark.failure("F111")
def test_an_approval_of_one_refund_lets_no_other_pass(charge, starter, colleague):
    first = start(charge, starter, amount_minor_units=1000)
    second = start(charge, starter, amount_minor_units=1001, client_token="form-2")
    seen = latest_approval(first).request_fingerprint
    with nothing_written(), pytest.raises(DecisionRefusedError, match="FINGERPRINT_CHANGED"):
        pipeline.decide(
            approval_id=latest_approval(second).pk, decision="approve", staff_user_id=colleague.pk,
            fingerprint=seen, reason_code="CONFIRMED", note="", now=NOW,
        )  # fmt: skip


def test_a_dispute_after_the_approval_stops_the_refund(charge, starter, colleague):
    workflow = start(charge, starter)
    approve(workflow, colleague)
    make_entry(payment=charge, kind=EntryKind.DISPUTE, status=EntryStatus.OPEN, amount_minor_units=1)
    pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: NOW)
    assert not RefundOperation.objects.exists()
    assert states_of(workflow)[-1] == "EVIDENCE_PENDING"


def test_a_duplicates_refund_and_one_of_the_charge_that_stays_do_not_both_pass_unseen(
    merchant, starter, colleague
):
    double = make_duplicate_order(customer__merchant=merchant)
    workflow = start(double.kept, starter, amount_minor_units=4999)
    approve(workflow, colleague)
    make_entry(payment=double.refunded, kind=EntryKind.REFUND, amount_minor_units=4999, currency="USD")
    pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: NOW)
    assert not RefundOperation.objects.exists()
    event = workflow.events.get(to_state="EVIDENCE_PENDING", from_state="APPROVED")
    assert event.reason == "RETURNED_ELSEWHERE"


def test_policies_of_other_merchants_do_not_count(starter, merchant, charge):
    make_policy(merchant=make_merchant(), reason="GOODWILL")
    assert refused(charge, starter, reason_code="GOODWILL") == "POLICY_MISSING"
    make_policy(merchant=merchant, reason="GOODWILL", code="REF-GOOD")
    assert start(charge, starter, reason_code="GOODWILL").policy_version.startswith("REF-GOOD")


def test_a_refund_that_colleagues_refuse_is_no_news_to_the_customer(charge, starter, colleague):
    workflow = start(charge, starter)
    approve(workflow, colleague, decision="reject")
    assert RefundWorkflow.objects.get(pk=workflow.pk).state == "REJECTED"
    assert not Notification.objects.exists()
