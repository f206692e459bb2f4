"""Real threads on real connections, against the provider's simulator over HTTP."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from ledger.transitions import TransitionRefusedError, commit_transition, lock_row
from refunds import pipeline
from refunds.models import GatewayAttempt, RefundOperation, RefundOperationEvent, RefundWorkflow
from refunds.nudges import advance
from refunds.states import OperationState
from tests.factories import NOW, operation_in_state
from tests.factories.commands import WHY

pytestmark = pytest.mark.django_db(transaction=True)
WORKERS = 20


def at_once(call):
    """Run ``call(n)`` in twenty threads that start together, each with its own connection."""
    barrier = threading.Barrier(WORKERS)

    def one(number):
        try:
            barrier.wait(30)
            return call(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(WORKERS) as pool:
        return list(pool.map(one, range(WORKERS)))


@pytest.mark.failure("F001")
@pytest.mark.failure("F041")
@pytest.mark.parametrize("token", ["", "the-same-call"])
def test_twenty_submits_of_one_request_make_one_refund(desk, token):
    made = desk.duplicate(desk.customer())
    _ = made.order.customer.user

    ids = set(
        at_once(lambda n: desk.ask(made.order, message=f"Charged twice ({n}).", token=token, run=False))
    )

    assert len(ids) == 1
    (workflow_id,) = ids
    assert RefundWorkflow.objects.count() == 1
    workflow = desk.workflow(workflow_id)
    assert workflow.repeat_contacts == (0 if token else WORKERS - 1)
    assert workflow.messages.count() == (1 if token else WORKERS)
    at_once(lambda _n: desk.run([advance(workflow_id)]))
    assert desk.workflow(workflow_id).state == "COMPLETED"
    assert RefundOperation.objects.count() == GatewayAttempt.objects.count() == 1
    assert (len(desk.posts()), len(desk.sim.refunds())) == (1, 1)
    desk.assert_books_agree()


@pytest.mark.failure("F001")
def test_twenty_workers_on_one_operation_make_one_post(desk):
    made = desk.duplicate(desk.customer())
    workflow_id = desk.ask(made.order, run=False)
    desk.run_one(advance(workflow_id))
    operation = desk.operation(workflow_id)
    assert operation.state == "CREATED"

    at_once(
        lambda _n: pipeline.submit_operation(
            operation_id=operation.pk, gateway=desk.gateway, clock=desk.clock
        )
    )

    assert desk.operation(workflow_id).state == "COMPLETED"
    assert (len(desk.posts()), len(desk.sim.refunds()), GatewayAttempt.objects.count()) == (1, 1, 1)
    desk.assert_books_agree()


@pytest.mark.failure("F071")
def test_of_twenty_equal_transitions_one_wins_and_leaves_one_event():
    operation = operation_in_state(OperationState.CREATED)

    def submit(_n):
        try:
            with transaction.atomic():
                locked = lock_row(RefundOperation, operation.pk)
                commit_transition(locked, OperationState.SUBMITTED, WHY, now=NOW)
        except TransitionRefusedError:
            return "refused"
        return "won"

    assert sorted(at_once(submit)) == ["refused"] * (WORKERS - 1) + ["won"]
    assert RefundOperationEvent.objects.filter(operation=operation).count() == 2


@pytest.mark.failure("F058")
def test_twenty_scanners_look_an_unknown_outcome_up_once(desk):
    made = desk.duplicate(desk.customer())
    desk.sim.arm(kind="drop_after", count=1)
    workflow_id = desk.ask(made.order, run=False)
    for nudge in desk.run_one(advance(workflow_id)):
        desk.run_one(nudge)
    assert desk.operation(workflow_id).state == "STATUS_UNKNOWN"

    at_once(lambda _n: desk.scan())

    assert desk.operation(workflow_id).state == "COMPLETED"
    assert desk.operation(workflow_id).checks.count() == 1
    assert (len(desk.posts()), len(desk.sim.refunds())) == (1, 1)
