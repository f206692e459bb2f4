"""``manage.py recover --once``: one round of every scanner, in the foreground and without a broker."""

import json
import uuid
from datetime import timedelta

import pytest
from celery import current_app

from ledger.models import AuditOutbox, AuditPublication
from notifications.models import Notification
from refunds import pipeline
from refunds.management import foreground
from refunds.models import RefundOperation, RefundWorkflow
from refunds.nudges import submit
from tests.factories import make_user
from tests.recovery.running import committed, run, states

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def no_broker(monkeypatch):
    def send(*_args, **_kwargs):
        raise AssertionError("the broker was asked")

    monkeypatch.setattr(current_app, "send_task", send)


def test_a_lost_nudge_a_lost_answer_and_an_unsent_message_are_all_finished_in_one_round(desk):
    waiting = committed(desk)
    lost = committed(desk)
    desk.sim.arm(kind="drop_after", count=1)
    desk.run_one(submit(lost.pk))
    desk.later(minutes=1)

    ran = run("recover", "--once")

    assert (ran.code, states()) == (0, ["COMPLETED", "COMPLETED"])
    assert len(desk.posts()) == len(desk.sim.refunds()) == 2
    assert "reconcile_unknown: 1 found, 1 done" in ran.out
    assert "resume_workflows: 1 found, 1 done" in ran.out
    assert "messages tried: 2" in ran.out
    assert f"resume_workflows 1 of 1: submit_operation {waiting.pk}" in ran.err
    assert not Notification.objects.filter(delivered_at=None).exists()
    assert AuditPublication.objects.count() == AuditOutbox.objects.count()
    desk.assert_books_agree()


def test_what_proves_absent_is_sent_again_under_the_same_key_in_the_same_round(desk):
    operation = committed(desk)
    desk.sim.arm(kind="drop_before", count=1)
    desk.run_one(submit(operation.pk))
    desk.later(minutes=16)
    refreshed(desk)

    ran = run("recover", "--once")

    assert (ran.code, states()) == (0, ["COMPLETED"])
    keys = {post["headers"]["idempotency-key"] for post in desk.posts()}
    assert (keys, len(desk.sim.refunds())) == ({operation.idempotency_key}, 1)


def refreshed(desk):
    for operation in RefundOperation.objects.select_related("payment"):
        type(operation.payment).objects.filter(order=operation.payment.order_id).update(refreshed_at=desk.now)


def test_nothing_to_do_ends_well_and_writes_nothing_but_the_summary(desk):
    ran = run("recover", "--once")
    assert ran.code == 0
    assert "recover_submitted: 0 found, 0 done" in ran.out
    assert "still due" not in ran.out


def test_more_than_the_limit_is_left_for_the_next_round_and_said(desk):
    merchant = desk.shop()
    for _ in range(3):
        committed(desk, desk.customer(merchant))
    desk.later(minutes=1)

    first = run("recover", "--once", limit=2)
    second = run("recover", "--once", limit=2)

    assert (first.code, second.code) == (3, 0)
    assert "still due for resume_workflows: 1" in first.out
    assert states() == ["COMPLETED"] * 3


def test_what_people_must_decide_is_an_exit_code_of_its_own(desk):
    operation = committed(desk)
    desk.sim.arm(kind="drop_before", count=1)
    desk.run_one(submit(operation.pk))
    desk.later(hours=23)  # past the safe window: people decide
    refreshed(desk)
    for _ in range(9):
        run("recover", "--once")
        desk.later(hours=5)

    ran = run("recover", "--once", json=True)

    left = json.loads(ran.out)["left"]
    assert (ran.code, left["operations_with_people"], states()) == (3, 1, ["MANUAL_REVIEW"])
    assert len(desk.posts()) <= 1


