from datetime import timedelta

import pytest

from approvals.models import ApprovalRequest, ReviewCase
from ledger.ids import new_id
from ledger.models import ErasableText, text_sha256
from notifications.models import Notification
from refunds.evidence.policy import policy_of
from refunds.models import RefundOperation, RefundWorkflow, RuleResult
from refunds.stages.s08_obtain_approval import DecisionRefusedError, decide_approval, obtain_approval
from refunds.stages.s12_commit_evidence import evidence_transaction
from refunds.states import WorkflowState
from tests.factories import (
    NOW,
    latest_approval,
    make_duplicate_order,
    make_merchant,
    make_staff,
    workflow_in_state,
)
from tests.stages.trail import last_move, nothing_written, path

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(hours=2)


def validated(amount=4999):
    order = make_duplicate_order(amount_minor_units=amount).order
    return workflow_in_state(WorkflowState.PROPOSAL_VALIDATED, order=order)


def ask_for_a_person(workflow, rule="GUARD"):
    """Let one more check of stage 7 have asked for a person."""
    RuleResult.objects.create(
        workflow=workflow, command_number=workflow.command_number, rule=rule, rule_version="1", result="PASS",
        outcome="NEEDS_PERSON", inputs={}, policy_version="", at=NOW,
    )  # fmt: skip


def obtain(workflow):
    with evidence_transaction(workflow_id=workflow.pk, now=NOW) as evidence:
        obtain_approval(evidence=evidence, policy=policy_of(workflow.policy_id))
    return ApprovalRequest.objects.get(subject_id=workflow.pk)


def test_a_rule_approves_the_exact_command_and_is_cited():
    workflow = validated()
    approval = obtain(workflow)
    assert approval.command == {
        "merchant": workflow.merchant.code,
        "account": "",
        "payment": workflow.refund_payment.processor_reference,
        "amount_minor_units": 4999,
        "currency": "USD",
        "reason": "DUPLICATE_CHARGE",
        "workflow_id": workflow.pk,
        "command_number": 1,
    }
    assert (approval.rule, approval.maker_id) == ("AUTO_LIMIT", f"user:{workflow.customer.user_id}")
    assert approval.expires_at == NOW + timedelta(hours=24)
    assert path(approval) == ["PENDING", "GRANTED"]
    granted = last_move(approval)
    assert (granted.actor_type, granted.actor_id) == ("SYSTEM", "rule:AUTO_LIMIT")
    assert granted.evidence == {
        "limit_minor_units": 10_000,
        "amount_minor_units": 4999,
        "currency": "USD",
        "request_fingerprint": approval.request_fingerprint,
    }
    assert path(workflow)[-2:] == ["PROPOSAL_VALIDATED", "APPROVED"]
    assert last_move(workflow).evidence == granted.evidence | {"approval_id": approval.pk}
    assert not ReviewCase.objects.exists()


@pytest.mark.parametrize(("amount", "needed"), [(4999, 1), (50_000, 1), (50_001, 2)])
def test_what_a_check_asks_people_about_waits_in_the_queue(amount, needed):
    workflow = validated(amount)
    ask_for_a_person(workflow)
    approval = obtain(workflow)
    assert (approval.rule, approval.approvals_needed, approval.expires_at) == ("", needed, None)
    assert path(approval) == ["PENDING"]
    assert path(workflow)[-1] == "REQUIRES_HUMAN_APPROVAL"
    event = last_move(workflow)
    assert (event.stage, event.reason) == ("OBTAIN_APPROVAL", "GUARD")
    assert event.evidence == {
        "why_a_person": ["GUARD"],
        "approvals_needed": needed,
        "request_fingerprint": approval.request_fingerprint,
        "approval_id": approval.pk,
    }
    case = ReviewCase.objects.get(subject_id=workflow.pk)
    assert (case.kind, case.reason, case.closed_at) == ("APPROVAL", "GUARD", None)
    assert RefundWorkflow.objects.get(pk=workflow.pk).next_attempt_at is None


def test_what_once_needed_a_person_always_does():
    workflow = validated()
    RefundWorkflow.objects.filter(pk=workflow.pk).update(person_required=True)
    assert obtain(workflow).rule == ""
    assert last_move(workflow).evidence["why_a_person"] == ["PERSON_REQUIRED"]


@pytest.fixture
def waiting():
    """A request in the queue that one person may decide, and that person."""
    workflow = workflow_in_state(WorkflowState.REQUIRES_HUMAN_APPROVAL)
    return workflow, latest_approval(workflow), make_staff(merchant=workflow.merchant)


def decide(approval, person, decision="approve", **changed):
    facts = {
        "approval_id": approval.pk,
        "decision": decision,
        "staff_user_id": person.pk,
        "fingerprint": approval.request_fingerprint,
        "reason_code": "DUPLICATE_CONFIRMED",
        "note": "Compared both charges.",
    } | changed
    return decide_approval(**facts, now=LATER)


