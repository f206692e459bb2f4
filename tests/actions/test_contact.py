from datetime import timedelta

import pytest

from approvals.models import ApprovalRequest, ReviewCase
from refunds import pipeline
from refunds.evidence.messages import MAX_MESSAGES
from refunds.models import RefundWorkflow
from refunds.refusals import MessageRefusedError, PersonRefusedError, RequestNotFoundError
from refunds.states import OperationState, WorkflowState
from tests.factories import (
    NOW,
    add_message,
    make_customer,
    open_without_order,
    open_workflow,
    operation_in_state,
    workflow_in_state,
)
from tests.factories.facts import make_order
from tests.stages.trail import last_move, nothing_written, path

pytestmark = pytest.mark.django_db
_W = WorkflowState
TERMINAL = [_W.COMPLETED, _W.NO_REFUND_DUE, _W.REJECTED, _W.WITHDRAWN]
BEFORE_AN_OPERATION = [
    _W.EVIDENCE_PENDING,
    _W.EVIDENCE_VERIFIED,
    _W.ACTION_PROPOSED,
    _W.PROPOSAL_VALIDATED,
    _W.PROPOSAL_REJECTED,
    _W.APPROVED,
    _W.NO_REFUND_DUE,
    _W.REJECTED,
]


def write(as_customer, workflow, message="Any news?"):
    pipeline.add_message(
        signed_in=as_customer(workflow.customer), workflow_id=workflow.pk, message=message, now=NOW
    )
    return RefundWorkflow.objects.get(pk=workflow.pk)


def ask(as_customer, workflow, now=NOW):
    pipeline.ask_person(signed_in=as_customer(workflow.customer), workflow_id=workflow.pk, now=now)
    return RefundWorkflow.objects.get(pk=workflow.pk)


@pytest.mark.parametrize("state", [state for state in _W if state not in TERMINAL])
def test_more_words_are_kept_as_a_contact_and_move_nothing(as_customer, state):
    workflow = workflow_in_state(state)
    before = path(workflow)
    stored = write(as_customer, workflow)
    assert path(stored) == before
    assert (stored.repeat_contacts, stored.messages.count()) == (1, 2)
    assert stored.messages.latest("pk").text.body == "Any news?"


def test_the_same_words_are_kept_once(as_customer):
    workflow = write(as_customer, workflow_in_state(_W.MANUAL_REVIEW))
    with nothing_written():
        write(as_customer, workflow)


@pytest.mark.parametrize("state", TERMINAL)
def test_a_closed_request_takes_no_more_words(as_customer, state):
    workflow = workflow_in_state(state)
    with nothing_written(), pytest.raises(MessageRefusedError) as refused:
        write(as_customer, workflow)
    assert refused.value.code == "REQUEST_CLOSED"


def test_the_number_of_messages_is_bounded(as_customer):
    workflow = open_workflow(order=make_order())
    for number in range(MAX_MESSAGES - 1):
        add_message(workflow, f"Message {number}")
    with nothing_written(), pytest.raises(MessageRefusedError) as refused:
        write(as_customer, workflow, "One more.")
    assert refused.value.code == "TOO_MANY_MESSAGES"
    with nothing_written():
        write(as_customer, workflow, "Message 7")  # known words are no new ones


@pytest.mark.parametrize("state", BEFORE_AN_OPERATION)
def test_a_person_takes_over_and_what_was_approved_is_void(as_customer, state):
    workflow = ask(as_customer, workflow_in_state(state))
    assert (workflow.state, workflow.person_required) == ("MANUAL_REVIEW", True)
    event = last_move(workflow)
    assert (event.reason, event.from_state, event.actor_type) == ("CUSTOMER_ASKED_PERSON", state, "CUSTOMER")
    case = ReviewCase.objects.get(closed_at__isnull=True)
    assert (case.kind, case.reason, case.subject_id) == (
        "INVESTIGATION",
        "CUSTOMER_ASKED_PERSON",
        workflow.pk,
    )
    assert set(ApprovalRequest.objects.values_list("state", flat=True)) <= {"VOIDED", "REJECTED"}


@pytest.mark.parametrize("state", [_W.NO_REFUND_DUE, _W.REJECTED])
def test_reopening_takes_no_slot_again(as_customer, state):
    assert ask(as_customer, workflow_in_state(state)).open_slot is None


def test_an_approved_refund_does_not_go_on_alone_after_that(as_customer):
    workflow = ask(as_customer, workflow_in_state(_W.APPROVED))
    pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: NOW)
    assert RefundWorkflow.objects.get().state == "MANUAL_REVIEW"
    assert not workflow.operations.exists()


@pytest.mark.parametrize("state", [_W.REQUIRES_HUMAN_APPROVAL, _W.MANUAL_REVIEW, _W.EXECUTING])
def test_where_people_or_a_refund_are_on_it_the_wish_is_recorded_once(as_customer, state):
    workflow = workflow_in_state(state)
    before = path(workflow)
    approvals = set(ApprovalRequest.objects.values_list("pk", "state"))
    workflow = ask(as_customer, workflow)
    assert path(workflow) == before
    record = workflow.events.get(kind="RECORD")
    assert (record.reason, record.actor_type) == ("CUSTOMER_ASKED_PERSON", "CUSTOMER")
    assert set(ApprovalRequest.objects.values_list("pk", "state")) == approvals
    with nothing_written():
        ask(as_customer, workflow, NOW + timedelta(hours=1))


def test_asking_twice_is_asking_once(as_customer):
    workflow = ask(as_customer, workflow_in_state(_W.EVIDENCE_VERIFIED))
    with nothing_written():
        ask(as_customer, workflow)


def test_without_an_order_a_person_may_be_asked_as_well(as_customer):
    workflow = ask(as_customer, open_without_order(customer=make_customer()))
    assert (workflow.state, workflow.order_id, workflow.next_attempt_at) == ("MANUAL_REVIEW", None, None)


@pytest.mark.parametrize("state", OperationState)
def test_an_operation_is_never_moved_by_the_wish(as_customer, state):
    operation = operation_in_state(state)
    if operation.workflow.state == _W.COMPLETED:
        with pytest.raises(PersonRefusedError):
            ask(as_customer, operation.workflow)
    else:
        ask(as_customer, operation.workflow)
    operation.refresh_from_db()
    assert operation.state == state


@pytest.mark.parametrize(
    ("state", "code"), [(_W.COMPLETED, "REFUND_CONFIRMED"), (_W.WITHDRAWN, "REQUEST_WITHDRAWN")]
)
def test_what_is_confirmed_or_withdrawn_goes_to_nobody(as_customer, state, code):
    workflow = workflow_in_state(state)
    with nothing_written(), pytest.raises(PersonRefusedError) as refused:
        ask(as_customer, workflow)
    assert refused.value.code == code


@pytest.mark.failure("F099")
def test_a_foreign_request_is_not_found(as_customer):
    workflow = workflow_in_state(_W.EVIDENCE_PENDING)
    stranger = as_customer(make_customer(merchant=workflow.merchant))
    for workflow_id in (workflow.pk, "wf_unknown"):
        with nothing_written(), pytest.raises(RequestNotFoundError):
            pipeline.ask_person(signed_in=stranger, workflow_id=workflow_id, now=NOW)
        with nothing_written(), pytest.raises(RequestNotFoundError):
            pipeline.add_message(signed_in=stranger, workflow_id=workflow_id, message="x", now=NOW)
