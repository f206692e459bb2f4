from datetime import timedelta

import pytest
from django.db import transaction

from ledger.models import ErasableText
from refunds.models import CustomerMessage, RefundWorkflow
from refunds.refusals import MessageRefusedError
from refunds.stages import s02_open_workflow
from refunds.stages.s01_authorize_request import authorize_request, identify_customer
from refunds.states import WorkflowState
from tests.factories import NOW, make_customer, make_order, make_policy, move_workflow
from tests.stages.trail import last_move, nothing_written, path

pytestmark = pytest.mark.django_db


def authorised(order):
    signed_in = identify_customer(user=order.customer.user, host="desk.example.com", method="token")
    return authorize_request(signed_in=signed_in, order_number=order.number)


def open_for(order, message="I was charged twice.", *, token="", now=NOW):
    return s02_open_workflow.open_workflow(
        request=authorised(order), message=message, problem="", client_token=token, now=now
    )


def test_a_request_is_durable_before_anything_else_happens(settings):
    order = make_order()
    opened = open_for(order)
    assert opened.created
    workflow = RefundWorkflow.objects.get(pk=opened.workflow_id)
    assert (workflow.customer_id, workflow.merchant_id, workflow.order_id) == (
        order.customer_id,
        order.merchant_id,
        order.pk,
    )
    assert (workflow.problem, workflow.origin, workflow.person_required) == (
        "DUPLICATE_CHARGE",
        "CUSTOMER",
        False,
    )
    assert workflow.open_slot == f"{order.customer_id}:{order.pk}"
    assert workflow.next_attempt_at == NOW
    assert workflow.claimed_until == NOW + timedelta(seconds=settings.RECOVERY_INTERVAL_SECONDS)
    assert path(workflow) == ["EVIDENCE_PENDING"]
    event = last_move(workflow)
    assert (event.stage, event.reason, event.at) == ("OPEN_WORKFLOW", "REQUESTED", NOW)
    assert (event.actor_type, event.actor_id) == ("CUSTOMER", f"user:{order.customer.user_id}")


def test_the_first_event_keeps_who_asked_how_and_about_which_order():
    order = make_order()
    workflow = RefundWorkflow.objects.get(pk=open_for(order).workflow_id)
    assert last_move(workflow).evidence == {
        "identity": authorised(order).signed_in.as_evidence(),
        "order_id": order.pk,
    }


def test_the_words_are_kept_apart_from_evidence():
    open_for(make_order(), "Card 4242 was charged twice!")
    message = CustomerMessage.objects.get()
    assert message.text.body == "Card 4242 was charged twice!"
    assert message.text_sha256 == message.text.sha256
    assert "4242" not in str(last_move(message.workflow).evidence)


def test_asking_again_attaches_to_the_open_request_and_counts_a_contact():
    order = make_order()
    first = open_for(order)
    again = open_for(order, "Hello? Any news?", now=NOW + timedelta(hours=1))
    assert (again.workflow_id, again.created) == (first.workflow_id, False)
    workflow = RefundWorkflow.objects.get()
    assert (workflow.repeat_contacts, workflow.messages.count()) == (1, 2)
    assert path(workflow) == ["EVIDENCE_PENDING"]


@pytest.mark.failure("F066")
def test_a_repeat_spoils_no_transaction_and_the_same_words_are_no_new_contact():
    order = make_order()
    open_for(order)
    with nothing_written():
        open_for(order)


def test_the_same_call_gets_the_same_request_even_about_another_order():
    first = open_for(make_order(), token="call-1")
    order = RefundWorkflow.objects.get().order
    other = make_order(customer=order.customer)
    with nothing_written():
        again = open_for(other, "Something else.", token="call-1")
    assert (again.workflow_id, again.created) == (first.workflow_id, False)


def test_another_customers_equal_token_is_another_call():
    first, second = open_for(make_order(), token="1"), open_for(make_order(), token="1")
    assert first.workflow_id != second.workflow_id
    assert second.created


def test_after_the_end_of_a_request_the_order_may_be_asked_about_again():
    order = make_order()
    first = open_for(order)
    move_workflow(RefundWorkflow.objects.get(), WorkflowState.WITHDRAWN)
    second = open_for(order, "Once more.")
    assert second.created
    assert second.workflow_id != first.workflow_id