def test_a_person_approves_and_the_decision_is_evidence(waiting):
    workflow, approval, person = waiting
    decide(approval, person)
    approval.refresh_from_db()
    assert (path(approval), approval.expires_at) == (["PENDING", "GRANTED"], LATER + timedelta(hours=24))
    assert path(workflow)[-2:] == ["REQUIRES_HUMAN_APPROVAL", "APPROVED"]
    event, note = last_move(workflow), ErasableText.objects.latest("pk")
    assert note.body == "Compared both charges."
    assert (event.actor_type, event.actor_id, event.reason, event.at) == (
        "STAFF",
        f"user:{person.pk}",
        "DUPLICATE_CONFIRMED",
        LATER,
    )
    assert event.evidence == {
        "decision": "approve",
        "request_fingerprint": approval.request_fingerprint,
        "note_text": note.pk,
        "note_sha256": text_sha256("Compared both charges."),
        "approval_id": approval.pk,
    }
    assert RefundWorkflow.objects.get(pk=workflow.pk).next_attempt_at == LATER
    case = ReviewCase.objects.get(subject_id=workflow.pk)
    assert (case.closed_at, case.closed_because) == (LATER, "DUPLICATE_CONFIRMED")


def test_a_person_says_no_and_the_customer_is_owed_an_answer(waiting):
    workflow, approval, person = waiting
    decide(approval, person, "reject", reason_code="NOT_A_DUPLICATE")
    assert path(approval) == ["PENDING", "REJECTED"]
    assert path(workflow)[-2:] == ["REQUIRES_HUMAN_APPROVAL", "REJECTED"]
    stored = RefundWorkflow.objects.get(pk=workflow.pk)
    assert (stored.open_slot, stored.next_attempt_at) == (None, None)
    assert Notification.objects.get().logical_event_id == (
        f"refund.rejected:{workflow.pk}.{RefundWorkflow.objects.get(pk=workflow.pk).state_sequence}"
    )
    assert not RefundOperation.objects.exists()


def test_above_the_second_limit_one_person_is_not_enough():
    order = make_duplicate_order(amount_minor_units=60_000).order
    workflow = workflow_in_state(WorkflowState.REQUIRES_HUMAN_APPROVAL, order=order, approvals_needed=2)
    approval = latest_approval(workflow)
    first, second = (make_staff(merchant=workflow.merchant) for _ in range(2))
    decide(approval, first)
    assert (path(workflow)[-1], path(approval)) == ("REQUIRES_HUMAN_APPROVAL", ["PENDING"])
    assert approval.events.get(voter_id=f"user:{first.pk}").kind == "RECORD"
    decide(approval, second)
    assert (path(workflow)[-1], path(approval)) == ("APPROVED", ["PENDING", "GRANTED"])
    assert last_move(approval).evidence["approved_by"] == sorted([f"user:{first.pk}", f"user:{second.pk}"])


def strangers(workflow):
    """Return everyone who may not decide, with the code they get."""
    customer = workflow.customer.user
    customer.memberships.create(merchant=workflow.merchant, can_approve=True)
    return [
        (make_staff(merchant=make_merchant(), is_superuser=True), "NOT_ALLOWED"),
        (make_staff(merchant=workflow.merchant, can_approve=False, is_superuser=True), "NOT_ALLOWED"),
        (make_staff(merchant=workflow.merchant, is_active=False), "NOT_ALLOWED"),
        (customer, "OWN_REQUEST"),
    ]


@pytest.mark.failure("F103")
@pytest.mark.parametrize("number", range(4), ids=["other merchant", "no right", "left", "the customer"])
def test_who_may_not_decide_changes_nothing(waiting, number):
    workflow, approval, _ = waiting
    person, code = strangers(workflow)[number]
    with nothing_written(), pytest.raises(DecisionRefusedError) as refused:
        decide(approval, person)
    assert refused.value.code == code


@pytest.mark.failure("F111")
def test_an_answer_to_another_command_than_the_one_shown_changes_nothing(waiting):
    _, approval, person = waiting
    with nothing_written(), pytest.raises(DecisionRefusedError) as refused:
        decide(approval, person, fingerprint="0" * 64)
    assert refused.value.code == "FINGERPRINT_CHANGED"


@pytest.mark.failure("F107")
@pytest.mark.parametrize("second", ["approve", "reject"])
def test_the_first_decision_stands(waiting, second):
    workflow, approval, person = waiting
    late = make_staff(merchant=workflow.merchant)
    decide(approval, person)
    with nothing_written(), pytest.raises(DecisionRefusedError) as refused:
        decide(approval, late, second)
    assert refused.value.code == "NOT_PENDING"


def test_a_decision_about_nothing_is_refused():
    person, nothing = make_staff(merchant=make_merchant()), ApprovalRequest(pk=new_id("apr"))
    with nothing_written(), pytest.raises(ApprovalRequest.DoesNotExist):
        decide(nothing, person)
