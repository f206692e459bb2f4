import threading
from datetime import timedelta

import pytest
from django.db import connection, transaction

from approvals.models import ApprovalRequest
from ledger.models import LedgerEntry, Payment
from refunds import pipeline
from refunds.evidence.remaining import conservation_of
from refunds.models import GatewayAttempt
from refunds.nudges import advance, reconcile, submit
from tests.factories import make_duplicate_order, make_staff

pytestmark = pytest.mark.django_db(transaction=True)


def operation_before_submission(desk, **columns):
    made = desk.duplicate(desk.customer(), **columns)
    workflow_id = desk.ask(made.order, run=False)
    desk.run_one(advance(workflow_id))
    return made, workflow_id, desk.operation(workflow_id)


@pytest.mark.failure("F053")
def test_equal_nudges_use_up_no_checks(desk):
    _, workflow_id, operation = operation_before_submission(desk)
    desk.sim.arm(kind="drop_before", count=1)
    desk.run_one(submit(operation.pk))

    desk.run([reconcile(operation.pk)] * 20)

    operation = desk.operation(workflow_id)
    assert (operation.state, operation.checks_made) == ("STATUS_UNKNOWN", 1)
    assert len(desk.sim.log(method="GET")) == 1
    desk.later(minutes=1)
    desk.scan()
    assert desk.operation(workflow_id).checks_made == 2


@pytest.mark.failure("F025")
def test_one_failed_look_up_does_not_end_the_polling_of_a_pending_refund(desk):
    _, workflow_id, operation = operation_before_submission(desk)
    desk.sim.arm(kind="pending", count=1)
    desk.run_one(submit(operation.pk))
    for _ in range(12):
        desk.later(hours=5)
        desk.scan()
    desk.sim.arm(kind="status", status=503, on="list", count=3)
    desk.sim.arm(kind="status", status=503, on="retrieve", count=3)
    desk.later(hours=5)
    desk.scan()
    assert desk.operation(workflow_id).checks.latest("number").verdict == "STILL_AMBIGUOUS"
    assert desk.operation(workflow_id).state == "PROVIDER_PENDING"

    desk.sim.set_refund_status(desk.sim.refunds()[0]["id"], "succeeded")
    desk.later(hours=5)
    desk.scan()

    assert (desk.operation(workflow_id).state, len(desk.posts())) == ("COMPLETED", 1)


def test_facts_that_grew_old_wait_and_are_not_taken_for_changed(desk):
    made, workflow_id, operation = operation_before_submission(desk)
    desk.later(minutes=16)  # the policy trusts a snapshot for 15

    desk.run_one(submit(operation.pk))

    assert desk.operation(workflow_id).state == "CREATED"
    assert ApprovalRequest.objects.get(pk=operation.approval_id).state == "CONSUMED"
    assert desk.posts() == []
    Payment.objects.filter(order=made.order).update(refreshed_at=desk.now)
    desk.later(seconds=31)
    desk.scan()
    assert (desk.operation(workflow_id).state, len(desk.posts())) == ("COMPLETED", 1)


def test_an_approval_waits_for_facts_that_are_too_old_until_it_expires(desk):
    merchant = desk.shop()
    made = desk.duplicate(desk.customer(merchant), amount_minor_units=14_900)
    workflow_id = desk.ask(made.order)
    approval = ApprovalRequest.objects.get(subject_id=workflow_id)
    desk.later(minutes=16)
    nudges = pipeline.decide(
        approval_id=approval.pk, decision="approve", staff_user_id=make_staff(merchant=merchant).pk,
        fingerprint=approval.request_fingerprint, reason_code="DUPLICATE_CONFIRMED", note="", now=desk.now,
    )  # fmt: skip
    desk.run(nudges)
    assert desk.workflow(workflow_id).state == "APPROVED"

    Payment.objects.filter(order=made.order).update(refreshed_at=desk.now)
    desk.later(seconds=31)
    desk.scan()

    assert (desk.workflow(workflow_id).state, len(desk.posts())) == ("COMPLETED", 1)


@pytest.mark.failure("F022")
@pytest.mark.parametrize("status", ["FAILED", "CANCELED"])
def test_a_refund_that_came_back_is_not_made_again_without_a_person(desk, status):
    made, _, operation = operation_before_submission(desk)
    desk.run_one(submit(operation.pk))
    LedgerEntry.objects.filter(kind="REFUND").update(status=status)

    again = desk.ask(made.order)

    assert desk.workflow(again).state == "MANUAL_REVIEW"
    assert desk.workflow(again).reason_code == "OPEN_OPERATION"
    assert len(desk.posts()) == 1


@pytest.mark.parametrize("status", ["PENDING", "CANCELED"])
def test_an_entry_that_a_source_brought_first_is_brought_up_to_date(desk, status):
    made, workflow_id, operation = operation_before_submission(desk)
    desk.sim.arm(kind="drop_after", count=1)
    desk.run_one(submit(operation.pk))
    made.refunded.entries.create(
        merchant=operation.merchant, processor_reference=desk.sim.refunds()[0]["id"], kind="REFUND",
        status=status, amount_minor_units=4999, currency="USD", occurred_at=desk.now,
    )  # fmt: skip

    desk.scan()

    assert desk.operation(workflow_id).state == "COMPLETED"
    assert made.refunded.entries.get(kind="REFUND").status == "SUCCEEDED"
    money = conservation_of(made.refunded.pk)
    assert (money.refunded, money.reserved, money.remaining) == (4999, 0, 0)


