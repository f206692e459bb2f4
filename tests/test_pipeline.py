"""Whatever is lost, repeated or interrupted on the way: one operation, one POST, one refund."""

import pytest

from approvals.models import ApprovalRequest
from refunds import pipeline
from refunds.models import GatewayAttempt, Proposal, RefundOperation, RefundWorkflow
from refunds.nudges import DELIVER, advance, reconcile, submit
from refunds.stages.s01_authorize_request import identify_customer
from refunds.states import WorkflowState
from tests.factories import NOW, make_staff, move_workflow, workflow_in_state
from tests.journeys.desk import Desk
from tests.stages.trail import nothing_written, path
from tests.support.gateway_simulator import GatewaySimulator

pytestmark = pytest.mark.django_db
TO_THE_END = ["EVIDENCE_PENDING", "EVIDENCE_VERIFIED", "ACTION_PROPOSED", "PROPOSAL_VALIDATED", "APPROVED", "EXECUTING", "COMPLETED"]  # fmt: skip
THE_LONG_WAY_ROUND = ["ACTION_PROPOSED", "PROPOSAL_VALIDATED", "REQUIRES_HUMAN_APPROVAL", "EVIDENCE_PENDING", "EVIDENCE_VERIFIED"]  # fmt: skip


@pytest.fixture(scope="module")
def simulator_process(tmp_path_factory):
    with GatewaySimulator(book=tmp_path_factory.mktemp("gateway") / "book.sqlite3") as simulator:
        yield simulator


@pytest.fixture
def desk(simulator_process):
    """The product over a real database and the provider's simulator, with a clock that the test moves."""
    simulator_process.reset()
    return Desk(simulator_process)


@pytest.fixture
def order(desk):
    return desk.duplicate(desk.customer()).order


def recover(desk, rounds=2):
    """Let time pass and every scanner look, as beat does."""
    for _ in range(rounds):
        desk.later(minutes=2)
        desk.scan()


def assert_refunded_once(desk, workflow_id, operation_path=("CREATED", "SUBMITTED", "COMPLETED")):
    workflow, operation = desk.workflow(workflow_id), desk.operation(workflow_id)
    assert path(workflow) == TO_THE_END
    assert path(operation) == list(operation_path)
    assert RefundWorkflow.objects.count() == RefundOperation.objects.count() == 1
    assert (GatewayAttempt.objects.count(), len(desk.posts()), len(desk.sim.refunds())) == (1, 1, 1)
    assert desk.messages() == [f"refund.completed:{operation.pk}"]
    desk.assert_books_agree()


# -- nudges


def test_each_step_names_the_next(desk, order):
    workflow_id = desk.ask(order, run=False)
    (submission,) = desk.run_one(advance(workflow_id))
    assert submission == submit(desk.operation(workflow_id).pk)
    desk.sim.arm(kind="drop_after", count=1)
    (look,) = desk.run_one(submission)
    assert look == reconcile(desk.operation(workflow_id).pk)
    assert desk.run_one(look) == (DELIVER,)
    assert_refunded_once(desk, workflow_id, ["CREATED", "SUBMITTED", "STATUS_UNKNOWN", "COMPLETED"])


@pytest.mark.parametrize("lost", range(3))
def test_a_lost_nudge_costs_time_only(desk, order, lost):
    """Nudge number ``lost`` never arrives: to advance, to submit, and to reconcile."""
    desk.sim.arm(kind="drop_after", count=1)
    workflow_id = desk.ask(order, run=False)
    nudges = (advance(workflow_id),)
    for _ in range(lost):
        (nudge,) = nudges
        nudges = desk.run_one(nudge)

    recover(desk)

    assert_refunded_once(desk, workflow_id, ["CREATED", "SUBMITTED", "STATUS_UNKNOWN", "COMPLETED"])


