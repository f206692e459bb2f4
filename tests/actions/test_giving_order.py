from datetime import timedelta

import pytest
from django.db import DatabaseError, transaction

from notifications.models import Notification
from refunds import pipeline, recovery
from refunds.actions import giving_order
from refunds.facts import report_requests
from refunds.models import RefundWorkflow
from refunds.refusals import OrderRefusedError, RequestNotFoundError
from refunds.selectors.requests import asks_the_same
from refunds.stages.s01_authorize_request import OrderNotFoundError
from refunds.states import WorkflowState
from tests.factories import (
    NOW,
    add_message,
    make_customer,
    make_duplicate_order,
    make_order,
    make_policy,
    move_workflow,
    open_without_order,
    open_workflow,
)
from tests.stages.trail import last_move, nothing_written, path

pytestmark = pytest.mark.django_db
_W = WorkflowState
LATER = NOW + timedelta(days=14)


@pytest.fixture
def waiting(db):
    return open_without_order(customer=make_customer())


def give(as_customer, workflow, order, now=NOW):
    return pipeline.give_order(
        signed_in=as_customer(workflow.customer), workflow_id=workflow.pk, order_number=order.number, now=now
    )


def stored(workflow):
    return RefundWorkflow.objects.get(pk=workflow.pk)


def advance(workflow, now):
    return pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: now)


def test_the_order_is_set_beside_the_fold_and_the_request_goes_on(as_customer, waiting):
    made = make_duplicate_order(customer=waiting.customer)
    make_policy(merchant=waiting.merchant)
    given = give(as_customer, waiting, made.order)
    assert (given.workflow_id, given.created) == (waiting.pk, False)
    workflow = stored(waiting)
    assert (workflow.order_id, workflow.open_slot) == (
        made.order.pk,
        f"{waiting.customer_id}:{made.order.pk}",
    )
    assert workflow.next_attempt_at == NOW
    assert path(workflow) == ["EVIDENCE_PENDING"]
    record = workflow.events.get(kind="RECORD")
    assert (record.reason, record.actor_type, record.evidence["order_id"]) == (
        "ORDER_GIVEN",
        "CUSTOMER",
        made.order.pk,
    )
    (nudge,) = given.nudges
    pipeline.advance_workflow(**nudge.kwargs, clock=lambda: NOW)
    assert stored(waiting).finding == "VERIFIED_DUPLICATE_CHARGE"


def test_the_same_order_again_changes_nothing_and_another_is_refused(as_customer, waiting):
    order, other = (make_order(customer=waiting.customer) for _ in range(2))
    give(as_customer, waiting, order)
    with nothing_written():
        assert give(as_customer, waiting, order).workflow_id == waiting.pk
    with nothing_written(), pytest.raises(OrderRefusedError) as refused:
        give(as_customer, waiting, other)
    assert refused.value.code == "ORDER_ALREADY_GIVEN"


def test_the_database_refuses_another_order_too(as_customer, waiting):
    order, other = (make_order(customer=waiting.customer) for _ in range(2))
    give(as_customer, waiting, order)
    with pytest.raises(DatabaseError, match="about the order that was given first"), transaction.atomic():
        RefundWorkflow.objects.filter(pk=waiting.pk).update(order_id=other.pk)


@pytest.mark.failure("F109")
def test_an_order_with_an_open_request_takes_the_words_over(as_customer, waiting):
    order = make_order(customer=waiting.customer)
    first = open_workflow(order=order, message="I was charged twice.")
    add_message(waiting, "The second charge is from Monday.")
    given = give(as_customer, waiting, order)
    assert given.workflow_id == first.pk
    workflow = stored(waiting)
    assert (workflow.state, workflow.order_id, workflow.open_slot) == ("WITHDRAWN", None, None)
    event = last_move(workflow)
    assert event.reason == "ATTACHED"
    assert event.evidence["workflow_id"] == first.pk
    words = [message.text.body for message in first.messages.order_by("pk")]
    assert words == ["I was charged twice.", "The second charge is from Monday."]
    assert stored(first).repeat_contacts == 1
    statement = report_requests([workflow])[0].statement
    assert statement.heading == f"You already had a request for that order: {first.reference}."
    with nothing_written():
        assert give(as_customer, waiting, order).workflow_id == first.pk
    other = make_order(customer=waiting.customer)
    with nothing_written(), pytest.raises(OrderRefusedError) as refused:
        give(as_customer, waiting, other)
    assert refused.value.code == "NO_LONGER_WAITING"