def test_one_that_fails_is_named_by_its_id_and_the_others_are_done(desk, monkeypatch):
    merchant = desk.shop()
    one, other = (committed(desk, desk.customer(merchant)) for _ in range(2))
    desk.later(minutes=1)
    real = pipeline.submit_operation

    def fails_for_one(*, operation_id, **more):
        if operation_id == one.pk:
            raise ValueError("Ada Example <ada@example.com>")
        return real(operation_id=operation_id, **more)

    monkeypatch.setattr(foreground.pipeline, "submit_operation", fails_for_one)
    ran = run("recover", "--once")

    assert ran.code == 1
    assert f"{one.pk}: ValueError" in ran.out
    assert "ada@example.com" not in ran.out + ran.err
    assert RefundOperation.objects.get(pk=other.pk).state == "COMPLETED"
    assert RefundOperation.objects.get(pk=one.pk).state == "CREATED"


def test_the_summary_as_json_has_every_scanner(desk):
    committed(desk)
    desk.later(minutes=1)
    ran = run("recover", "--once", json=True)
    summary = json.loads(ran.out)
    assert summary["scans"]["resume_workflows"] == {"found": 1, "done": 1, "failed": []}
    assert set(summary["scans"]) == {
        *("apply_webhooks", "recover_submitted", "reconcile_unknown", "look_late"),
        *("recheck_evidence", "resume_workflows"),
    }
    assert summary["left"] == {
        "due": {}, "operations_waiting": 0, "operations_with_people": 0, "cases_overdue": 0,
    }  # fmt: skip


def test_a_process_without_the_providers_credentials_claims_nothing(settings, monkeypatch, desk):
    operation = committed(desk)
    desk.later(minutes=1)
    before = RefundOperation.objects.values().get(pk=operation.pk)
    monkeypatch.undo()
    settings.STRIPE_API_KEY = ""
    foreground.get_gateway.cache_clear()

    ran = run("recover", "--once")

    assert (ran.code, "STRIPE_API_KEY" in ran.err) == (1, True)
    assert RefundOperation.objects.values().get(pk=operation.pk) == before


@pytest.mark.parametrize(
    "options", [{}, *({"once": True, "limit": limit} for limit in (0, -1, 100_001, 2**63 - 1, 2**64))]
)
def test_a_call_that_makes_no_sense_is_refused(desk, options):
    assert run("recover", **options).code == 2


def test_nothing_personal_is_printed(desk):
    canary = f"canary{uuid.uuid4().hex}"
    customer = desk.customer(user=make_user(username=canary, email=f"{canary}@example.com"))
    made = desk.duplicate(customer)
    desk.ask(made.order, message=f"My name is {canary}.", run=False)
    desk.later(minutes=1)
    ran = run("recover", "--once")
    assert RefundWorkflow.objects.get().state == "COMPLETED"
    assert canary not in ran.out + ran.err


@pytest.mark.failure("F011")
def test_two_rounds_at_once_send_each_refund_once(desk):
    """The second begins while the first holds its claims: nothing is done twice."""
    operation = committed(desk)
    desk.later(minutes=1)
    real, inner = pipeline.submit_operation, []

    def and_another_round_meanwhile(**more):
        if not inner:
            inner.append(run("recover", "--once"))
        return real(**more)

    foreground.pipeline.submit_operation = and_another_round_meanwhile
    try:
        outer = run("recover", "--once")
    finally:
        foreground.pipeline.submit_operation = real
    assert (outer.code, inner[0].code) == (0, 3)
    assert "still due for resume_workflows: 1" in inner[0].out
    assert len(desk.posts()) == 1
    assert RefundOperation.objects.get(pk=operation.pk).state == "COMPLETED"


def test_a_claim_that_is_left_behind_ends_by_itself(desk):
    """A round that was killed between claiming and working costs a claim's time."""
    committed(desk)
    desk.later(minutes=1)
    from refunds.recovery import claim_period, find_resumable_work  # noqa: PLC0415

    assert len(find_resumable_work(now=desk.now)) == 1
    assert run("recover", "--once").code == 3
    desk.now += claim_period() + timedelta(seconds=1)
    assert (run("recover", "--once").code, states()) == (0, ["COMPLETED"])
