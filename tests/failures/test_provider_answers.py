"""What the provider answers late, twice, oddly or not at all."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from approvals.models import ReviewCase
from refunds.evidence.remaining import conservation_of
from refunds.gateways.contract import STRIPE_V1
from refunds.gateways.port import RefundCommand
from refunds.gateways.registry import response_window
from refunds.models import GatewayAttempt, GatewayResponse, RefundOperation, RefundWorkflow
from refunds.nudges import submit
from refunds.stages.s10_submit_refund import begin_attempt
from refunds.states import OperationState
from tests.factories import operation_in_state
from tests.failures.driving import executable, rewrite_refunds, send, told, words_of
from tests.stages.trail import path
from tests.support.unguarded import unguarded

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.failure("F013")
def test_a_read_timeout_is_verified_and_the_next_question_is_answered_with_the_refund(desk):
    _, operation = executable(desk)
    desk.sim.arm("hold")
    assert send(desk, operation).state == "STATUS_UNKNOWN"
    assert told(operation.workflow_id)["status"]["key"] == "REFUND_BEING_VERIFIED"
    desk.sim.release()

    desk.scan()

    answer = told(operation.workflow_id)
    assert (answer["state"], answer["operation"]["state"]) == ("COMPLETED", "COMPLETED")
    assert answer["operation"]["processor_reference"] == desk.sim.refunds()[0]["id"]
    assert len(desk.posts()) == 1


@pytest.mark.failure("F020")
def test_a_key_in_use_is_waited_for_and_ends_with_one_refund(desk):
    """The first call under this key still runs, in a process that the product has given up."""
    _, operation = executable(desk)
    desk.sim.arm("delay_before")
    command = command_of(operation)
    with ThreadPoolExecutor(1) as elsewhere:
        first = elsewhere.submit(desk.gateway.submit_refund, command)
        desk.sim.wait_until_waiting()
        second = send(desk, operation)
        assert GatewayResponse.objects.get().http_status == 409
        assert (second.state, desk.workflow(operation.workflow_id).state) == ("STATUS_UNKNOWN", "EXECUTING")
        assert told(operation.workflow_id)["status"]["key"] == "REFUND_BEING_VERIFIED"
        assert not ReviewCase.objects.exists()
        desk.sim.release()
        first.result()

    desk.scan()

    assert desk.operation(operation.workflow_id).state == "COMPLETED"
    assert len(desk.sim.refunds()) == 1
    assert {post["idempotency_key"] for post in desk.posts()} == {operation.idempotency_key}
    assert not ReviewCase.objects.exists()
    desk.assert_books_agree()


def command_of(operation):
    """Return the operation's command, for a caller that leaves no rows of ours."""
    return RefundCommand(
        operation_id=operation.pk,
        idempotency_key=operation.idempotency_key,
        account=operation.account,
        payment_reference=operation.payment_reference,
        amount_minor_units=operation.amount_minor_units,
        currency=operation.currency,
        reason_code=operation.reason_code,
    )


# -- every status that a refund can have


def looked_up_with(desk, status):
    """Return an operation whose lost refund is found with this status at the provider, and its payment."""
    made, operation = executable(desk)
    desk.sim.arm("drop_after")
    send(desk, operation)
    rewrite_refunds(desk.sim, status=status)
    desk.scan()
    return made, desk.operation(operation.workflow_id)


@pytest.mark.failure("F023")
@pytest.mark.parametrize(
    ("status", "operation_state", "workflow_state", "remaining"),
    [
        ("succeeded", "COMPLETED", "COMPLETED", 0),
        ("pending", "PROVIDER_PENDING", "EXECUTING", 0),
        ("requires_action", "PROVIDER_PENDING", "EXECUTING", 0),
        ("failed", "FAILED", "MANUAL_REVIEW", 4999),
        ("canceled", "FAILED", "MANUAL_REVIEW", 4999),
    ],
)
def test_every_documented_status_moves_the_money_that_it_means(
    desk, status, operation_state, workflow_state, remaining
):
    assert status in STRIPE_V1.statuses
    made, operation = looked_up_with(desk, status)
    assert (operation.state, desk.workflow(operation.workflow_id).state) == (operation_state, workflow_state)
    money = conservation_of(made.refunded.pk)
    assert (money.remaining, money.refunded) == (remaining, 4999 if status == "succeeded" else 0)
    assert len(desk.posts()) == 1