def test_a_request_that_ends_while_another_runs_into_it_is_not_in_the_way(monkeypatch):
    order = make_order()
    first = open_for(order)

    def ends_meanwhile(request, client_token):
        workflow = RefundWorkflow.objects.get(pk=first.workflow_id)
        if workflow.open_slot is not None:
            move_workflow(workflow, WorkflowState.WITHDRAWN)

    monkeypatch.setattr(s02_open_workflow, "_find_open", ends_meanwhile)
    second = open_for(order, "Once more.")
    assert second.created
    assert RefundWorkflow.objects.count() == 2


def test_an_error_on_the_way_stores_nothing_and_repeating_is_safe(monkeypatch):
    order = make_order()

    def fails(_body, *, now):
        raise OSError("the disk is full")

    with monkeypatch.context() as broken, nothing_written(), pytest.raises(OSError, match="disk"):
        broken.setattr(ErasableText, "keep", fails)
        open_for(order)
    assert open_for(order).created


def test_it_commits_by_itself_and_refuses_to_share_a_transaction():
    order = make_order()
    with nothing_written(), transaction.atomic(), pytest.raises(RuntimeError, match="durable"):
        open_for(order)


def open_without(customer, message="I was charged twice.", *, token="", now=NOW):
    signed_in = identify_customer(user=customer.user, host="desk.example.com", method="token")
    return s02_open_workflow.open_workflow(
        request=authorize_request(signed_in=signed_in, order_number=""),
        message=message,
        problem="",
        client_token=token,
        now=now,
    )


@pytest.mark.parametrize(("rules", "days"), [(None, 14), ([30, 5], 5), ([None, 21], 21)])
def test_without_an_order_it_waits_for_its_customer_as_long_as_the_policies_say(rules, days):
    customer = make_customer()
    for number in rules or []:
        make_policy(merchant=customer.merchant, rules={"customer_answer_days": number} if number else None)
    make_policy(merchant=customer.merchant, rules={"customer_answer_days": 1}, effective_to=NOW)
    make_policy(
        merchant=customer.merchant,
        rules={"customer_answer_days": 1},
        effective_from=NOW + timedelta(seconds=1),
    )
    make_policy(rules={"customer_answer_days": 1})
    assert open_without(customer).created
    workflow = RefundWorkflow.objects.get()
    assert (workflow.state, workflow.order_id, workflow.open_slot) == ("EVIDENCE_PENDING", None, None)
    assert workflow.next_attempt_at == NOW + timedelta(days=days)
    assert last_move(workflow).evidence["order_id"] is None


def test_a_policy_that_cannot_be_read_shortens_no_time():
    customer = make_customer()
    make_policy(merchant=customer.merchant, rules={"customer_answer_days": 0})
    open_without(customer)
    assert RefundWorkflow.objects.get().next_attempt_at == NOW + timedelta(days=14)


def test_a_second_request_without_an_order_joins_the_open_one():
    customer = make_customer()
    first, second = open_without(customer), open_without(customer, "Hello?", token="another-call")
    assert (second.workflow_id, second.created) == (first.workflow_id, False)
    workflow = RefundWorkflow.objects.get()
    assert (workflow.repeat_contacts, workflow.messages.count()) == (1, 2)
    assert open_for(make_order(customer=customer)).created
    assert open_without(make_customer()).created


def test_the_same_call_without_an_order_stays_the_same_request_also_once_it_ended():
    customer = make_customer()
    first = open_without(customer, token="call-1")
    move_workflow(RefundWorkflow.objects.get(), WorkflowState.WITHDRAWN)
    open_without(customer, token="call-2")
    with nothing_written():
        again = open_without(customer, token="call-1")
    assert (again.workflow_id, again.created) == (first.workflow_id, False)


def test_a_request_with_all_the_words_it_can_hold_takes_no_more_by_asking_again(monkeypatch):
    monkeypatch.setattr("refunds.evidence.messages.MAX_MESSAGES", 2)
    order = make_order()
    open_for(order)
    open_for(order, "Hello?")
    with nothing_written(), pytest.raises(MessageRefusedError):
        open_for(order, "Hello??")
