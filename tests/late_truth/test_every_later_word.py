"""Each way in which a refund turns out otherwise later: the amount, one message, and people who decide anew."""

from datetime import timedelta

import pytest

from approvals.models import ApprovalRequest, ReviewCase
from ledger.models import AuditOutbox, LedgerEntry, Payment
from notifications.messages import message_for
from notifications.models import Notification
from refunds import pipeline
from refunds.evidence.late_checks import late_horizon
from refunds.evidence.remaining import conservation_of
from refunds.facts import report_requests
from refunds.gateways.contract import STRIPE_V1
from refunds.gateways.fake import Ordered
from refunds.gateways.port import AnswerClass, ProviderStatus
from refunds.gateways.stripe_objects import read_refund
from refunds.models import (
    GatewayAttempt,
    GatewayResponse,
    RefundOperation,
    RefundOperationEvent,
    RefundWorkflow,
)
from refunds.selectors.review import get_reviewer
from refunds.selectors.review_case import get_case
from refunds.stages.s11_reconcile_outcome import reconcile_outcome
from refunds.states import CheckCause, OperationState
from tests.casework.staff import approve, charge_of, start, states_of
from tests.factories import NOW, make_entry, make_merchant, make_policy, make_staff, operation_in_state
from tests.late_truth.test_what_is_learnt_later import gateway_with, hear
from tests.stages.gateways import ScriptedGateway, answered, booked, fake_gateway_for, listed, submit
from tests.support.committed_facts import facts_committed
from tests.webhooks.signed import event

pytestmark = pytest.mark.django_db
_S = ProviderStatus
HORIZON = late_horizon(STRIPE_V1)


def completed_refund():
    operation = operation_in_state(OperationState.CREATED)
    gateway = fake_gateway_for(operation)
    submit(operation, gateway)
    (refund,) = gateway.refunds(operation.payment_reference)
    return operation, gateway, refund.processor_reference


def pending_refund():
    operation = operation_in_state(OperationState.CREATED)
    gateway = fake_gateway_for(operation)
    gateway.order(Ordered.PENDING)
    submit(operation, gateway)
    (refund,) = gateway.refunds(operation.payment_reference)
    return operation, gateway, refund.processor_reference


def messages():
    return sorted(Notification.objects.values_list("logical_event_id", flat=True))


# -- pending, requires_action


@pytest.mark.failure("F024")
@pytest.mark.parametrize("status", [_S.PENDING, _S.REQUIRES_ACTION])
def test_a_refund_that_waits_is_never_called_done_and_holds_its_amount(status):
    operation, gateway, reference = pending_refund()
    gateway.set_status(reference, status)
    hear(event(operation, reference=reference), gateway)
    assert states_of(operation)[-1] == "PROVIDER_PENDING"
    assert conservation_of(operation.payment_id).remaining == 0
    report = report_requests([RefundWorkflow.objects.get()])[0]
    assert report.statement.key == "REFUND_PENDING_AT_PROCESSOR"
    assert messages() == []


@pytest.mark.failure("F025")
def test_a_refund_that_waits_for_weeks_is_looked_up_until_it_is_done():
    operation, gateway, reference = pending_refund()
    at = NOW
    for _ in range(40):
        stored = RefundOperation.objects.get(pk=operation.pk)
        at = stored.next_check_at
        reconcile_outcome(operation_id=operation.pk, gateway=gateway, contract=STRIPE_V1, now=at)
    assert at - NOW > timedelta(days=4)
    assert states_of(operation)[-1] == "PROVIDER_PENDING"
    gateway.set_status(reference, _S.SUCCEEDED)
    at = RefundOperation.objects.get(pk=operation.pk).next_check_at
    reconcile_outcome(operation_id=operation.pk, gateway=gateway, contract=STRIPE_V1, now=at)
    assert states_of(operation)[-1] == "COMPLETED"
    assert messages() == [f"refund.completed:{operation.pk}"]


# -- succeeded -> failed, canceled


@pytest.mark.failure("F022")
@pytest.mark.failure("F023")
@pytest.mark.parametrize("status", [_S.FAILED, _S.CANCELED])
@pytest.mark.parametrize("after", [timedelta(seconds=5), HORIZON - timedelta(seconds=1), HORIZON * 2])
def test_a_refund_that_ended_and_moved_no_money_after_all_is_free_again_and_with_people(status, after):
    operation, gateway, reference = completed_refund()
    gateway.set_status(reference, status)
    for number in range(3):  # however often the provider says so
        hear(event(operation, reference=reference, id=f"evt_{number}"), gateway, now=NOW + after)
    assert states_of(operation)[-2:] == ["COMPLETED", "FAILED"]
    assert LedgerEntry.objects.get(kind="REFUND").status == "FAILED"
    assert conservation_of(operation.payment_id).remaining == 4999
    workflow = RefundWorkflow.objects.get()
    assert (workflow.state, workflow.person_required) == ("MANUAL_REVIEW", True)
    assert ReviewCase.objects.get(closed_at__isnull=True).kind == "FINANCE"
    assert len(gateway.submissions) == 1  # nothing is sent again by itself
    assert messages() == [f"refund.completed:{operation.pk}", f"refund.returned:{operation.pk}"]
    told = message_for(Notification.objects.get(logical_event_id__startswith="refund.returned"))
    assert "did not stay in place" in told.subject


