"""What people do with a request that they own."""

from datetime import timedelta

import pytest

from approvals.models import ReviewCase
from approvals.services import DecisionRefusedError
from ledger.models import ErasableText, Order
from notifications.models import Notification
from refunds import pipeline
from refunds.casework.owned_case import CaseAction
from refunds.casework.refusals import CaseWorkRefusedError
from refunds.models import Proposal, RefundWorkflow
from refunds.nudges import advance
from refunds.states import OperationState, WorkflowState
from tests.casework.staff import approve, states_of
from tests.console.conftest import ticket_of
from tests.factories import (
    NOW,
    latest_approval,
    make_duplicate_order,
    make_order,
    make_payment,
    make_staff,
    move_workflow,
    operation_in_state,
    workflow_in_state,
)
from tests.stages.trail import nothing_written

pytestmark = pytest.mark.django_db


@pytest.fixture
def order(merchant):
    return make_duplicate_order(customer__merchant=merchant).order


def in_review(order, staff, *, claimed=True):
    workflow = workflow_in_state(WorkflowState.MANUAL_REVIEW, order=order)
    if claimed:
        pipeline.claim_case(action=CaseAction(ticket=ticket_of(workflow), staff_user_id=staff.pk), now=NOW)
    return workflow


def action(workflow, staff, **changes):
    said = {"reason_code": "RECORDS_CORRECTED", "note": "Checked with the shop."} | changes
    return CaseAction(ticket=ticket_of(workflow), staff_user_id=staff.pk, **said)


def refused(call, workflow, staff, *, now=NOW, said=None, **more):
    with nothing_written(), pytest.raises(CaseWorkRefusedError) as refusal:
        call(action=action(workflow, staff, **(said or {})), now=now, **more)
    return refusal.value.code


def state(workflow):
    return RefundWorkflow.objects.get(pk=workflow.pk).state


CALLS = [
    (pipeline.read_evidence_again, {}),
    (pipeline.rebuild_command, {}),
    (pipeline.close_without_refund, {"outcome": "REJECTED"}),
]


@pytest.mark.parametrize(("call", "more"), CALLS)
def test_only_whoever_holds_the_case_works_on_it(order, merchant, starter, colleague, call, more):
    workflow = in_review(order, starter, claimed=False)
    assert refused(call, workflow, starter, **more) == "NOT_CLAIMED"
    pipeline.claim_case(action=CaseAction(ticket=ticket_of(workflow), staff_user_id=colleague.pk), now=NOW)
    assert refused(call, workflow, starter, **more) == "CLAIMED_BY_ANOTHER"
    assert refused(call, workflow, colleague, now=NOW + timedelta(minutes=20), **more) == "NOT_CLAIMED"
    view_only = make_staff(merchant=merchant, can_approve=False)
    assert refused(call, workflow, view_only, **more) == "NOT_ALLOWED"
    assert refused(call, workflow, colleague, said={"reason_code": ""}, **more) == "REASON_REQUIRED"
    assert refused(call, workflow, colleague, said={"note": "a\x00"}, **more) == "NOTE_NOT_READABLE"


@pytest.mark.parametrize(("call", "more"), CALLS)
@pytest.mark.parametrize(
    ("operation_state", "code"),
    [(OperationState.MANUAL_REVIEW, "OPERATION_UNRESOLVED"), (OperationState.FAILED, None)],
)
def test_a_request_leaves_people_only_once_every_outcome_is_known(
    order, starter, call, more, operation_state, code
):
    workflow = operation_in_state(operation_state, order=order).workflow
    assert state(workflow) == "MANUAL_REVIEW"
    pipeline.claim_case(action=CaseAction(ticket=ticket_of(workflow), staff_user_id=starter.pk), now=NOW)
    if code:
        assert refused(call, workflow, starter, **more) == code
    else:
        call(action=action(workflow, starter), now=NOW, **more)
        assert state(workflow) != "MANUAL_REVIEW"


def test_the_evidence_is_read_again_and_a_person_decides_whatever_comes_of_it(order, starter):
    workflow = in_review(order, starter)
    nudges = pipeline.read_evidence_again(action=action(workflow, starter), now=NOW)
    assert nudges == (advance(workflow.pk),)
    assert state(workflow) == "EVIDENCE_PENDING"
    event = workflow.events.latest("pk")
    assert (event.actor_id, event.reason, event.stage) == (
        f"user:{starter.pk}",
        "RECORDS_CORRECTED",
        "REVIEW",
    )
    assert event.evidence["action"] == "READ_EVIDENCE_AGAIN"
    assert ErasableText.objects.get(pk=event.evidence["note_text"]).body == "Checked with the shop."
    pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: NOW)
    assert state(workflow) == "REQUIRES_HUMAN_APPROVAL"


