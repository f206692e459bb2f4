import pytest

from approvals.models import ApprovalRequest
from refunds.fingerprints import idempotency_key
from refunds.models import GatewayAttempt, GatewayResponse, Proposal, RuleResult

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_later_charge_is_refunded_once_with_every_piece_of_evidence(desk):
    customer = desk.customer()
    made = desk.duplicate(customer)

    workflow_id = desk.ask(made.order)

    workflow, operation = desk.workflow(workflow_id), desk.operation(workflow_id)
    assert (workflow.state, operation.state) == ("COMPLETED", "COMPLETED")
    assert desk.story(workflow_id) == (
        ["EVIDENCE_PENDING", "EVIDENCE_VERIFIED", "ACTION_PROPOSED", "PROPOSAL_VALIDATED", "APPROVED",
         "EXECUTING", "COMPLETED"],
        ["CREATED", "SUBMITTED", "COMPLETED"],
    )  # fmt: skip
    assert operation.payment == made.refunded
    assert (operation.amount_minor_units, operation.currency) == (4999, "USD")
    assert operation.idempotency_key == idempotency_key(operation.pk)
    (refund,) = desk.sim.refunds(made.refunded.processor_reference)
    assert (refund["amount"], refund["metadata"]["refund_operation_id"]) == (4999, operation.pk)
    assert desk.sim.refunds(made.kept.processor_reference) == []
    (post,) = desk.posts()
    assert post["headers"]["idempotency-key"] == operation.idempotency_key
    approval = ApprovalRequest.objects.get(subject_id=workflow_id)
    assert (approval.state, approval.rule, approval.pk) == ("CONSUMED", "AUTO_LIMIT", operation.approval_id)
    assert approval.request_fingerprint == operation.request_fingerprint
    assert RuleResult.objects.filter(workflow_id=workflow_id, result="PASS").count() == 7
    assert Proposal.objects.get(workflow_id=workflow_id).proposer == "deterministic"
    assert GatewayAttempt.objects.count() == GatewayResponse.objects.count() == 1
    assert workflow.open_slot is None
    assert desk.messages() == [f"refund.completed:{operation.pk}"]
    desk.assert_books_agree()


@pytest.mark.failure("F005")
def test_asking_again_after_the_refund_finds_nothing_more_to_refund(desk):
    made = desk.duplicate(desk.customer())
    desk.ask(made.order)

    second = desk.ask(made.order)

    assert desk.workflow(second).state == "NO_REFUND_DUE"
    assert desk.workflow(second).reason_code == "ALREADY_REFUNDED"
    assert len(desk.sim.refunds()) == 1


@pytest.mark.failure("F045")
def test_yen_are_never_multiplied(desk):
    made = desk.duplicate(desk.customer(), amount_minor_units=500, currency="JPY")

    operation = desk.operation(desk.ask(made.order))

    assert (operation.state, operation.amount_minor_units) == ("COMPLETED", 500)
    assert desk.sim.refunds()[0]["amount"] == 500


@pytest.mark.failure("F002")
def test_the_refund_that_a_source_brought_first_is_not_booked_twice(desk):
    made = desk.duplicate(desk.customer())
    workflow_id = desk.ask(made.order)
    operation = desk.operation(workflow_id)

    assert made.refunded.entries.filter(kind="REFUND").count() == 1
    assert made.refunded.entries.get(kind="REFUND").processor_reference == operation.processor_reference
