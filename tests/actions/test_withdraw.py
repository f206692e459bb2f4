import pytest

from approvals.models import ApprovalRequest, ReviewCase
from refunds import pipeline
from refunds.models import RefundOperation, RefundWorkflow
from refunds.refusals import RequestNotFoundError, WithdrawRefusedError
from refunds.states import WORKFLOW_TABLE, OperationState, WorkflowState
from tests.factories import (
    NOW,
    make_customer,
    make_duplicate_order,
    make_policy,
    move_operation,
    open_without_order,
    open_workflow,
    operation_in_state,
    workflow_in_state,
)
from tests.stages.trail import last_move, nothing_written, path

pytestmark = pytest.mark.django_db
_W = WorkflowState
OPEN = [state for state in _W if WORKFLOW_TABLE.allows(state, _W.WITHDRAWN)]


def withdraw(as_customer, workflow):
    pipeline.withdraw_request(signed_in=as_customer(workflow.customer), workflow_id=workflow.pk, now=NOW)
    return RefundWorkflow.objects.get(pk=workflow.pk)


@pytest.mark.parametrize("state", OPEN)
def test_an_open_request_is_withdrawn_with_its_slot_case_and_approval(as_customer, state):
    workflow = withdraw(as_customer, workflow_in_state(state))
    assert (workflow.state, workflow.open_slot, workflow.next_attempt_at) == ("WITHDRAWN", None, None)
    event = last_move(workflow)
    assert (event.reason, event.actor_type) == ("WITHDRAWN_BY_CUSTOMER", "CUSTOMER")
    assert event.actor_id == f"user:{workflow.customer.user_id}"
    assert set(ApprovalRequest.objects.values_list("state", flat=True)) <= {"VOIDED"}
    assert not ReviewCase.objects.filter(closed_at__isnull=True).exists()


def test_the_states_that_can_be_withdrawn_are_those_of_the_design():
    assert {str(state) for state in OPEN} == {
        "EVIDENCE_PENDING",
        "EVIDENCE_VERIFIED",
        "ACTION_PROPOSED",
        "PROPOSAL_VALIDATED",
        "REQUIRES_HUMAN_APPROVAL",
        "APPROVED",
        "MANUAL_REVIEW",
    }


def test_a_request_without_an_order_is_withdrawn_too(as_customer):
    assert withdraw(as_customer, open_without_order(customer=make_customer())).state == "WITHDRAWN"


def test_withdrawing_twice_changes_nothing_the_second_time(as_customer):
    workflow = withdraw(as_customer, workflow_in_state(_W.REQUIRES_HUMAN_APPROVAL))
    with nothing_written():
        withdraw(as_customer, workflow)


@pytest.mark.parametrize("state", OperationState)
def test_once_an_operation_exists_it_is_too_late(as_customer, state):
    workflow = operation_in_state(state).workflow
    with nothing_written(), pytest.raises(WithdrawRefusedError) as refused:
        withdraw(as_customer, workflow)
    assert refused.value.code == "REFUND_EXISTS"


@pytest.mark.parametrize("state", [_W.NO_REFUND_DUE, _W.REJECTED])
def test_what_is_closed_stays_closed(as_customer, state):
    workflow = workflow_in_state(state)
    with nothing_written(), pytest.raises(WithdrawRefusedError) as refused:
        withdraw(as_customer, workflow)
    assert refused.value.code == "ALREADY_CLOSED"


def test_a_rejected_proposal_is_on_its_way_to_people(as_customer):
    workflow = workflow_in_state(_W.PROPOSAL_REJECTED)
    with nothing_written(), pytest.raises(WithdrawRefusedError) as refused:
        withdraw(as_customer, workflow)
    assert refused.value.code == "BEING_PASSED_ON"


def test_a_late_refund_of_a_withdrawn_request_still_reaches_people(as_customer):
    """Withdrawing decides nothing about what the provider reports: that always lands."""
    operation = operation_in_state(OperationState.CANCELLED)
    with pytest.raises(WithdrawRefusedError):
        withdraw(as_customer, operation.workflow)
    move_operation(operation, OperationState.MANUAL_REVIEW)
    assert RefundWorkflow.objects.get().state == "MANUAL_REVIEW"
    assert RefundOperation.objects.get().state == "MANUAL_REVIEW"


@pytest.mark.failure("F099")
def test_a_foreign_request_is_not_found(as_customer):
    workflow = workflow_in_state(_W.APPROVED)
    stranger = as_customer(make_customer(merchant=workflow.merchant))
    for workflow_id in (workflow.pk, "wf_unknown"):
        with nothing_written(), pytest.raises(RequestNotFoundError):
            pipeline.withdraw_request(signed_in=stranger, workflow_id=workflow_id, now=NOW)
    assert path(workflow)[-1] == "APPROVED"


@pytest.mark.parametrize("action", [pipeline.withdraw_request, pipeline.ask_person])
def test_what_the_customer_does_while_a_proposal_is_made_wins(as_customer, monkeypatch, action):
    customer = make_customer()
    make_policy(merchant=customer.merchant)
    workflow = open_workflow(order=make_duplicate_order(customer=customer).order)
    propose = pipeline.ask_for_proposal

    def slow_model(*, workflow, now):
        outcome = propose(workflow=workflow, now=now)
        action(signed_in=as_customer(customer), workflow_id=workflow.pk, now=NOW)
        return outcome

    monkeypatch.setattr(pipeline, "ask_for_proposal", slow_model)
    pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: NOW)
    assert path(workflow)[1:] in (["EVIDENCE_VERIFIED", "WITHDRAWN"], ["EVIDENCE_VERIFIED", "MANUAL_REVIEW"])
    assert RefundOperation.objects.count() == ApprovalRequest.objects.count() == 0
