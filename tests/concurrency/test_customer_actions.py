"""What customers do while others act on the same request: real threads on real connections."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from approvals.models import ApprovalEvent, ApprovalRequest, ReviewCase
from approvals.services import DecisionRefusedError
from refunds import pipeline
from refunds.models import RefundOperation, RefundWorkflow
from refunds.refusals import ActionRefusedError
from refunds.stages.s01_authorize_request import identify_customer
from refunds.states import WorkflowState
from tests.factories import (
    NOW,
    latest_approval,
    make_customer,
    make_duplicate_order,
    make_order,
    make_policy,
    make_staff,
    open_without_order,
    open_workflow,
    workflow_in_state,
)
from tests.stages.trail import last_move, path

pytestmark = pytest.mark.django_db(transaction=True)
_W = WorkflowState
ROUNDS = 5


def together(*calls):
    """Run the calls in threads that start together, each with its own connection; return results or refusals."""
    barrier = threading.Barrier(len(calls))

    def one(call):
        try:
            barrier.wait(30)
            return call()
        except (ActionRefusedError, DecisionRefusedError) as refused:
            return refused.code
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(one, calls))


def signed(customer):
    return identify_customer(user=customer.user, host="testserver", method="session")


def withdrawing(workflow):
    who = signed(workflow.customer)
    return lambda: pipeline.withdraw_request(signed_in=who, workflow_id=workflow.pk, now=NOW)


def stored(workflow):
    return RefundWorkflow.objects.get(pk=workflow.pk)


@pytest.mark.failure("F107")
def test_two_withdrawals_are_one():
    workflow = workflow_in_state(_W.REQUIRES_HUMAN_APPROVAL)
    assert together(*[withdrawing(workflow)] * 4) == [()] * 4
    assert path(workflow).count("WITHDRAWN") == 1
    assert latest_approval(workflow).state == "VOIDED"
    assert ReviewCase.objects.get().closed_because == "WITHDRAWN_BY_CUSTOMER"


@pytest.mark.failure("F107")
@pytest.mark.parametrize("_round", range(ROUNDS))
def test_a_withdrawal_and_a_decision_leave_one_effect(_round):
    workflow = workflow_in_state(_W.REQUIRES_HUMAN_APPROVAL)
    approval = latest_approval(workflow)
    reviewer = make_staff(merchant=workflow.merchant)

    def approve():
        return pipeline.decide(
            approval_id=approval.pk,
            decision="approve",
            staff_user_id=reviewer.pk,
            fingerprint=approval.request_fingerprint,
            reason_code="EVIDENCE_AGREES",
            note="",
            now=NOW,
        )

    withdrawn, decided = together(withdrawing(workflow), approve)
    assert withdrawn == ()
    assert decided == "NOT_PENDING" or decided[0].task == "advance_workflow"
    assert stored(workflow).state == "WITHDRAWN"
    assert latest_approval(workflow).state == "VOIDED"
    votes = ApprovalEvent.objects.filter(approval=approval).exclude(voter_id="")
    assert votes.count() == (0 if decided == "NOT_PENDING" else 1)
    pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: NOW)
    assert (stored(workflow).state, RefundOperation.objects.count()) == ("WITHDRAWN", 0)


@pytest.mark.parametrize("_round", range(ROUNDS))
def test_a_withdrawal_and_the_desk_agree_on_who_was_first(_round):
    customer = make_customer()
    make_policy(merchant=customer.merchant)
    workflow = open_workflow(order=make_duplicate_order(customer=customer).order)
    withdrawn, _ = together(
        withdrawing(workflow),
        lambda: pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: NOW),
    )
    operations = RefundOperation.objects.count()
    if withdrawn == ():
        assert (stored(workflow).state, operations) == ("WITHDRAWN", 0)
        assert set(ApprovalRequest.objects.values_list("state", flat=True)) <= {"VOIDED"}
    else:
        assert (withdrawn, stored(workflow).state, operations) == ("REFUND_EXISTS", "EXECUTING", 1)


@pytest.mark.parametrize("_round", range(ROUNDS))
def test_of_two_orders_given_at_once_one_is_taken(_round):
    workflow = open_without_order(customer=make_customer())
    who = signed(workflow.customer)
    numbers = [make_order(customer=workflow.customer).number for _ in range(2)]
    answers = together(
        *[
            lambda number=number: (
                pipeline.give_order(
                    signed_in=who, workflow_id=workflow.pk, order_number=number, now=NOW
                ).workflow_id
            )
            for number in numbers
        ]
    )
    assert sorted(answers) == sorted([workflow.pk, "ORDER_ALREADY_GIVEN"])
    assert stored(workflow).order.number == numbers[answers.index(workflow.pk)]
    assert workflow.events.filter(reason="ORDER_GIVEN").count() == 1


@pytest.mark.failure("F109")
@pytest.mark.parametrize("_round", range(ROUNDS))
def test_an_order_named_and_asked_about_at_once_has_one_open_request(_round):
    order = make_order()
    customer = order.customer
    waiting = open_without_order(customer=customer, message="It was taken twice.")
    who = signed(customer)

    def ask():
        return pipeline.open_request(
            signed_in=who, order_number=order.number, message="Twice!", problem="", client_token="", now=NOW
        ).workflow_id

    def name():
        return pipeline.give_order(
            signed_in=who, workflow_id=waiting.pk, order_number=order.number, now=NOW
        ).workflow_id

    asked, named = together(ask, name)
    assert asked == named
    answering = RefundWorkflow.objects.get(open_slot__isnull=False)
    assert answering.pk == asked
    assert {message.text.body for message in answering.messages.all()} == {"It was taken twice.", "Twice!"}
    if answering.pk != waiting.pk:
        assert last_move(waiting).reason == "ATTACHED"


@pytest.mark.failure("F109")
def test_requests_without_an_order_that_arrive_together_are_one():
    customer = make_customer()
    who = signed(customer)
    answers = together(
        *[
            lambda n=n: (
                pipeline.open_request(
                    signed_in=who, order_number="", message=f"Help {n}", problem="", client_token="", now=NOW
                ).workflow_id
            )
            for n in range(6)
        ]
    )
    assert len(set(answers)) == 1
    workflow = RefundWorkflow.objects.get()
    assert (workflow.repeat_contacts, workflow.messages.count()) == (5, 6)


def test_the_same_words_sent_at_once_are_kept_once():
    workflow = workflow_in_state(_W.MANUAL_REVIEW)
    who = signed(workflow.customer)
    together(
        *[
            lambda: pipeline.add_message(signed_in=who, workflow_id=workflow.pk, message="Hello?", now=NOW)
            for _ in range(6)
        ]
    )
    assert (stored(workflow).repeat_contacts, workflow.messages.count()) == (1, 2)


@pytest.mark.parametrize("_round", range(ROUNDS))
def test_an_answer_and_the_end_of_the_wait_leave_one_of_them(_round):
    late = NOW.replace(year=2027)
    workflow = open_without_order(customer=make_customer(), next_attempt_at=late)
    order, who = make_order(customer=workflow.customer), signed(workflow.customer)
    given, _ = together(
        lambda: (
            pipeline.give_order(
                signed_in=who, workflow_id=workflow.pk, order_number=order.number, now=late
            ).workflow_id
        ),
        lambda: pipeline.giving_order.close_unanswered(workflow_id=workflow.pk, now=late),
    )
    assert (given, stored(workflow).state) in {
        (workflow.pk, "EVIDENCE_PENDING"),
        ("NO_LONGER_WAITING", "WITHDRAWN"),
    }
