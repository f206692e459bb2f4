import pytest

from ledger.models import Payment
from refunds.evidence.remaining import conservation_of
from refunds.models import GatewayResponse, ReconciliationCheck
from refunds.nudges import advance

pytestmark = pytest.mark.django_db(transaction=True)


def lose_answer(desk, **fault):
    made = desk.duplicate(desk.customer())
    desk.sim.arm(**fault)
    workflow_id = desk.ask(made.order, run=False)
    for nudge in desk.run_one(advance(workflow_id)):
        desk.run_one(nudge)
    return made, workflow_id


@pytest.mark.failure("F013")
@pytest.mark.failure("F008")
def test_booked_then_dropped_is_unknown_and_then_completed_by_looking(desk):
    _, workflow_id = lose_answer(desk, kind="drop_after", count=1)
    operation = desk.operation(workflow_id)
    assert operation.state == "STATUS_UNKNOWN"
    assert desk.workflow(workflow_id).state == "EXECUTING"
    assert GatewayResponse.objects.get().answer_class == "UNKNOWN"
    assert desk.messages() == []

    desk.scan()

    operation = desk.operation(workflow_id)
    assert (operation.state, desk.workflow(workflow_id).state) == ("COMPLETED", "COMPLETED")
    assert desk.story(workflow_id)[1] == ["CREATED", "SUBMITTED", "STATUS_UNKNOWN", "COMPLETED"]
    check = ReconciliationCheck.objects.get()
    assert check.verdict == "CONFIRMED_COMPLETED"
    assert check.processor_reference == operation.processor_reference
    assert len(desk.posts()) == 1
    assert desk.messages() == [f"refund.completed:{operation.pk}"]
    desk.assert_books_agree()


@pytest.mark.failure("F007")
def test_an_unreadable_answer_is_unknown_and_then_completed(desk):
    _, workflow_id = lose_answer(desk, kind="unparsable", count=1)
    assert desk.operation(workflow_id).state == "STATUS_UNKNOWN"

    desk.scan()

    assert desk.operation(workflow_id).state == "COMPLETED"
    assert len(desk.posts()) == 1


@pytest.mark.failure("F011")
def test_never_arrived_is_proven_absent_and_sent_again_as_the_same_command(desk):
    made, workflow_id = lose_answer(desk, kind="drop_before", count=1)
    desk.scan()
    assert desk.operation(workflow_id).state == "STATUS_UNKNOWN"
    assert len(desk.posts()) == 1

    desk.later(minutes=20)
    Payment.objects.update(refreshed_at=desk.now)
    for _ in range(3):
        desk.scan()

    assert desk.story(workflow_id)[1] == [
        *("CREATED", "SUBMITTED", "STATUS_UNKNOWN", "CONFIRMED_ABSENT", "SUBMITTED", "COMPLETED")
    ]
    verdicts = list(ReconciliationCheck.objects.order_by("pk").values_list("verdict", flat=True))
    assert verdicts[-1] == "CONFIRMED_ABSENT"
    assert set(verdicts[:-1]) == {"NOT_FOUND_YET"}
    assert len(desk.posts()) == 2
    assert len({post["idempotency_key"] for post in desk.posts()}) == 1
    assert len({post["body"] for post in desk.posts()}) == 1
    assert len(desk.sim.refunds()) == 1
    assert conservation_of(made.refunded.pk).remaining == 0
    desk.assert_books_agree()


def test_a_refused_refund_is_rejected_with_the_providers_evidence(desk):
    made = desk.duplicate(desk.customer())
    desk.sim.seed_charge(made.refunded.processor_reference, amount=4999, disputed=True)

    workflow_id = desk.ask(made.order)

    operation = desk.operation(workflow_id)
    assert (operation.state, desk.workflow(workflow_id).state) == ("REJECTED", "MANUAL_REVIEW")
    assert GatewayResponse.objects.get().error_code == "charge_disputed"
    assert desk.sim.refunds() == []


@pytest.mark.failure("F024")
def test_a_pending_refund_is_polled_until_it_is_final(desk):
    made = desk.duplicate(desk.customer())
    desk.sim.arm(kind="pending", count=1)
    workflow_id = desk.ask(made.order)
    assert desk.operation(workflow_id).state == "PROVIDER_PENDING"
    for _ in range(20):
        desk.scan()
        desk.later(hours=5)
    assert desk.operation(workflow_id).state == "PROVIDER_PENDING"

    desk.sim.set_refund_status(desk.sim.refunds()[0]["id"], "succeeded")
    desk.scan()

    assert (desk.operation(workflow_id).state, len(desk.posts())) == ("COMPLETED", 1)
    desk.assert_books_agree()
