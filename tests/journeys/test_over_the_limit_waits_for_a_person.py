import pytest

from approvals.models import ApprovalEvent, ApprovalRequest, ReviewCase
from approvals.services import DecisionRefusedError
from refunds import pipeline
from tests.factories import make_staff

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def waiting(desk):
    """A verified duplicate of $149.00, above the automatic limit of $100.00, and two people who may approve."""
    merchant = desk.shop()
    made = desk.duplicate(desk.customer(merchant), amount_minor_units=14_900)
    workflow_id = desk.ask(made.order)
    approval = ApprovalRequest.objects.get(subject_id=workflow_id)
    return desk, workflow_id, approval, merchant


def decide(desk, approval, user, decision="approve", **changed):
    facts = {
        "approval_id": approval.pk,
        "decision": decision,
        "staff_user_id": user.pk,
        "fingerprint": approval.request_fingerprint,
        "reason_code": "DUPLICATE_CONFIRMED",
        "note": "Compared both charges.",
    } | changed
    return pipeline.decide(**facts, now=desk.now)


def test_it_waits_in_the_queue_and_nothing_is_sent(waiting):
    desk, workflow_id, approval, _ = waiting
    assert desk.workflow(workflow_id).state == "REQUIRES_HUMAN_APPROVAL"
    assert (approval.state, approval.approvals_needed, approval.rule) == ("PENDING", 1, "")
    case = ReviewCase.objects.get(subject_id=workflow_id)
    assert (case.kind, case.closed_at, case.reason) == ("APPROVAL", None, "APPROVAL_THRESHOLD")
    assert desk.posts() == []
    assert desk.workflow(workflow_id).operations.count() == 0


def test_a_person_approves_and_it_is_refunded_once(waiting):
    desk, workflow_id, approval, merchant = waiting
    reviewer = make_staff(merchant=merchant)

    desk.run(decide(desk, approval, reviewer))

    operation = desk.operation(workflow_id)
    assert (operation.state, operation.amount_minor_units) == ("COMPLETED", 14_900)
    assert operation.approval_id == approval.pk
    votes = ApprovalEvent.objects.filter(approval=approval).exclude(voter_id="")
    assert [vote.voter_id for vote in votes] == [f"user:{reviewer.pk}"]
    case = ReviewCase.objects.get(subject_id=workflow_id)
    assert (case.closed_at, case.closed_because) == (desk.now, "DUPLICATE_CONFIRMED")
    assert len(desk.posts()) == 1
    desk.assert_books_agree()


def test_a_person_rejects_and_the_customer_is_told(waiting):
    desk, workflow_id, approval, merchant = waiting

    desk.run(decide(desk, approval, make_staff(merchant=merchant), "reject", reason_code="NOT_A_DUPLICATE"))

    assert desk.workflow(workflow_id).state == "REJECTED"
    assert desk.workflow(workflow_id).open_slot is None
    assert desk.messages() == [f"refund.rejected:{workflow_id}.{desk.workflow(workflow_id).state_sequence}"]
    assert desk.posts() == []


@pytest.mark.failure("F107")
def test_the_first_decision_stands(waiting):
    desk, workflow_id, approval, merchant = waiting
    first, second = make_staff(merchant=merchant), make_staff(merchant=merchant)
    decide(desk, approval, first)

    with pytest.raises(DecisionRefusedError) as refused:
        decide(desk, approval, second, "reject")

    assert refused.value.code == "NOT_PENDING"
    assert desk.workflow(workflow_id).state == "APPROVED"
    assert ApprovalEvent.objects.exclude(voter_id="").count() == 1


@pytest.mark.failure("F111")
def test_an_approval_holds_for_the_exact_command_only(waiting):
    desk, _, approval, merchant = waiting
    with pytest.raises(DecisionRefusedError) as refused:
        decide(desk, approval, make_staff(merchant=merchant), fingerprint="0" * 64)
    assert refused.value.code == "FINGERPRINT_CHANGED"
    assert ApprovalEvent.objects.exclude(voter_id="").count() == 0