@pytest.mark.failure("F050")
def test_an_entry_that_disagrees_keeps_the_amount_reserved(desk):
    made, workflow_id, operation = operation_before_submission(desk)
    desk.sim.arm(kind="drop_after", count=1)
    desk.run_one(submit(operation.pk))
    made.kept.entries.create(
        merchant=operation.merchant, processor_reference=desk.sim.refunds()[0]["id"], kind="REFUND",
        status="SUCCEEDED", amount_minor_units=100, currency="USD", occurred_at=desk.now,
    )  # fmt: skip

    desk.scan()

    assert desk.operation(workflow_id).state == "COMPLETED"
    money = conservation_of(made.refunded.pk)
    assert (money.refunded, money.reserved, money.remaining) == (0, 4999, 0)


@pytest.mark.parametrize(("counted", "rest"), [(4999, 0), (6000, 1001)])
def test_a_refund_that_an_export_counted_without_naming_is_counted_once(desk, counted, rest):
    made, _, operation = operation_before_submission(desk)
    desk.sim.arm(kind="drop_after", count=1)
    desk.run_one(submit(operation.pk))
    made.refunded.entries.create(
        merchant=operation.merchant, processor_reference=f"{made.refunded}#refunded:{counted}", kind="REFUND",
        status="SUCCEEDED", amount_minor_units=counted, currency="USD", occurred_at=desk.now,
    )  # fmt: skip

    desk.scan()

    assert conservation_of(made.refunded.pk).refunded == 4999 + rest


def test_an_approval_that_expires_while_waiting_for_a_lock_is_not_spent(desk):
    made, workflow_id, operation = operation_before_submission(desk)
    expires_at = ApprovalRequest.objects.get(pk=operation.approval_id).expires_at
    desk.now = expires_at - timedelta(seconds=1)
    Payment.objects.filter(order=made.order).update(refreshed_at=desk.now)
    locked, release = threading.Event(), threading.Event()

    def hold():
        with transaction.atomic():
            Payment.objects.select_for_update().get(pk=made.refunded.pk)
            locked.set()
            release.wait(10)
        connection.close()

    holder = threading.Thread(target=hold)
    holder.start()
    locked.wait(10)
    worker = threading.Thread(target=lambda: (desk.run_one(submit(operation.pk)), connection.close()))
    worker.start()
    worker.join(0.5)
    desk.now = expires_at + timedelta(seconds=1)
    release.set()
    worker.join(10)
    holder.join(10)

    assert desk.posts() == []
    assert desk.operation(workflow_id).state == "CANCELLED"


def test_what_the_provider_cannot_be_sent_is_found_before_anybody_approves_it(desk):
    made = desk.duplicate(desk.customer(), amount_minor_units=5_120, currency="KWD")
    assert desk.workflow(desk.ask(made.order)).state == "COMPLETED"
    customer = desk.customer()
    odd = make_duplicate_order(customer=customer, now=desk.now, amount_minor_units=5_125, currency="KWD")

    workflow = desk.workflow(desk.ask(odd.order))

    assert workflow.state == "MANUAL_REVIEW"
    assert workflow.events.latest("pk").reason == "AMOUNT_NOT_REPRESENTABLE"
    assert ApprovalRequest.objects.filter(subject_id=workflow.pk).count() == 0
    assert len(desk.posts()) == 1


@pytest.mark.failure("F016")
def test_one_key_never_carries_two_bodies(desk, monkeypatch):
    _, workflow_id, operation = operation_before_submission(desk)
    desk.sim.arm(kind="status", status=429, rate_limited_reason="global-rate", count=1)
    desk.run_one(submit(operation.pk))
    assert desk.operation(workflow_id).state == "CREATED"
    desk.later(minutes=1)
    monkeypatch.setattr(desk.gateway, "request_body_sha256", lambda _command: "f" * 64)

    desk.run_one(submit(operation.pk))

    assert (desk.operation(workflow_id).state, len(desk.posts())) == ("MANUAL_REVIEW", 1)


def test_nudges_do_not_hurry_an_operation_that_waits(desk):
    _, workflow_id, operation = operation_before_submission(desk)
    desk.sim.arm(kind="status", status=429, rate_limited_reason="global-rate", count=1)

    desk.run([submit(operation.pk)] * 10)

    assert (desk.operation(workflow_id).state, GatewayAttempt.objects.count()) == ("CREATED", 1)
    desk.later(minutes=1)
    desk.scan()
    assert (desk.operation(workflow_id).state, GatewayAttempt.objects.count()) == ("COMPLETED", 2)
    assert len({a.idempotency_key for a in GatewayAttempt.objects.all()}) == 1