@pytest.mark.failure("F022")
def test_money_that_came_back_first_and_failed_then_is_corrected_with_one_message_too():
    operation, gateway, reference = completed_refund()
    for number, status in enumerate([_S.REQUIRES_ACTION, _S.FAILED, _S.FAILED]):
        gateway.set_status(reference, status)
        hear(event(operation, reference=reference, id=f"evt_{number}"), gateway)
    assert states_of(operation)[-3:] == ["COMPLETED", "PROVIDER_PENDING", "FAILED"]
    assert messages() == [f"refund.completed:{operation.pk}", f"refund.returned:{operation.pk}"]


@pytest.mark.parametrize("status", ["FAILED", "CANCELED", "PENDING"])
def test_a_source_that_denies_a_refund_frees_nothing_once_the_provider_shows_that_it_stands(status):
    operation, gateway, _ = completed_refund()
    LedgerEntry.objects.filter(kind="REFUND").update(status=status)  # as a file or the shop tells it
    reconcile_outcome(
        operation_id=operation.pk, gateway=gateway, contract=STRIPE_V1, now=NOW, cause=CheckCause.PERSON
    )
    assert LedgerEntry.objects.get(kind="REFUND").status == "SUCCEEDED"
    assert conservation_of(operation.payment_id).remaining == 0
    assert states_of(operation)[-1] == "COMPLETED"


def test_what_was_never_confirmed_needs_no_correction():
    operation, gateway, reference = pending_refund()
    gateway.set_status(reference, _S.FAILED)
    hear(event(operation, reference=reference), gateway)
    assert messages() == []


@pytest.mark.failure("F022")
@pytest.mark.parametrize("status", [_S.FAILED, _S.CANCELED])
def test_a_pending_refund_that_ends_without_money_is_free_again(status):
    operation, gateway, reference = pending_refund()
    gateway.set_status(reference, status)
    hear(event(operation, reference=reference), gateway)
    assert states_of(operation)[-1] == "FAILED"
    assert conservation_of(operation.payment_id).remaining == 4999
    assert RefundWorkflow.objects.get().state == "MANUAL_REVIEW"


@pytest.mark.failure("F022")
def test_what_failed_is_paid_only_under_a_new_decision_and_a_new_key():
    merchant = make_merchant()
    make_policy(merchant=merchant)
    starter, second, third = (make_staff(merchant=merchant) for _ in range(3))
    charge = charge_of(merchant)
    gateway = gateway_with(charge, 10_000)
    workflow = start(charge, starter, amount_minor_units=3000)
    approve(workflow, second)
    pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: NOW)
    first = RefundOperation.objects.get()
    submit(first, gateway)
    (refund,) = gateway.refunds(charge.processor_reference)
    gateway.set_status(refund.processor_reference, _S.FAILED)
    hear(event(first, reference=refund.processor_reference), gateway)
    pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: NOW)
    assert RefundOperation.objects.count() == 1
    case = ReviewCase.objects.get(closed_at__isnull=True)
    action = pipeline.CaseAction(
        ticket=case.ticket, staff_user_id=second.pk, reason_code="CONFIRMED", note="again"
    )
    pipeline.claim_case(action=action, now=NOW)
    pipeline.rebuild_command(action=action, now=NOW)
    approve(workflow, third)
    pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: NOW)
    after = RefundOperation.objects.exclude(pk=first.pk).get()
    assert after.idempotency_key != first.idempotency_key
    assert after.request_fingerprint != first.request_fingerprint
    assert ApprovalRequest.objects.get(pk=after.approval_id).maker_id == f"user:{second.pk}"
    submit(after, gateway)
    assert [f.status for f in gateway.refunds(charge.processor_reference)] == [_S.FAILED, _S.SUCCEEDED]
    assert conservation_of(charge.pk).remaining == 7000


# -- disputes: before, during, after


def dispute_of(payment, amount=4999, status="OPEN"):
    return make_entry(payment=payment, kind="DISPUTE", status=status, amount_minor_units=amount)


@pytest.mark.failure("F027")
@pytest.mark.parametrize("status", ["OPEN", "LOST"])
def test_a_dispute_between_approval_and_submission_stops_it_with_nothing_sent(status):
    operation = operation_in_state(OperationState.CREATED)
    gateway = fake_gateway_for(operation)
    dispute_of(operation.payment, status=status)
    submit(operation, gateway)
    assert gateway.submissions == []
    assert not GatewayAttempt.objects.exists()
    assert states_of(operation)[-1] == "CANCELLED"
    assert RefundWorkflow.objects.get().state == "EVIDENCE_PENDING"
    assert ApprovalRequest.objects.get().state == "VOIDED"


