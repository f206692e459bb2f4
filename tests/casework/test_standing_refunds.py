"""Requests whose refund stands, once or twice, and refunds that a person knows by the provider's id."""

from dataclasses import replace
from datetime import timedelta

import pytest

from ledger.models import LedgerEntry
from notifications.catalogue import statement_for
from notifications.facts import StatedFacts
from notifications.models import Notification
from refunds import pipeline
from refunds.casework.owned_case import CaseAction
from refunds.casework.refusals import CaseWorkRefusedError
from refunds.evidence.remaining import conservation_of
from refunds.facts import report_requests
from refunds.gateways.contract import STRIPE_V1
from refunds.models import RefundOperation, RefundWorkflow
from refunds.nudges import DELIVER, reconcile_late
from refunds.recovery import find_late_evidence
from refunds.selectors.scoreboard import ask_invariants
from refunds.stages.s10_submit_refund import submit_refund
from refunds.stages.s11_reconcile_outcome import reconcile_outcome
from refunds.states import CheckCause, OperationState, WorkflowState
from tests.casework.staff import states_of
from tests.console.conftest import ticket_of
from tests.factories import NOW, make_duplicate_order, make_staff, operation_in_state, workflow_in_state
from tests.late_truth.test_what_is_learnt_later import failed_then_rebuilt, gateway_with, hear
from tests.stages.gateways import ScriptedGateway, booked, listed
from tests.stages.trail import nothing_written
from tests.webhooks.signed import event

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(minutes=10)


def act(workflow, staff, **said):
    said = {"reason_code": "PAID_TWICE_KEPT", "note": "Agreed with the shop."} | said
    return CaseAction(ticket=ticket_of(workflow), staff_user_id=staff.pk, **said)


def claim(workflow, staff, *, now=LATER):
    action = CaseAction(ticket=ticket_of(workflow), staff_user_id=staff.pk)
    pipeline.claim_case(action=action, now=now)


def refused(call, *, now=LATER, **more):
    with nothing_written(), pytest.raises(CaseWorkRefusedError) as refusal:
        call(now=now, **more)
    return refusal.value.code


def workflow_of(operation):
    return RefundWorkflow.objects.get(pk=operation.workflow_id)


@pytest.fixture
def paid_twice(charge, starter, colleague, merchant):
    """A refund failed, its replacement was paid, and then the first one proved to have been paid as well."""
    gateway = gateway_with(charge, 10_000)
    staff = [starter, colleague, make_staff(merchant=merchant)]
    first, second, reference = failed_then_rebuilt(charge, gateway, staff, amount=3000, first="COMPLETED")
    submit_refund(operation_id=second.pk, gateway=gateway, clock=lambda: LATER)
    gateway.set_status(reference, "SUCCEEDED")
    for number in range(2):  # the contradiction, and then the look that settles it
        what = event(first, reference=reference, id=f"evt_back_{number}")
        hear(what, gateway, now=LATER)
    assert (states_of(first)[-2:], states_of(second)[-1]) == (["MANUAL_REVIEW", "COMPLETED"], "COMPLETED")
    return workflow_of(first)


def test_a_request_that_was_paid_twice_is_closed_by_people_and_both_refunds_are_told(
    paid_twice, charge, colleague
):
    assert paid_twice.state == "MANUAL_REVIEW"
    assert conservation_of(charge.pk).remaining == 4000
    claim(paid_twice, colleague)
    for call in (pipeline.read_evidence_again, pipeline.rebuild_command):
        assert refused(call, action=act(paid_twice, colleague)) == "REFUND_STANDS"
    assert (
        refused(pipeline.close_as_completed, action=act(paid_twice, colleague, note=" ")) == "NOTE_REQUIRED"
    )
    before = set(Notification.objects.values_list("logical_event_id", flat=True))
    nudges = pipeline.close_as_completed(action=act(paid_twice, colleague), now=LATER)
    assert nudges == (DELIVER,)
    closed = workflow_of(RefundOperation.objects.first())
    assert closed.state == "COMPLETED"
    message = Notification.objects.exclude(logical_event_id__in=before).get()
    assert message.logical_event_id == f"refund.completed:{closed.pk}.{closed.state_sequence}"
    told = statement_for(StatedFacts.from_json(message.facts))
    assert told.key == "REFUNDS_CONFIRMED"
    for entry in LedgerEntry.objects.filter(payment=charge, kind="REFUND"):
        assert f"$30.00 (reference {entry.processor_reference})" in told.body
    report = report_requests([closed])[0]
    assert report.statement == told
    assert report.timeline[-1].text == "Our billing team closed the request."


def test_two_standing_refunds_are_a_violation_until_people_have_closed_the_request(paid_twice, colleague):
    assert "TWO_OPERATIONS_STAND" in broken()
    claim(paid_twice, colleague)
    pipeline.close_as_completed(action=act(paid_twice, colleague), now=LATER)
    assert "TWO_OPERATIONS_STAND" not in broken()


def broken():
    return {result.check.name for result in ask_invariants() if not result.holds}


