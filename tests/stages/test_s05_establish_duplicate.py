from datetime import timedelta

import pytest

from approvals.models import ReviewCase
from ledger.models import AuditOutbox
from ledger.transitions import TransitionRefusedError
from notifications.models import Notification
from refunds.evidence.policy import PolicyUnusable
from refunds.models import RefundWorkflow
from refunds.recovery import find_resumable_work
from refunds.stages.s03_retrieve_policy import retrieve_policy
from refunds.stages.s04_retrieve_payments import retrieve_payments
from refunds.stages.s05_establish_duplicate import establish_duplicate, refuse_without_policy
from refunds.stages.s12_commit_evidence import evidence_transaction
from refunds.states import OperationState, WorkflowState
from tests.factories import (
    NOW,
    make_duplicate_order,
    make_entry,
    make_order,
    make_payment,
    make_policy,
    open_workflow,
    operation_in_state,
    workflow_in_state,
)
from tests.factories.commands import WHY
from tests.stages.trail import last_move, path, trail

pytestmark = pytest.mark.django_db


def request_about(order):
    make_policy(merchant=order.merchant, version=7)
    return open_workflow(order=order, next_attempt_at=NOW)


def establish(workflow):
    """Run stages 3 to 5 as the pipeline does."""
    policy, snapshot = (
        retrieve_policy(workflow=workflow, at=NOW),
        retrieve_payments(workflow=workflow, now=NOW),
    )
    with evidence_transaction(workflow_id=workflow.pk, now=NOW) as evidence:
        finding = establish_duplicate(evidence=evidence, snapshot=snapshot, policy=policy)
    return finding, RefundWorkflow.objects.get(pk=workflow.pk)


def test_a_verified_duplicate_is_recorded_with_everything_that_proves_it():
    made = make_duplicate_order(amount_minor_units=4999, currency="EUR")
    finding, workflow = establish(request_about(made.order))
    assert (workflow.finding, workflow.reason_code) == (
        "VERIFIED_DUPLICATE_CHARGE",
        "TWO_CAPTURES_OF_ONE_PURCHASE",
    )
    assert (workflow.refund_payment, workflow.kept_payment) == (made.refunded, made.kept)
    assert (workflow.amount_minor_units, workflow.currency, workflow.command_number) == (4999, "EUR", 1)
    assert workflow.finding_evidence == [made.kept.processor_reference, made.refunded.processor_reference]
    assert (workflow.policy_version, workflow.snapshot_taken_at) == ("REF-DUP v7", NOW)
    assert workflow.snapshot["order"]["number"] == made.order.number
    assert path(workflow) == ["EVIDENCE_PENDING", "EVIDENCE_VERIFIED"]
    event = last_move(workflow)
    assert (event.stage, event.reason, event.policy_version) == (
        "ESTABLISH_DUPLICATE",
        "TWO_CAPTURES_OF_ONE_PURCHASE",
        "REF-DUP v7",
    )
    assert event.evidence == {
        "finding": "VERIFIED_DUPLICATE_CHARGE",
        "ledger_rows": workflow.finding_evidence,
        "rule_version": finding.rule_version,
        "snapshot_sha256": workflow.snapshot_sha256,
        "source": "local_tables",
        "taken_at": NOW.isoformat(),
    }
    assert not ReviewCase.objects.exists()
    assert not Notification.objects.exists()


def charge_and_hold():
    order = make_order()
    make_payment(order=order)
    make_payment(order=order, captured=False)
    return order


def test_nothing_due_ends_the_request_and_owes_the_customer_an_explanation():
    _, workflow = establish(request_about(charge_and_hold()))
    assert (workflow.finding, workflow.reason_code) == ("NO_DUPLICATE_FOUND", "AUTHORISATION_HOLD")
    assert path(workflow) == ["EVIDENCE_PENDING", "EVIDENCE_VERIFIED", "NO_REFUND_DUE"]
    assert {event.reason for event in trail(workflow)[1:]} == {"AUTHORISATION_HOLD"}
    assert (workflow.open_slot, workflow.next_attempt_at) == (None, None)
    assert (workflow.refund_payment_id, workflow.amount_minor_units, workflow.currency) == (None, None, "")
    owed = Notification.objects.get()
    assert (owed.logical_event_id, owed.customer_id) == (
        f"refund.not_due:{workflow.pk}.3",
        workflow.customer_id,
    )
    assert not ReviewCase.objects.exists()


