"""The provider's words about a second submission, and a second refund of the payment whose first one is lost."""

import pgtrigger
import pytest
from django.db import transaction
from django.db.utils import DatabaseError

from ledger.models import Payment
from refunds import recovery
from refunds.evidence.remaining import conservation_of
from refunds.models import GatewayResponse, RefundOperation
from tests.casework.staff import approve, charge_of, start
from tests.factories import make_staff
from tests.failures.driving import executable, send, told
from tests.stages.trail import path

pytestmark = pytest.mark.django_db(transaction=True)
HIDDEN = 7200.0  # seconds for which the provider's list hides what it booked, against its own pages


def proven_absent_although_booked(desk):
    """Return an operation that the list did not show in time: the desk may send it again, and is wrong."""
    made, operation = executable(desk)
    desk.sim.set_undocumented(lag_list_seconds=HIDDEN)
    desk.sim.arm("drop_after")
    assert send(desk, operation).state == "STATUS_UNKNOWN"
    desk.later(minutes=20)
    Payment.objects.update(refreshed_at=desk.now)
    for nudge in recovery.find_unknown_outcomes(now=desk.now):
        desk.run_one(nudge)
    assert path(operation)[-1] == "CONFIRMED_ABSENT"
    assert len(desk.sim.refunds()) == 1
    return made, operation


@pytest.mark.failure("F007")
@pytest.mark.parametrize("code", [None, "amount_too_large", "charge_already_refunded"])
def test_more_than_is_left_on_a_second_try_leads_to_the_refund_of_the_first(desk, code):
    made, operation = proven_absent_although_booked(desk)
    desk.sim.set_undocumented(lag_list_seconds=0.0, over_refund_code=code)
    desk.sim.forget_keys()  # else the first answer would be replayed

    assert send(desk, operation).state == "STATUS_UNKNOWN"

    answer = GatewayResponse.objects.latest("pk")
    assert (answer.http_status, answer.answer_class) == (400, "REFUSED")
    assert told(operation.workflow_id)["status"]["key"] == "REFUND_BEING_VERIFIED"
    for _ in range(5):
        desk.later(minutes=5)
        desk.scan()
    assert path(operation)[-3:] == ["SUBMITTED", "STATUS_UNKNOWN", "COMPLETED"]
    assert len(desk.posts()) == 2
    assert {post["idempotency_key"] for post in desk.posts()} == {operation.idempotency_key}
    assert conservation_of(made.refunded.pk).remaining == 0
    desk.assert_books_agree()


@pytest.mark.failure("F007")
@pytest.mark.parametrize("code", [None, "amount_too_large", "charge_already_refunded"])
def test_a_refusal_that_no_listed_refund_accounts_for_frees_nothing(desk, code):
    """The list still hides the refund of the first submission, of which the refusal of the second one speaks."""
    made, operation = proven_absent_although_booked(desk)
    desk.sim.set_undocumented(over_refund_code=code)
    desk.sim.forget_keys()

    assert send(desk, operation).state == "STATUS_UNKNOWN"
    for _ in range(6):
        desk.later(minutes=10)
        desk.scan()

    assert path(operation)[-1] == "STATUS_UNKNOWN"
    assert "ours may be among those that are not" in operation.checks.last().explanation[-1]
    assert conservation_of(made.refunded.pk).remaining == 0
    assert told(operation.workflow_id)["status"]["key"] == "REFUND_BEING_VERIFIED"
    desk.sim.set_undocumented(lag_list_seconds=0.0)
    for _ in range(6):
        desk.later(minutes=30)
        desk.scan()
    assert path(operation)[-1] == "COMPLETED"
    assert len(desk.posts()) == 2
    desk.assert_books_agree()


@pytest.mark.failure("F009")
def test_a_second_partial_refund_of_the_payment_is_sent_and_the_lost_first_one_is_only_looked_up(desk):
    merchant = desk.shop()
    charge, starter, reviewer = (
        charge_of(merchant),
        make_staff(merchant=merchant),
        make_staff(merchant=merchant),
    )
    desk.seed(charge)
    pair = [start(charge, starter, client_token=f"form-{n}", amount_minor_units=2500) for n in (1, 2)]
    desk.sim.arm("drop_before")
    desk.run(approve(pair[0], reviewer))
    lost = RefundOperation.objects.get()
    assert lost.state == "STATUS_UNKNOWN"

    desk.run(approve(pair[1], reviewer))
    for _ in range(2):
        desk.later(minutes=1)
        desk.scan()

    second = RefundOperation.objects.exclude(pk=lost.pk).get()
    assert (path(lost)[-1], path(second)[-1]) == ("STATUS_UNKNOWN", "COMPLETED")
    assert [post["idempotency_key"] for post in desk.posts()] == [
        lost.idempotency_key,
        second.idempotency_key,
    ]
    assert [refund["amount"] for refund in desk.sim.refunds()] == [2500]
    assert lost.attempts.count() == 1
    assert lost.checks.count() > 0
    money = conservation_of(charge.pk)
    assert (money.refunded, money.reserved, money.remaining) == (2500, 2500, 5000)


@pytest.mark.failure("F016")
def test_an_operation_whose_amount_changed_after_its_first_attempt_is_not_resumed(desk):
    """PostgreSQL refuses the change; here it happened all the same, and the desk may send the operation again."""
    _, operation = executable(desk)
    desk.sim.arm("drop_before")
    assert send(desk, operation).state == "STATUS_UNKNOWN"
    desk.later(minutes=20)
    Payment.objects.update(refreshed_at=desk.now)
    for nudge in recovery.find_unknown_outcomes(now=desk.now):
        desk.run_one(nudge)
    assert path(operation)[-1] == "CONFIRMED_ABSENT"
    with pytest.raises(DatabaseError, match="Cannot update"), transaction.atomic():
        RefundOperation.objects.update(amount_minor_units=4000)
    with pgtrigger.ignore("refunds.RefundOperation:instruction_is_fixed"):
        RefundOperation.objects.update(amount_minor_units=4000)

    for _ in range(3):
        send(desk, operation)
        desk.later(minutes=1)
        desk.scan()

    moved = operation.events.latest("pk")
    assert (moved.from_state, moved.to_state) == ("CONFIRMED_ABSENT", "MANUAL_REVIEW")
    assert moved.reason == "FINDING_CHANGED:TWO_CAPTURES_OF_ONE_PURCHASE"
    assert (len(desk.posts()), desk.sim.refunds(), operation.attempts.count()) == (1, [], 1)
    assert desk.workflow(operation.workflow_id).state == "MANUAL_REVIEW"