def test_a_rebuilt_command_waits_for_others_than_its_maker(order, starter, colleague):
    workflow = in_review(order, starter)
    pipeline.rebuild_command(action=action(workflow, starter, reason_code="DUPLICATE_CONFIRMED"), now=NOW)
    assert states_of(workflow)[-6:] == [
        "MANUAL_REVIEW", "EVIDENCE_PENDING", "EVIDENCE_VERIFIED", "ACTION_PROPOSED", "PROPOSAL_VALIDATED",
        "REQUIRES_HUMAN_APPROVAL",
    ]  # fmt: skip
    approval = latest_approval(workflow)
    assert (approval.maker_id, approval.command_number) == (f"user:{starter.pk}", 2)
    assert Proposal.objects.get(workflow=workflow, command_number=2).proposer == "staff"
    case = ReviewCase.objects.get(subject_id=workflow.pk, closed_at__isnull=True)
    assert (case.kind, case.reason) == ("APPROVAL", "COMMAND_REBUILT")
    with nothing_written(), pytest.raises(DecisionRefusedError, match="OWN_REQUEST"):
        approve(workflow, starter)
    approve(workflow, colleague)
    pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: NOW)
    assert state(workflow) == "EXECUTING"


def test_a_rejected_proposal_is_no_obstacle_to_a_command_from_facts(order, starter):
    workflow = workflow_in_state(WorkflowState.PROPOSAL_REJECTED, order=order)
    move_workflow(workflow, WorkflowState.MANUAL_REVIEW)
    pipeline.claim_case(action=CaseAction(ticket=ticket_of(workflow), staff_user_id=starter.pk), now=NOW)
    pipeline.rebuild_command(action=action(workflow, starter), now=NOW)
    assert state(workflow) == "REQUIRES_HUMAN_APPROVAL"


def test_what_the_records_do_not_prove_is_not_rebuilt(merchant, starter, order):
    single = make_order(customer=order.customer)
    make_payment(order=single, refreshed_at=NOW)
    workflow = in_review(single, starter)
    assert refused(pipeline.rebuild_command, workflow, starter) == "FINDING_NOT_VERIFIED"
    assert state(workflow) == "MANUAL_REVIEW"


def test_a_command_that_a_check_refuses_is_not_rebuilt(order, starter):
    Order.objects.filter(pk=order.pk).update(placed_at=NOW - timedelta(days=91))
    workflow = in_review(order, starter)
    assert refused(pipeline.rebuild_command, workflow, starter) == "CHECK_FAILED"


@pytest.mark.parametrize(
    ("outcome", "topic"), [("NO_REFUND_DUE", "refund.not_due"), ("REJECTED", "refund.rejected")]
)
def test_a_request_is_closed_without_a_refund_and_its_customer_told(order, starter, outcome, topic):
    workflow = in_review(order, starter)
    assert refused(pipeline.close_without_refund, workflow, starter, outcome="COMPLETED") == "OUTCOME_UNKNOWN"
    assert (
        refused(pipeline.close_without_refund, workflow, starter, said={"note": " "}, outcome=outcome)
        == "NOTE_REQUIRED"
    )
    pipeline.close_without_refund(action=action(workflow, starter), outcome=outcome, now=NOW)
    assert state(workflow) == outcome
    assert not ReviewCase.objects.filter(closed_at__isnull=True).exists()
    closed = RefundWorkflow.objects.get(pk=workflow.pk)
    assert Notification.objects.get().logical_event_id == f"{topic}:{closed.pk}.{closed.state_sequence}"


def test_asking_the_provider_again_is_recorded_and_moves_nothing(merchant, order, starter):
    operation = operation_in_state(OperationState.STATUS_UNKNOWN, order=order)
    (nudge,) = pipeline.look_up_again(operation_id=operation.pk, staff_user_id=starter.pk, now=NOW)
    assert (nudge.task, nudge.kwargs["operation_id"]) == ("reconcile_operation", operation.pk)
    event = operation.events.latest("pk")
    assert (event.kind, event.reason, event.actor_id) == ("RECORD", "LOOK_UP_AGAIN", f"user:{starter.pk}")
    view_only = make_staff(merchant=merchant, can_approve=False)
    for who, code in ((view_only, "NOT_ALLOWED"),):
        with nothing_written(), pytest.raises(CaseWorkRefusedError, match=code):
            pipeline.look_up_again(operation_id=operation.pk, staff_user_id=who.pk, now=NOW)
    done = operation_in_state(
        OperationState.COMPLETED, order=make_duplicate_order(customer=order.customer).order
    )
    for pk in (done.pk, "rfop_none"):
        with nothing_written(), pytest.raises(CaseWorkRefusedError, match="NOTHING_TO_LOOK_UP"):
            pipeline.look_up_again(operation_id=pk, staff_user_id=starter.pk, now=NOW)