def disputed():
    made = make_duplicate_order()
    make_entry(payment=made.refunded, kind="DISPUTE", status="OPEN")
    return made.order


def not_confirmed_lately():
    made = make_duplicate_order()
    type(made.kept).objects.filter(pk=made.kept.pk).update(refreshed_at=NOW - timedelta(seconds=901))
    return made.order


def already_being_refunded():
    operation = operation_in_state(OperationState.STATUS_UNKNOWN)
    RefundWorkflow.objects.update(open_slot=None)
    return operation.workflow.order


@pytest.mark.parametrize(
    ("arrange", "code"),
    [
        (disputed, "DISPUTE_OPEN"),
        (not_confirmed_lately, "STALE_SNAPSHOT"),
        (already_being_refunded, "OPEN_OPERATION"),
    ],
)
def test_what_is_not_proven_either_way_is_for_people(arrange, code):
    order = arrange()
    workflow = open_workflow(order=order, next_attempt_at=NOW)
    if code != "OPEN_OPERATION":
        make_policy(merchant=order.merchant)

    _, workflow = establish(workflow)

    assert (workflow.finding, workflow.reason_code) == ("REQUIRES_INVESTIGATION", code)
    assert path(workflow) == ["EVIDENCE_PENDING", "EVIDENCE_VERIFIED", "MANUAL_REVIEW"]
    assert workflow.person_required
    case = ReviewCase.objects.get(subject_id=workflow.pk)
    assert (case.kind, case.reason, case.closed_at) == ("INVESTIGATION", code, None)
    assert not Notification.objects.exists()


def test_a_refund_that_the_provider_cannot_be_sent_is_for_people_before_anybody_approves_it():
    """The provider takes dinars in tens of their thousandth part only: 5.125 cannot be written."""
    order = make_duplicate_order(amount_minor_units=5125, currency="KWD").order
    _, workflow = establish(request_about(order))
    assert workflow.finding == "VERIFIED_DUPLICATE_CHARGE"
    assert path(workflow)[-2:] == ["EVIDENCE_VERIFIED", "MANUAL_REVIEW"]
    assert last_move(workflow).reason == "AMOUNT_NOT_REPRESENTABLE"
    assert ReviewCase.objects.get(subject_id=workflow.pk).reason == "AMOUNT_NOT_REPRESENTABLE"


def test_what_people_own_is_no_work_for_the_scanner():
    _, workflow = establish(request_about(disputed()))
    assert workflow.next_attempt_at is None
    assert find_resumable_work(now=NOW + timedelta(days=1)) == ()


def test_without_a_policy_people_decide():
    workflow = open_workflow(order=make_duplicate_order().order, next_attempt_at=NOW)
    with evidence_transaction(workflow_id=workflow.pk, now=NOW) as evidence:
        refuse_without_policy(evidence=evidence, unusable=PolicyUnusable("POLICY_OVERLAP", (3, 4)))
    assert path(workflow) == ["EVIDENCE_PENDING", "MANUAL_REVIEW"]
    event = last_move(workflow)
    assert (event.reason, event.evidence) == ("POLICY_OVERLAP", {"candidates": [3, 4]})


def test_evidence_is_not_established_over_a_later_state():
    workflow = workflow_in_state(WorkflowState.REQUIRES_HUMAN_APPROVAL)
    with pytest.raises(TransitionRefusedError):
        establish(workflow)
    refusals = AuditOutbox.objects.filter(topic="refund_workflow.transition_refused")
    told = refusals.get(subject=workflow.pk).payload
    assert (told["from"], told["to"]) == ("REQUIRES_HUMAN_APPROVAL", "EVIDENCE_VERIFIED")
    assert told["stage"] == "ESTABLISH_DUPLICATE"
    assert path(workflow)[-1] == "REQUIRES_HUMAN_APPROVAL"
    assert ReviewCase.objects.get(subject_id=workflow.pk).closed_at is None


def test_reading_again_raises_the_number_of_the_command():
    workflow = workflow_in_state(WorkflowState.REQUIRES_HUMAN_APPROVAL)
    with evidence_transaction(workflow_id=workflow.pk, now=NOW) as evidence:
        evidence.move_workflow(WorkflowState.EVIDENCE_PENDING, WHY)
    _, workflow = establish(workflow)
    assert (workflow.command_number, workflow.person_required) == (2, True)
