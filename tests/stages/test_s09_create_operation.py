from datetime import timedelta

import pgtrigger
import pytest

from approvals.models import ApprovalRequest
from approvals.services import void
from ledger.actors import Actor
from ledger.models import LedgerEntry, Order
from ledger.switches import GATEWAY_WRITES, turn
from policies.models import PolicyVersion
from refunds.evidence.policy import policy_of
from refunds.evidence.remaining import conservation_of
from refunds.models import RefundOperation, RefundWorkflow
from refunds.stages.s09_create_operation import WAIT, create_operation
from refunds.stages.s12_commit_evidence import evidence_transaction
from refunds.states import OperationState, WorkflowState
from tests.factories import (
    NOW,
    latest_approval,
    make_duplicate_order,
    make_entry,
    make_policy,
    operation_in_state,
    workflow_in_state,
)
from tests.factories.commands import WHY
from tests.stages.rebuilt import approve_again
from tests.stages.trail import last_move, path

pytestmark = pytest.mark.django_db
FINDING_IS_FIXED = "refunds.RefundWorkflow:finding_is_fixed"


@pytest.fixture
def approved():
    return workflow_in_state(WorkflowState.APPROVED)


def create(workflow, *, now=NOW):
    payments = [workflow.refund_payment_id, workflow.kept_payment_id]
    with evidence_transaction(workflow_id=workflow.pk, payment_ids=payments, now=now) as evidence:
        return create_operation(evidence=evidence, policy=policy_of(workflow.policy_id))


def test_an_approved_command_becomes_one_operation(approved, settings):
    operation = create(approved)
    approval = latest_approval(approved)
    assert operation.pk.startswith("rfop_")
    assert (operation.idempotency_key, operation.request_fingerprint, operation.approval_id) == (
        f"refund:{operation.pk}",
        approval.request_fingerprint,
        approval.pk,
    )
    assert (operation.payment, operation.payment_reference, operation.account) == (
        approved.refund_payment,
        approved.refund_payment.processor_reference,
        "",
    )
    assert (operation.amount_minor_units, operation.currency, operation.reason_code) == (
        4999,
        "USD",
        "DUPLICATE_CHARGE",
    )
    assert operation.next_attempt_at == NOW
    assert operation.claimed_until == NOW + timedelta(seconds=settings.RECOVERY_INTERVAL_SECONDS)
    assert operation.processor_reference is None
    assert path(operation) == ["CREATED"]
    assert path(approval) == ["PENDING", "GRANTED", "CONSUMED"]
    assert path(approved)[-2:] == ["APPROVED", "EXECUTING"]
    assert RefundWorkflow.objects.get(pk=approved.pk).next_attempt_at is None
    assert [last_move(row).evidence for row in (operation, approval, approved)] == [
        {
            "approval_id": approval.pk,
            "refund_operation_id": operation.pk,
            "request_fingerprint": approval.request_fingerprint,
        }
    ] * 3


def test_its_amount_is_reserved_by_existing(approved):
    before = conservation_of(approved.refund_payment_id)
    operation = create(approved)
    after = conservation_of(approved.refund_payment_id)
    assert (before.reserved, before.remaining) == (0, 4999)
    assert (after.captured, after.reserved, after.remaining) == (4999, 4999, 0)
    assert conservation_of(approved.refund_payment_id, leaving_out_operation=operation.pk) == before


def voided_meanwhile(workflow):
    void(approval_id=latest_approval(workflow).pk, why=WHY, now=NOW)


def another_amount(workflow):
    with pgtrigger.ignore(FINDING_IS_FIXED):
        RefundWorkflow.objects.filter(pk=workflow.pk).update(amount_minor_units=4998)


def disputed(workflow):
    make_entry(payment=workflow.kept_payment, kind="DISPUTE", status="OPEN")


def refunded_by_staff(workflow):
    make_entry(payment=workflow.refund_payment, kind="REFUND")


def the_other_charge_was_the_later_one(workflow):
    workflow.kept_payment.entries.update(occurred_at=NOW)


def both_charges_were_of_another_amount(workflow):
    with pgtrigger.ignore("ledger.LedgerEntry:amount_is_fixed"):
        LedgerEntry.objects.update(amount_minor_units=5000)
    Order.objects.update(total_minor_units=5000)


def already_refunded_by_an_operation(workflow):
    """A refund that is complete and whose ledger entry no source has brought yet."""
    RefundWorkflow.objects.filter(pk=workflow.pk).update(open_slot=None)
    operation_in_state(OperationState.COMPLETED, order=workflow.order)


def being_refunded_by_an_operation(workflow):
    RefundWorkflow.objects.filter(pk=workflow.pk).update(open_slot=None)
    operation_in_state(OperationState.STATUS_UNKNOWN, order=workflow.order)