def test_every_nudge_may_come_again_at_every_point(desk, order):
    desk.sim.arm(kind="drop_after", count=1)
    workflow_id = desk.ask(order, run=False)
    seen, waiting = [], [advance(workflow_id)]
    while waiting:
        nudge = waiting.pop(0)
        waiting.extend(desk.run_one(nudge))
        seen.append(nudge)
        for again in seen:
            desk.run_one(again)
            desk.run_one(again)
    assert {nudge.task for nudge in seen} == {
        "advance_workflow",
        "submit_operation",
        "reconcile_operation",
        "deliver_notifications",
    }
    assert_refunded_once(desk, workflow_id, ["CREATED", "SUBMITTED", "STATUS_UNKNOWN", "COMPLETED"])


@pytest.mark.failure("F062")
def test_without_any_nudge_the_scanners_do_all_of_it(desk, order):
    workflow_id = desk.ask(order, run=False)
    recover(desk)
    assert_refunded_once(desk, workflow_id)


@pytest.mark.parametrize("state", [s for s in WorkflowState if s not in TO_THE_END[:-1]])
def test_a_nudge_for_a_request_that_people_own_or_that_ended_does_nothing(state):
    workflow = workflow_in_state(state)
    with nothing_written():
        assert pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: NOW) == (DELIVER,)


@pytest.mark.parametrize("reading", ["retrieve_policy", "retrieve_payments", "ask_for_proposal"])
def test_a_worker_that_another_one_overtakes_while_it_reads_or_asks_goes_on_from_there(
    desk, order, monkeypatch, reading
):
    workflow_id = desk.ask(order, run=False)
    slow = getattr(pipeline, reading)

    def overtaken(**facts):
        monkeypatch.undo()
        found = slow(**facts)
        pipeline.advance_workflow(workflow_id=workflow_id, clock=desk.clock)
        return found

    monkeypatch.setattr(pipeline, reading, overtaken)
    desk.run([advance(workflow_id)])
    assert_refunded_once(desk, workflow_id)
    assert Proposal.objects.count() == 1


def test_an_answer_about_an_earlier_command_is_not_taken_for_one_about_the_present(monkeypatch):
    workflow = workflow_in_state(WorkflowState.EVIDENCE_VERIFIED)
    slow = pipeline.ask_for_proposal

    def read_again_meanwhile(**facts):
        for state in THE_LONG_WAY_ROUND:
            move_workflow(workflow, WorkflowState(state))
        return slow(**facts)

    monkeypatch.setattr(pipeline, "ask_for_proposal", read_again_meanwhile)
    nudges = pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: NOW)
    assert nudges == (advance(workflow.pk),)
    workflow.refresh_from_db()
    assert (path(workflow)[-1], workflow.command_number) == ("EVIDENCE_VERIFIED", 2)
    assert [proposal.command_number for proposal in Proposal.objects.all()] == [1]


# -- crashes


class Crash(BaseException):
    """The process is gone."""


def crash_once(monkeypatch, name):
    """Let the next step, by its dotted name, end the process instead of running."""

    def crash(*_args, **_facts):
        monkeypatch.undo()
        raise Crash

    monkeypatch.setattr(name, crash)


BEFORE_THE_CALL = [
    "refunds.pipeline.retrieve_policy",
    "refunds.pipeline.establish_duplicate",
    "refunds.pipeline.ask_for_proposal",
    "refunds.pipeline.record_proposal",
    "refunds.pipeline.create_operation",
    "refunds.pipeline.submit_refund",
    "refunds.stages.s10_submit_refund.begin_attempt",
]
AFTER_THE_CALL = [
    "refunds.stages.s10_submit_refund.record_answer",
    "refunds.stages.s10_submit_refund.state_after_answer",
]


def crash_on_the_way(desk, order, monkeypatch, step):
    workflow_id = desk.ask(order, run=False)
    crash_once(monkeypatch, step)
    with pytest.raises(Crash):
        desk.run([advance(workflow_id)])
    return workflow_id


@pytest.mark.failure("F134")
@pytest.mark.parametrize("step", BEFORE_THE_CALL)
def test_a_crash_before_the_call_leaves_a_request_that_goes_on(desk, order, monkeypatch, step):
    workflow_id = crash_on_the_way(desk, order, monkeypatch, step)
    assert desk.posts() == []
    recover(desk)
    assert_refunded_once(desk, workflow_id)