@pytest.mark.failure("F023")
def test_a_status_that_nobody_knows_is_for_people_and_counts_as_nothing(desk):
    made, operation = looked_up_with(desk, "on_hold")
    assert (operation.state, desk.workflow(operation.workflow_id).state) == ("MANUAL_REVIEW", "MANUAL_REVIEW")
    money = conservation_of(made.refunded.pk)
    assert (money.refunded, money.reserved, money.remaining) == (0, 4999, 0)
    assert len(desk.posts()) == 1
    assert desk.messages() == []


# -- not finished yet


@pytest.mark.failure("F024")
@pytest.mark.failure("F025")
@pytest.mark.parametrize("status", ["pending", "requires_action"])
def test_an_unfinished_refund_is_said_to_be_processing_until_it_succeeded(desk, status):
    _, operation = executable(desk)
    desk.sim.arm("pending")
    assert send(desk, operation).state == "PROVIDER_PENDING"
    rewrite_refunds(desk.sim, status=status)
    for _ in range(4):
        desk.later(hours=5)
        desk.scan()
        answer = told(operation.workflow_id)
        assert (answer["state"], answer["operation"]["state"]) == ("EXECUTING", "PROVIDER_PENDING")
        assert "is processing" in words_of(answer)
    assert desk.messages() == []

    desk.sim.set_refund_status(desk.sim.refunds()[0]["id"], "succeeded")
    desk.later(hours=5)
    desk.scan()

    assert told(operation.workflow_id)["status"]["key"] == "REFUND_CONFIRMED"
    assert (len(desk.posts()), len(desk.messages())) == (1, 1)
    desk.assert_books_agree()


# -- sweeps


@pytest.mark.failure("F011")
@pytest.mark.parametrize("booked", [False, True])
def test_a_sweep_over_what_was_sent_only_reads(desk, booked):
    """The worker that sent it is gone; the sweep comes twice, before and after the answer is overdue."""
    _, operation = executable(desk)
    begun = begin_attempt(found=operation, gateway=desk.gateway, clock=desk.clock)
    if booked:
        desk.gateway.submit_refund(begun.command)
    sent = len(desk.posts())
    for _ in range(2):
        desk.scan()
        assert path(operation) == ["CREATED", "SUBMITTED"]
    desk.later(seconds=response_window().total_seconds())
    for _ in range(2):
        desk.scan()
        desk.later(seconds=1)
    assert path(operation)[2:] == (["STATUS_UNKNOWN", "COMPLETED"] if booked else ["STATUS_UNKNOWN"])
    assert (len(desk.posts()), GatewayAttempt.objects.count()) == (sent, 1)
    assert [entry["method"] for entry in desk.sim.log()][sent:] == ["GET"]


@pytest.mark.failure("F009")
def test_work_on_another_order_never_sends_the_lost_one_again(desk):
    made, lost = executable(desk)
    desk.sim.arm("drop_before")
    assert send(desk, lost).state == "STATUS_UNKNOWN"
    other = desk.duplicate(made.order.customer)

    workflow_id = desk.ask(other.order)
    desk.scan()

    assert desk.operation(workflow_id).state == "COMPLETED"
    assert [post["idempotency_key"] for post in desk.posts()] == [
        lost.idempotency_key,
        desk.operation(workflow_id).idempotency_key,
    ]
    reads = [entry["query"] for entry in desk.sim.log(method="GET")]
    assert len(reads) == 1
    assert made.refunded.processor_reference in reads[0]
    assert desk.operation(lost.workflow_id).state == "STATUS_UNKNOWN"


@pytest.mark.failure("F009")
def test_a_second_operation_on_the_payment_of_a_lost_one_sends_neither(desk):
    made, lost = executable(desk)
    desk.sim.arm("drop_before")
    send(desk, lost)
    RefundWorkflow.objects.update(open_slot=None)
    with unguarded():
        second = operation_in_state(OperationState.CREATED, order=made.order)

    desk.run([submit(second.pk)])

    assert RefundOperation.objects.get(pk=second.pk).state == "CANCELLED"
    assert [post["idempotency_key"] for post in desk.posts()] == [lost.idempotency_key]
    desk.later(minutes=1)
    desk.scan()
    assert len(desk.posts()) == 1
    assert made.refunded.processor_reference in desk.sim.log(method="GET")[-1]["query"]