def assert_voided(workflow, code, approval_state="VOIDED"):
    """No operation of this request, its approval is worthless, and the evidence is read again for a person."""
    assert not RefundOperation.objects.filter(workflow=workflow).exists()
    assert path(latest_approval(workflow)) == ["PENDING", "GRANTED", approval_state]
    assert path(workflow)[-2:] == ["APPROVED", "EVIDENCE_PENDING"]
    assert (last_move(workflow).stage, last_move(workflow).reason) == ("CREATE_OPERATION", code)
    stored = RefundWorkflow.objects.get(pk=workflow.pk)
    assert stored.person_required
    assert stored.next_attempt_at is not None


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (voided_meanwhile, "APPROVAL_NOT_STANDING"),
        pytest.param(another_amount, "FINGERPRINT_CHANGED", marks=pytest.mark.failure("F111")),
        pytest.param(disputed, "FINDING_CHANGED:DISPUTE_OPEN", marks=pytest.mark.failure("F027")),
        (refunded_by_staff, "FINDING_CHANGED:ALREADY_REFUNDED"),
        (the_other_charge_was_the_later_one, "FINDING_CHANGED:TWO_CAPTURES_OF_ONE_PURCHASE"),
        (both_charges_were_of_another_amount, "FINDING_CHANGED:TWO_CAPTURES_OF_ONE_PURCHASE"),
        (being_refunded_by_an_operation, "FINDING_CHANGED:OPEN_OPERATION"),
        (already_refunded_by_an_operation, "FINDING_CHANGED:OPEN_OPERATION"),
    ],
)
def test_what_is_no_longer_as_it_was_approved_creates_nothing(approved, change, code):
    change(approved)
    assert create(approved) is None
    assert_voided(approved, code)


def test_facts_that_are_too_old_to_tell_void_nothing_and_wait(approved):
    approved.order.payments.update(refreshed_at=NOW - timedelta(seconds=901))
    assert create(approved) is None
    assert not RefundOperation.objects.exists()
    assert path(latest_approval(approved)) == ["PENDING", "GRANTED"]
    assert path(approved)[-1] == "APPROVED"
    assert RefundWorkflow.objects.get(pk=approved.pk).next_attempt_at == NOW + WAIT

    approved.order.payments.update(refreshed_at=NOW)
    assert create(approved, now=NOW + WAIT).state == "CREATED"


@pytest.mark.failure("F106")
@pytest.mark.parametrize(("seconds", "stands"), [(-1, True), (0, False), (1, False)])
def test_an_approval_ends_with_its_last_second(approved, seconds, stands):
    approved.order.payments.update(refreshed_at=NOW + timedelta(hours=24))
    now = latest_approval(approved).expires_at + timedelta(seconds=seconds)
    if stands:
        assert create(approved, now=now).state == "CREATED"
    else:
        assert create(approved, now=now) is None
        assert_voided(approved, "APPROVAL_EXPIRED", "EXPIRED")


def test_a_policy_that_ended_meanwhile_is_not_executed():
    order = make_duplicate_order().order
    make_policy(merchant=order.merchant, effective_to=NOW + timedelta(minutes=5))
    workflow = workflow_in_state(WorkflowState.APPROVED, order=order)
    assert PolicyVersion.objects.count() == 1
    assert create(workflow, now=NOW + timedelta(minutes=5)) is None
    assert_voided(workflow, "POLICY_NOT_IN_FORCE")


def test_without_an_approval_nothing_is_created(approved):
    with pgtrigger.ignore(FINDING_IS_FIXED):
        RefundWorkflow.objects.filter(pk=approved.pk).update(command_number=2)
    assert create(approved) is None
    assert not RefundOperation.objects.exists()
    assert (path(approved)[-1], last_move(approved).reason) == ("EVIDENCE_PENDING", "APPROVAL_NOT_STANDING")
    assert path(latest_approval(approved)) == ["PENDING", "GRANTED"]


@pytest.mark.failure("F017")
@pytest.mark.failure("F109")
def test_a_rebuilt_command_is_another_instruction_with_a_key_and_approval_of_its_own():
    first = operation_in_state(OperationState.CREATED)
    second = create(approve_again(first))
    assert RefundOperation.objects.count() == ApprovalRequest.objects.count() == 2
    for column in ("pk", "idempotency_key", "request_fingerprint", "approval_id"):
        assert getattr(first, column) != getattr(second, column)
    assert second.idempotency_key == f"refund:{second.pk}"
    assert (first.amount_minor_units, first.payment_id) == (second.amount_minor_units, second.payment_id)


def test_while_nothing_may_be_sent_an_approval_waits_and_reserves_nothing(approved):
    turn(GATEWAY_WRITES, on=False, reason="drill", actor=Actor.system("test"), now=NOW)
    assert create(approved) is None
    stored = RefundWorkflow.objects.get(pk=approved.pk)
    assert (path(stored)[-1], stored.next_attempt_at) == ("APPROVED", NOW + WAIT)
    assert not RefundOperation.objects.exists()
    turn(GATEWAY_WRITES, on=True, reason="", actor=Actor.system("test"), now=NOW)
    assert create(approved, now=NOW + WAIT).state == "CREATED"