@pytest.mark.failure("F027")
@pytest.mark.parametrize("state", [OperationState.CONFIRMED_ABSENT])
def test_a_dispute_before_a_second_submission_leaves_it_to_people(state):
    operation = operation_in_state(state)
    gateway = fake_gateway_for(operation)
    dispute_of(operation.payment)
    submit(operation, gateway)
    assert gateway.submissions == []
    assert states_of(operation)[-1] == "MANUAL_REVIEW"


@pytest.mark.failure("F027")
def test_a_dispute_that_the_provider_knows_first_refuses_the_refund():
    operation = operation_in_state(OperationState.CREATED)
    gateway = fake_gateway_for(operation)
    gateway.order(Ordered.REFUSE)
    submit(operation, gateway)
    assert states_of(operation)[-1] == "REJECTED"
    assert GatewayResponse.objects.get().error_code == "charge_disputed"
    assert conservation_of(operation.payment_id).remaining == 4999
    assert messages() == []  # nothing is claimed until people decided


@pytest.mark.failure("F027")
def test_a_dispute_that_overtakes_a_pending_refund_fails_it_and_says_why():
    operation, gateway, reference = pending_refund()
    dispute_of(operation.payment)
    gateway.set_status(reference, _S.FAILED, failure_reason="charge_for_pending_refund_disputed")
    hear(event(operation, reference=reference), gateway)
    assert states_of(operation)[-1] == "FAILED"
    money = conservation_of(operation.payment_id)
    assert (money.pending, money.reserved, money.disputed, money.remaining) == (0, 0, 4999, 0)
    explained = operation.checks.latest("number").explanation
    assert any("charge_for_pending_refund_disputed" in line for line in explained)


@pytest.mark.failure("F027")
def test_a_dispute_after_the_refund_is_booked_whatever_it_does_to_the_sums():
    operation, _gateway, _reference = completed_refund()
    dispute_of(operation.payment)
    assert conservation_of(operation.payment_id).remaining == -4999
    facts_committed()
    assert Payment.objects.get(pk=operation.payment_id).frozen_reason == "OVERDRAWN"
    assert states_of(operation)[-1] == "COMPLETED"  # what the provider did stands


# -- insufficient balance


def waiting_for_money(operation):
    return booked(operation, _S.PENDING, pending_reason="insufficient_funds")


@pytest.mark.failure("F024")
def test_a_refund_that_waits_for_the_balance_is_pending_and_says_so_everywhere_staff_look(client):
    operation = operation_in_state(OperationState.CREATED)
    refund = waiting_for_money(operation)
    gateway = ScriptedGateway(
        answered(AnswerClass.PENDING, refund=refund, http_status=200), lookups=[listed(refund)] * 2
    )
    submit(operation, gateway)
    assert states_of(operation)[-1] == "PROVIDER_PENDING"
    moved = RefundOperationEvent.objects.filter(operation=operation, to_state="PROVIDER_PENDING").get()
    assert moved.evidence["provider_words"] == "pending: insufficient_funds"
    audit = AuditOutbox.objects.get(topic="refund_operation.provider_pending")
    assert audit.payload["metadata"]["provider_words"] == "pending: insufficient_funds"
    reconcile_outcome(
        operation_id=operation.pk, gateway=gateway, contract=STRIPE_V1, now=NOW, cause=CheckCause.PERSON
    )
    explained = operation.checks.get().explanation
    assert any("PENDING (pending: insufficient_funds)" in line for line in explained)
    assert conservation_of(operation.payment_id).remaining == 0


def test_the_console_shows_why_the_provider_waits(client):
    operation = operation_in_state(OperationState.MANUAL_REVIEW)
    GatewayResponse.objects.create(
        attempt=operation.attempts.get(), answer_class="PENDING", provider_status="pending",
        detail="refund pending: insufficient_funds", received_at=NOW,
    )  # fmt: skip
    staff = make_staff(merchant=operation.merchant)
    case = get_case(reviewer=get_reviewer(user_id=staff.pk), ticket=ReviewCase.objects.get().ticket, now=NOW)
    assert case.operations[0].attempts[0].detail == "refund pending: insufficient_funds"
    client.force_login(staff)
    assert "insufficient_funds" in client.get(f"/admin/review/{case.ticket}/").content.decode()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"pending_reason": "insufficient_funds"}, "pending: insufficient_funds"),
        ({"pending_reason": "charge_pending"}, "pending: charge_pending"),
        ({"pending_reason": None}, "pending"),
        ({}, "pending"),
        ({"pending_reason": "x" * 65}, "pending"),
        ({"pending_reason": {"nested": 1}}, "pending"),
    ],
)
def test_the_reason_is_read_as_a_word_or_not_at_all(given, told):
    value = {
        "object": "refund", "id": "re_1", "amount": 4999, "currency": "usd", "charge": "ch_1",
        "status": "pending", "created": 1,
    } | given  # fmt: skip
    assert read_refund(value, contract=STRIPE_V1).words == told
