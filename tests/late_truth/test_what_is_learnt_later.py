"""What the provider says after we had made up our mind: it counts, and nobody is paid twice for it."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from approvals.models import ApprovalRequest, ReviewCase
from approvals.services import DecisionRefusedError
from ledger.models import LedgerEntry, Payment
from refunds import pipeline
from refunds.casework.owned_case import CaseAction
from refunds.evidence.remaining import conservation_of
from refunds.evidence.source import local_source
from refunds.evidence.webhooks import keep_event
from refunds.facts import report_requests
from refunds.gateways.contract import STRIPE_V1
from refunds.gateways.fake import FakeGateway, Ordered
from refunds.gateways.port import ProviderStatus, RefundCommand
from refunds.gateways.registry import response_window
from refunds.gateways.stripe_events import read_event
from refunds.models import GatewayWebhook, RefundOperation, RefundWorkflow
from refunds.stages import s04_retrieve_payments, s10_submit_refund
from refunds.stages.s10_submit_refund import NotBegun, submit_refund
from refunds.stages.s11_reconcile_outcome import reconcile_outcome
from refunds.states import CheckCause, OperationState, WorkflowState
from tests.casework.staff import approve, charge_of, start, states_of
from tests.factories import (
    NOW,
    make_duplicate_order,
    make_merchant,
    make_policy,
    make_staff,
    operation_in_state,
    workflow_in_state,
)
from tests.stages.gateways import ScriptedGateway, booked, fake_gateway_for, listed
from tests.stages.sources import DOWN, Source
from tests.webhooks.signed import event

pytestmark = pytest.mark.django_db
_S = ProviderStatus


@pytest.fixture
def merchant():
    made = make_merchant()
    make_policy(merchant=made)
    return made


@pytest.fixture
def staff(merchant):
    return [make_staff(merchant=merchant) for _ in range(3)]


def hear(what, gateway, *, now=NOW):
    """Store one event of the provider and apply it."""
    body = json.dumps(what)
    webhook_id, _ = keep_event(read_event(body.encode()), provider="stripe", body=body, now=now)
    return apply(webhook_id, gateway, now=now)


def apply(webhook_id, gateway, *, now=NOW):
    pipeline.apply_webhook(
        webhook_id=webhook_id, gateway=gateway, contract=STRIPE_V1, livemode=False, now=now
    )
    return GatewayWebhook.objects.get(pk=webhook_id)


def gateway_with(payment, amount):
    gateway = FakeGateway()
    gateway.seed_payment(
        payment_reference=payment.processor_reference, amount_minor_units=amount, currency="USD"
    )
    return gateway


def executed(workflow, person, *, now=NOW):
    approve(workflow, person, now=now)
    pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: now)
    return RefundOperation.objects.filter(workflow=workflow).latest("created_at")


def submit(operation, gateway, *, now=NOW):
    return submit_refund(operation_id=operation.pk, gateway=gateway, clock=lambda: now)


def rebuild(workflow, person, *, now=NOW):
    ticket = ReviewCase.objects.get(subject_id=workflow.pk, closed_at=None).ticket
    action = CaseAction(ticket=ticket, staff_user_id=person.pk, reason_code="CONFIRMED", note="again")
    pipeline.claim_case(action=action, now=now)
    pipeline.rebuild_command(action=action, now=now)


def failed_then_rebuilt(charge, gateway, staff, *, amount, first):
    """A refund fails at the provider, and people approve the command anew; return both operations."""
    starter, second, third = staff
    workflow = start(charge, starter, amount_minor_units=amount)
    before = executed(workflow, second)
    if first == "PENDING":
        gateway.order(Ordered.PENDING)
    submit(before, gateway)
    (refund,) = gateway.refunds(charge.processor_reference)
    gateway.set_status(refund.processor_reference, _S.FAILED)
    hear(event(before, reference=refund.processor_reference, id="evt_failed"), gateway)
    later = NOW + timedelta(minutes=5)
    rebuild(workflow, second, now=later)
    return before, executed(workflow, third, now=later), refund.processor_reference


@pytest.mark.failure("F022")
@pytest.mark.parametrize("amount", [3000, 10_000])
@pytest.mark.parametrize("first", ["PENDING", "COMPLETED"])
def test_a_second_command_is_not_sent_once_the_first_proves_to_have_paid(merchant, staff, amount, first):
    charge = charge_of(merchant)
    gateway = gateway_with(charge, 10_000)
    before, after, reference = failed_then_rebuilt(charge, gateway, staff, amount=amount, first=first)
    gateway.set_status(reference, _S.SUCCEEDED)
    later = NOW + timedelta(minutes=6)
    hear(event(before, reference=reference, id="evt_after_all"), gateway, now=later)
    assert states_of(before)[-1] == "MANUAL_REVIEW"
    outcome = submit(after, gateway, now=later + timedelta(seconds=40))
    assert outcome == NotBegun("REQUEST_WITH_PEOPLE")
    assert states_of(after)[-1] == "CANCELLED"
    assert len(gateway.submissions) == 1
    assert conservation_of(charge.pk).remaining == 10_000 - amount


def test_a_refund_that_failed_and_stands_after_all_is_reserved_again(merchant, staff):
    charge = charge_of(merchant)
    gateway = gateway_with(charge, 10_000)
    operation = executed(start(charge, staff[0], amount_minor_units=6000), staff[1])
    submit(operation, gateway)
    (refund,) = gateway.refunds(charge.processor_reference)
    for number, (status, remaining) in enumerate([(_S.FAILED, 10_000), (_S.SUCCEEDED, 4000)]):
        gateway.set_status(refund.processor_reference, status)
        hear(event(operation, reference=refund.processor_reference, id=f"evt_{number}"), gateway)
        assert conservation_of(charge.pk).remaining == remaining
    assert states_of(operation)[-3:] == ["COMPLETED", "FAILED", "MANUAL_REVIEW"]


def test_a_contradiction_voids_the_approval_of_a_later_command_too(merchant, staff):
    charge = charge_of(merchant)
    gateway = gateway_with(charge, 10_000)
    workflow = start(charge, staff[0], amount_minor_units=3000)
    operation = executed(workflow, staff[1])
    gateway.order(Ordered.PENDING)
    submit(operation, gateway)
    (refund,) = gateway.refunds(charge.processor_reference)
    gateway.set_status(refund.processor_reference, _S.FAILED)
    hear(event(operation, reference=refund.processor_reference, id="evt_1"), gateway)
    rebuild(workflow, staff[1])
    second = ApprovalRequest.objects.get(command_number=2)
    gateway.set_status(refund.processor_reference, _S.SUCCEEDED)
    hear(event(operation, reference=refund.processor_reference, id="evt_2"), gateway)
    assert states_of(second)[-1] == "VOIDED"
    with pytest.raises(DecisionRefusedError):
        pipeline.decide(
            approval_id=second.pk,
            decision="approve",
            staff_user_id=staff[2].pk,
            fingerprint=second.request_fingerprint,
            reason_code="CONFIRMED",
            note="",
            now=NOW,
        )


def test_facts_that_are_too_old_make_a_staff_refund_wait_and_void_nothing(merchant, staff):
    workflow = start(charge_of(merchant), staff[0])
    later = NOW + timedelta(minutes=16)
    approve(workflow, staff[1], now=later)
    pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: later)
    assert states_of(workflow)[-1] == "APPROVED"


def test_an_approval_that_took_longer_than_facts_stay_fresh_is_refreshed_and_goes_on(monkeypatch):
    workflow = workflow_in_state(WorkflowState.APPROVED)

    class Fresh:
        def read_order(self, *, now, **scope):
            Payment.objects.update(refreshed_at=now)
            return local_source().read_order(now=now, **scope)

    monkeypatch.setattr(s04_retrieve_payments, "ledger_source", Fresh)
    pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: NOW + timedelta(hours=2))
    assert states_of(RefundOperation.objects.get()) == ["CREATED"]


@pytest.mark.failure("F022")
def test_money_that_the_bank_sent_back_is_no_longer_called_processed():
    operation = operation_in_state(OperationState.CREATED)
    gateway = fake_gateway_for(operation)
    submit(operation, gateway)
    (refund,) = gateway.refunds(operation.payment_reference)
    gateway.set_status(refund.processor_reference, _S.REQUIRES_ACTION)
    hear(event(operation, reference=refund.processor_reference), gateway)
    assert states_of(operation)[-2:] == ["COMPLETED", "PROVIDER_PENDING"]
    assert LedgerEntry.objects.get(kind="REFUND").status == "PENDING"
    workflow = RefundWorkflow.objects.get(pk=operation.workflow_id)
    assert workflow.state == "MANUAL_REVIEW"
    assert report_requests([workflow])[0].statement.key == "REFUND_NO_LONGER_CONFIRMED"


@pytest.mark.failure("F005")
def test_a_dashboard_refund_is_found_by_the_payment_intent_as_well():
    made = make_duplicate_order()
    Payment.objects.filter(pk=made.kept.pk).update(processor_reference="pi_kept")
    gateway = FakeGateway()
    gateway.seed_payment(payment_reference="pi_kept", amount_minor_units=4999, currency="USD")
    gateway.submit_refund(
        RefundCommand(
            operation_id="rfop_of_the_dashboard",
            idempotency_key="theirs",
            account="",
            payment_reference="pi_kept",
            amount_minor_units=4999,
            currency="USD",
            reason_code="DUPLICATE_CHARGE",
        )
    )
    (fact,) = gateway.refunds("pi_kept")
    about = {"charge": "ch_kept", "payment_intent": "pi_kept"}
    assert hear(event(None, reference=fact.processor_reference, about=about), gateway).detail == "ADOPTED"
    assert conservation_of(made.kept.pk).remaining == 0


def test_a_refund_of_another_payment_under_our_id_is_for_people():
    operation = operation_in_state(OperationState.STATUS_UNKNOWN)
    RefundOperation.objects.update(checks_made=operation.checks.count())
    foreign = booked(operation, processor_reference="re_other", payment_reference="ch_of_another_order")
    by_id = replace(listed(foreign), surface="refunds.retrieve")
    reconcile_outcome(
        operation_id=operation.pk,
        gateway=ScriptedGateway(lookups=[listed(), by_id]),
        contract=STRIPE_V1,
        now=NOW,
        cause=CheckCause.WEBHOOK,
        seen_reference="re_other",
    )
    stored = RefundOperation.objects.get(pk=operation.pk)
    assert (states_of(stored)[-1], stored.processor_reference) == ("MANUAL_REVIEW", None)


def test_a_second_reference_is_for_people_and_spoils_no_event():
    operation = operation_in_state(OperationState.CREATED)
    gateway = fake_gateway_for(operation)
    gateway.order(Ordered.PENDING)
    submit(operation, gateway)
    known = RefundOperation.objects.get().processor_reference
    other = listed(booked(operation, processor_reference="re_second"))
    scripted = ScriptedGateway(lookups=[other, listed(complete=False)])
    hear(event(operation, reference="re_second"), scripted)
    stored = RefundOperation.objects.get()
    assert (states_of(stored)[-1], stored.processor_reference) == ("MANUAL_REVIEW", known)


def test_a_refund_under_the_id_of_another_operation_is_counted():
    operation = operation_in_state(OperationState.STATUS_UNKNOWN)
    RefundOperation.objects.update(checks_made=operation.checks.count(), next_check_at=NOW)
    other = operation_in_state(OperationState.COMPLETED)
    foreign = booked(operation, processor_reference="re_x", operation_id=other.pk, amount_minor_units=4000)
    gateway = ScriptedGateway(lookups=[listed(foreign)])
    reconcile_outcome(operation_id=operation.pk, gateway=gateway, contract=STRIPE_V1, now=NOW)
    assert LedgerEntry.objects.get(processor_reference="re_x").amount_minor_units == 4000


@pytest.mark.failure("F033")
def test_an_event_about_a_completed_refund_is_kept_until_it_could_be_looked_up():
    operation = operation_in_state(OperationState.CREATED)
    gateway = fake_gateway_for(operation)
    submit(operation, gateway)
    (refund,) = gateway.refunds(operation.payment_reference)
    gateway.set_status(refund.processor_reference, _S.FAILED)
    gateway.lookups_fail = True
    row = hear(event(operation, reference=refund.processor_reference), gateway)
    for _ in range(30):
        row = apply(row.pk, gateway, now=row.next_attempt_at)
    assert (row.outcome, row.tries) == ("RECEIVED", 0)
    gateway.lookups_fail = False
    assert apply(row.pk, gateway, now=row.next_attempt_at).outcome == "APPLIED"
    assert states_of(operation)[-1] == "FAILED"


@pytest.mark.parametrize(
    ("state", "ends"),
    [(OperationState.CONFIRMED_ABSENT, "MANUAL_REVIEW"), (OperationState.CREATED, "CANCELLED")],
)
def test_while_the_source_is_down_windows_and_approvals_still_end(monkeypatch, state, ends):
    operation = operation_in_state(state)
    monkeypatch.setattr(s10_submit_refund, "ledger_source", lambda: Source(DOWN))
    submit(operation, ScriptedGateway(), now=NOW + timedelta(hours=30))
    assert states_of(operation)[-1] == ends


def test_a_process_that_slept_between_the_commit_and_the_call_sends_nothing():
    operation = operation_in_state(OperationState.CREATED)
    gateway = fake_gateway_for(operation)
    awake = [NOW] * 3

    def clock():
        return awake.pop() if awake else NOW + response_window()

    outcome = submit_refund(operation_id=operation.pk, gateway=gateway, clock=clock)
    assert (outcome, gateway.submissions) == (NotBegun("TOO_LATE_TO_SEND"), [])
    assert states_of(operation)[-1] == "SUBMITTED"  # recovery takes it for unknown, and looks