@pytest.mark.failure("F103")
@pytest.mark.parametrize("case", ["other merchant", "may not approve", "left the company", "the customer"])
def test_only_other_people_of_the_merchant_who_may_decide_can(waiting, case):
    desk, workflow_id, approval, merchant = waiting
    code = "NOT_ALLOWED"
    if case == "other merchant":
        user = make_staff(merchant=desk.shop(), is_superuser=True)
    elif case == "may not approve":
        user = make_staff(merchant=merchant, can_approve=False, is_superuser=True)
    elif case == "left the company":
        user = make_staff(merchant=merchant, is_active=False)
    else:
        user = desk.workflow(workflow_id).customer.user
        user.memberships.create(merchant=merchant, can_approve=True)
        code = "OWN_REQUEST"
    with pytest.raises(DecisionRefusedError) as refused:
        decide(desk, approval, user)
    assert refused.value.code == code
    assert ApprovalRequest.objects.get(pk=approval.pk).state == "PENDING"


def test_two_different_people_are_needed_above_the_second_limit(desk):
    merchant = desk.shop()
    made = desk.duplicate(desk.customer(merchant), amount_minor_units=60_000)
    workflow_id = desk.ask(made.order)
    approval = ApprovalRequest.objects.get(subject_id=workflow_id)
    first, second = make_staff(merchant=merchant), make_staff(merchant=merchant)

    desk.run(decide(desk, approval, first))
    assert desk.workflow(workflow_id).state == "REQUIRES_HUMAN_APPROVAL"
    with pytest.raises(DecisionRefusedError) as refused:
        decide(desk, approval, first)
    assert refused.value.code == "ALREADY_VOTED"

    desk.run(decide(desk, approval, second))
    assert desk.workflow(workflow_id).state == "COMPLETED"
    assert len(desk.posts()) == 1


@pytest.mark.failure("F106")
def test_an_approval_that_was_not_used_in_time_is_worthless(waiting):
    desk, workflow_id, approval, merchant = waiting
    nudges = decide(desk, approval, make_staff(merchant=merchant))
    desk.later(hours=25)

    desk.run(nudges)

    assert ApprovalRequest.objects.get(pk=approval.pk).state == "EXPIRED"
    assert desk.posts() == []
    assert desk.workflow(workflow_id).person_required


@pytest.mark.failure("F027")
def test_a_dispute_between_approval_and_execution_stops_the_refund(waiting):
    desk, workflow_id, approval, merchant = waiting
    nudges = decide(desk, approval, make_staff(merchant=merchant))
    payment = desk.workflow(workflow_id).refund_payment
    payment.entries.create(
        merchant=merchant, processor_reference="dp_1", kind="DISPUTE", status="OPEN", amount_minor_units=14_900,
        currency="USD", occurred_at=desk.now,
    )  # fmt: skip

    desk.run(nudges)

    assert desk.posts() == []
    assert ApprovalRequest.objects.get(pk=approval.pk).state == "VOIDED"
    desk.scan()
    assert desk.workflow(workflow_id).state == "MANUAL_REVIEW"
    assert desk.workflow(workflow_id).reason_code == "DISPUTE_OPEN"


def test_a_dispute_after_the_operation_was_created_cancels_it_before_anything_is_sent(waiting):
    desk, workflow_id, approval, merchant = waiting
    (nudge,) = decide(desk, approval, make_staff(merchant=merchant))
    submissions = desk.run_one(nudge)
    payment = desk.workflow(workflow_id).refund_payment
    payment.entries.create(
        merchant=merchant, processor_reference="dp_1", kind="DISPUTE", status="OPEN", amount_minor_units=14_900,
        currency="USD", occurred_at=desk.now,
    )  # fmt: skip

    desk.run(submissions)

    assert desk.posts() == []
    assert desk.operation(workflow_id).state == "CANCELLED"
    assert ApprovalRequest.objects.get(pk=approval.pk).state == "VOIDED"
    assert desk.workflow(workflow_id).state == "EVIDENCE_PENDING"
    desk.later(seconds=5)
    desk.scan()
    assert desk.workflow(workflow_id).state == "MANUAL_REVIEW"