def test_a_request_that_ends_meanwhile_is_not_in_the_way(as_customer, waiting, monkeypatch):
    order = make_order(customer=waiting.customer)
    first = open_workflow(order=order)
    look = giving_order._lock_holder

    def ends_meanwhile(request):
        if stored(first).open_slot is not None:
            move_workflow(first, _W.WITHDRAWN)
        return look(request)

    monkeypatch.setattr(giving_order, "_lock_holder", ends_meanwhile)
    assert give(as_customer, waiting, order).workflow_id == waiting.pk
    assert stored(waiting).order_id == order.pk


def test_what_people_have_waits_for_no_order(as_customer, waiting):
    pipeline.ask_person(signed_in=as_customer(waiting.customer), workflow_id=waiting.pk, now=NOW)
    order = make_order(customer=waiting.customer)
    with nothing_written(), pytest.raises(OrderRefusedError) as refused:
        give(as_customer, waiting, order)
    assert refused.value.code == "WITH_OUR_TEAM"


@pytest.mark.failure("F099")
def test_a_foreign_order_and_a_missing_one_are_refused_alike(as_customer, waiting):
    foreign = make_order(customer=make_customer(merchant=waiting.merchant))
    answers = []
    for number in (foreign.number, "no-such-order", ""):
        with nothing_written(), pytest.raises(OrderNotFoundError) as refused:
            pipeline.give_order(
                signed_in=as_customer(waiting.customer), workflow_id=waiting.pk, order_number=number, now=NOW
            )
        answers.append(refused.value.args)
    assert answers == [()] * 3


@pytest.mark.failure("F099")
def test_nobody_names_an_order_for_somebody_elses_request(as_customer, waiting):
    order = make_order(customer=make_customer(merchant=waiting.merchant))
    for workflow_id in (waiting.pk, "wf_unknown"):
        with nothing_written(), pytest.raises(RequestNotFoundError):
            pipeline.give_order(
                signed_in=as_customer(order.customer),
                workflow_id=workflow_id,
                order_number=order.number,
                now=NOW,
            )


def test_the_request_that_opened_it_stays_the_same_one_after_an_order_was_given(as_customer):
    customer = make_customer()
    waiting = open_without_order(customer=customer, message="Charged twice.", client_token="k")
    order = make_order(customer=customer)
    assert asks_the_same(waiting, order_number="", message="Charged twice.")
    give(as_customer, waiting, order)
    assert asks_the_same(stored(waiting), order_number="", message="Charged twice.")
    assert not asks_the_same(stored(waiting), order_number=order.number, message="Charged twice.")


def test_until_its_time_a_request_without_an_order_is_left_alone(waiting):
    with nothing_written():
        assert advance(waiting, LATER - timedelta(seconds=1)) == ()
    assert recovery.find_resumable_work(now=LATER - timedelta(seconds=1)) == ()


def test_unanswered_it_is_closed_by_the_scanner_and_its_customer_is_told(waiting):
    (nudge,) = recovery.find_resumable_work(now=LATER)
    assert [n.task for n in pipeline.advance_workflow(**nudge.kwargs, clock=lambda: LATER)] == [
        "deliver_notifications"
    ]
    workflow = stored(waiting)
    event = last_move(workflow)
    assert (workflow.state, workflow.next_attempt_at) == ("WITHDRAWN", None)
    assert (event.reason, event.actor_type) == ("NOT_ANSWERED", "SYSTEM")
    owed = Notification.objects.get()
    assert (owed.customer_id, owed.logical_event_id) == (
        waiting.customer_id,
        f"request.not_answered:{waiting.pk}",
    )
    assert owed.facts["state_reason"] == "NOT_ANSWERED"
    report = report_requests([workflow])[0]
    assert (report.statement.key, report.statement.closed) == ("NOT_ANSWERED", True)
    assert [line.key for line in report.timeline] == ["REQUEST_SAVED", "NOT_ANSWERED"]
    with nothing_written():
        assert advance(waiting, LATER) == ()


def test_an_answer_in_time_is_never_closed(as_customer, waiting):
    give(as_customer, waiting, make_order(customer=waiting.customer))
    assert not giving_order.close_unanswered(workflow_id=waiting.pk, now=LATER)
    assert stored(waiting).state == "EVIDENCE_PENDING"


def test_what_people_send_back_waits_for_the_whole_time_again(as_customer, waiting):
    pipeline.ask_person(signed_in=as_customer(waiting.customer), workflow_id=waiting.pk, now=NOW)
    back = NOW + timedelta(days=20)
    move_workflow(waiting, _W.EVIDENCE_PENDING, now=back, next_attempt_at=back)
    assert advance(waiting, back) == ()
    assert (stored(waiting).state, stored(waiting).next_attempt_at) == (
        "EVIDENCE_PENDING",
        back + timedelta(days=14),
    )