@pytest.mark.failure("F006")
@pytest.mark.parametrize("step", AFTER_THE_CALL)
def test_a_crash_after_the_call_is_a_lost_answer_that_is_looked_up(desk, order, monkeypatch, step):
    workflow_id = crash_on_the_way(desk, order, monkeypatch, step)
    assert (desk.operation(workflow_id).state, len(desk.posts())) == ("SUBMITTED", 1)
    recover(desk)
    assert_refunded_once(desk, workflow_id, ["CREATED", "SUBMITTED", "STATUS_UNKNOWN", "COMPLETED"])


@pytest.mark.parametrize(
    "step", ["refunds.pipeline.reconcile_outcome", "refunds.stages.s11_reconcile_outcome.judge"]
)
def test_a_crash_while_looking_leads_to_another_look(desk, order, monkeypatch, step):
    desk.sim.arm(kind="drop_after", count=1)
    workflow_id = crash_on_the_way(desk, order, monkeypatch, step)
    recover(desk)
    assert_refunded_once(desk, workflow_id, ["CREATED", "SUBMITTED", "STATUS_UNKNOWN", "COMPLETED"])


def test_a_crash_between_the_attempt_and_its_first_byte_is_never_taken_for_not_sent(desk, order, monkeypatch):
    workflow_id = desk.ask(order, run=False)
    with monkeypatch.context() as crashing, pytest.raises(Crash):
        crash_once(crashing, "refunds.gateways.stripe.StripeGateway.submit_refund")
        desk.run([advance(workflow_id)])
    assert desk.operation(workflow_id).state == "SUBMITTED"

    recover(desk)

    assert path(desk.operation(workflow_id)) == ["CREATED", "SUBMITTED", "STATUS_UNKNOWN"]
    assert desk.posts() == desk.sim.refunds() == desk.messages() == []
    assert desk.operation(workflow_id).checks.latest("number").verdict == "NOT_FOUND_YET"


# -- people


@pytest.fixture
def waiting(desk):
    """A request for $149.00 in the queue, and a person who may decide it."""
    merchant = desk.shop()
    order = desk.duplicate(desk.customer(merchant), amount_minor_units=14_900).order
    workflow_id = desk.ask(order)
    return workflow_id, ApprovalRequest.objects.get(), make_staff(merchant=merchant)


def decide(desk, approval, person, decision):
    return pipeline.decide(
        approval_id=approval.pk,
        decision=decision,
        staff_user_id=person.pk,
        fingerprint=approval.request_fingerprint,
        reason_code="DUPLICATE_CONFIRMED",
        note="",
        now=desk.now,
    )


def test_an_approval_whose_nudge_is_lost_is_carried_out_by_the_scanner(desk, waiting):
    workflow_id, approval, person = waiting
    assert decide(desk, approval, person, "approve") == (advance(workflow_id),)
    recover(desk)
    assert path(desk.workflow(workflow_id))[-3:] == ["APPROVED", "EXECUTING", "COMPLETED"]
    assert (len(desk.posts()), len(desk.sim.refunds())) == (1, 1)


def test_a_rejection_leads_to_a_message_and_to_nothing_else(desk, waiting):
    workflow_id, approval, person = waiting
    assert decide(desk, approval, person, "reject") == (DELIVER,)
    recover(desk)
    assert path(desk.workflow(workflow_id))[-1] == "REJECTED"
    assert desk.messages() == [f"refund.rejected:{workflow_id}.{desk.workflow(workflow_id).state_sequence}"]
    assert desk.posts() == []


# -- the request itself


def test_a_request_and_its_repeat_are_answered_with_the_same_work(desk, order):
    asked = {
        "signed_in": identify_customer(user=order.customer.user, host="testserver", method="session"),
        "order_number": order.number,
        "message": "I was charged twice.",
        "problem": "",
        "client_token": "",
        "now": desk.now,
    }
    first, again = pipeline.open_request(**asked), pipeline.open_request(**asked)
    assert (first.created, again.created) == (True, False)
    assert first.nudges == again.nudges == (advance(first.workflow_id),)