def test_without_a_refund_that_stands_or_with_one_in_doubt_nothing_is_closed_as_completed(merchant, starter):
    order = make_duplicate_order(customer__merchant=merchant).order
    workflow = workflow_in_state(WorkflowState.MANUAL_REVIEW, order=order)
    claim(workflow, starter)
    assert refused(pipeline.close_as_completed, action=act(workflow, starter)) == "NO_REFUND_STANDS"
    order = make_duplicate_order(customer__merchant=merchant).order
    doubted = operation_in_state(OperationState.MANUAL_REVIEW, order=order).workflow
    claim(doubted, starter)
    assert refused(pipeline.close_as_completed, action=act(doubted, starter)) == "OPERATION_UNRESOLVED"


@pytest.fixture
def lost(merchant, starter):
    """An operation with people, whose refund the provider has and its list does not show yet."""
    order = make_duplicate_order(customer__merchant=merchant).order
    made = operation_in_state(OperationState.MANUAL_REVIEW, order=order)
    RefundOperation.objects.filter(pk=made.pk).update(checks_made=made.checks.count())
    claim(made.workflow, starter)
    return made


def give(operation, staff, reference="re_77", **said):
    said = {"reason_code": "REFERENCE_GIVEN", "note": ""} | said
    return pipeline.give_reference(
        action=act(operation.workflow, staff, **said),
        operation_id=operation.pk,
        reference=reference,
        now=LATER,
    )


def look_up(operation, nudge, *lookups):
    """Do what the worker does with the nudge."""
    return reconcile_outcome(
        operation_id=operation.pk,
        gateway=ScriptedGateway(lookups=list(lookups)),
        contract=STRIPE_V1,
        now=LATER,
        cause=CheckCause(nudge.kwargs["cause"]),
        seen_reference=nudge.kwargs["seen_reference"],
    )


def by_id(*refunds):
    return replace(listed(*refunds, complete=bool(refunds)), surface="refunds.retrieve")


def test_a_refund_that_a_person_names_completes_only_by_the_object_itself(lost, starter):
    (nudge,) = give(lost, starter)
    assert RefundOperation.objects.get(pk=lost.pk).state == "MANUAL_REVIEW"
    look_up(lost, nudge, listed(complete=False), by_id(booked(lost, processor_reference="re_77")))
    stored = RefundOperation.objects.get(pk=lost.pk)
    assert (stored.state, stored.processor_reference) == ("COMPLETED", "re_77")
    assert workflow_of(lost).state == "COMPLETED"


def test_what_a_person_gave_or_asked_for_is_looked_up_even_if_its_nudge_is_lost(lost, starter):
    """Redis may be empty: the wish stands in the rows, and the next scan finds it."""
    give(lost, starter, reference="re_76")
    give(lost, starter)
    (found,) = find_late_evidence(now=LATER)
    assert found == reconcile_late(lost.pk)
    found_by_id = by_id(booked(lost, processor_reference="re_77"))
    gateway = ScriptedGateway(lookups=[listed(complete=False), found_by_id])
    reconcile_outcome(
        operation_id=lost.pk, gateway=gateway, contract=STRIPE_V1, now=LATER, cause=CheckCause.LATE
    )
    assert gateway.looked_up[-1] == "re_77"
    assert RefundOperation.objects.get(pk=lost.pk).state == "COMPLETED"


def test_a_look_up_that_a_person_asked_for_is_due_even_if_its_nudge_is_lost(lost, starter):
    pipeline.look_up_again(operation_id=lost.pk, staff_user_id=starter.pk, now=LATER)
    assert find_late_evidence(now=LATER) == (reconcile_late(lost.pk),)


@pytest.mark.parametrize("whose", [None, "rfop_another"])
def test_a_refund_of_somebody_else_completes_nothing_whoever_names_it(lost, starter, whose):
    (nudge,) = give(lost, starter)
    other = booked(lost, processor_reference="re_77", operation_id=whose)
    look_up(lost, nudge, listed(other), by_id(other))
    stored = RefundOperation.objects.get(pk=lost.pk)
    assert (stored.state, stored.processor_reference) == ("MANUAL_REVIEW", None)


def test_a_reference_is_given_once_for_an_operation_of_the_case_and_well_formed(lost, starter, colleague):
    give_it = {"operation_id": lost.pk, "action": act(lost.workflow, starter)}
    for wrong in ("", "re 1", "re/1", "é", "x" * 256):
        assert refused(pipeline.give_reference, reference=wrong, **give_it) == "REFERENCE_INVALID"
    foreign = operation_in_state(OperationState.MANUAL_REVIEW)
    others = give_it | {"operation_id": foreign.pk}
    assert refused(pipeline.give_reference, reference="re_1", **others) == "NO_SUCH_OPERATION"
    unclaimed = give_it | {"action": act(lost.workflow, colleague)}
    assert refused(pipeline.give_reference, reference="re_1", **unclaimed) == "CLAIMED_BY_ANOTHER"
    RefundOperation.objects.filter(pk=lost.pk).update(processor_reference="re_known")
    assert refused(pipeline.give_reference, reference="re_1", **give_it) == "REFERENCE_KNOWN"
