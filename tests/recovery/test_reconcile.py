"""``manage.py reconcile``: look up and explain; nothing is ever sent by it."""

import subprocess
import sys
import uuid

import pytest

from refunds.management import foreground
from refunds.models import ReconciliationCheck, RefundOperation
from refunds.nudges import submit
from tests.factories import make_user
from tests.recovery.running import committed, run, states
from tests.support.deployed import database_url_of_tests, environment
from tests.support.workers import broker_url

pytestmark = pytest.mark.django_db(transaction=True)


def lost(desk, kind, **more):
    operation = committed(desk, **more)
    desk.sim.arm(kind=kind, count=1)
    desk.run_one(submit(operation.pk))
    return operation


def test_a_refund_that_was_made_is_found_and_every_line_of_the_reasoning_printed(desk):
    operation = lost(desk, "drop_after")

    ran = run("reconcile", operation.pk)

    assert (ran.code, states()) == (0, ["COMPLETED"])
    check = ReconciliationCheck.objects.get()
    assert (check.cause, check.verdict) == ("PERSON", "CONFIRMED_COMPLETED")
    for line in (f"check 1: {check.verdict}", *check.explanation):
        assert line in ran.out
    assert "operation: STATUS_UNKNOWN -> COMPLETED" in ran.out
    assert "EXECUTING -> COMPLETED" in ran.out
    assert len(desk.posts()) == 1


def test_who_asked_is_kept_as_evidence(desk):
    operation = lost(desk, "drop_after")
    run("reconcile", operation.pk)
    record = operation.events.get(kind="RECORD")
    assert (record.reason, record.actor_type) == ("LOOK_UP_AGAIN", "SYSTEM")
    assert record.actor_id.startswith("shell:")


def test_what_is_not_found_is_not_called_absent_and_stays(desk):
    operation = lost(desk, "drop_before")
    ran = run("reconcile", operation.pk)
    assert (ran.code, states()) == (3, ["STATUS_UNKNOWN"])
    assert "NOT_FOUND_YET" in ran.out
    assert "may still be executing" in ran.out
    assert "operation: STATUS_UNKNOWN, unchanged" in ran.out
    assert "next look:" in ran.out


def test_proven_absence_is_said_and_nothing_is_sent_from_here(desk):
    operation = lost(desk, "drop_before")
    posts = len(desk.posts())
    desk.later(minutes=16)
    ran = run("reconcile", operation.pk)
    assert (ran.code, states()) == (3, ["CONFIRMED_ABSENT"])
    assert "send the same command again under the same key" in ran.out
    assert len(desk.posts()) == posts
    assert desk.sim.refunds() == []


def test_a_look_while_the_answer_may_still_come_moves_only_by_what_is_there(desk):
    operation = committed(desk)
    desk.sim.arm(kind="drop_after", count=1)
    answers = desk.gateway.submit_refund

    def look_in_between(command):
        answer = answers(command)
        in_between.append(run("reconcile", operation.pk))
        return answer

    in_between = []
    desk.gateway.submit_refund = look_in_between
    desk.run_one(submit(operation.pk))
    assert in_between[0].code == 0
    assert "SUBMITTED -> COMPLETED" in in_between[0].out
    assert (states(), len(desk.sim.refunds())) == (["COMPLETED"], 1)


def test_without_an_id_everything_that_is_due_is_looked_up_once(desk):
    merchant = desk.shop()
    found = [lost(desk, "drop_after", customer=desk.customer(merchant)) for _ in range(3)]
    later = committed(desk, desk.customer(merchant))
    RefundOperation.objects.filter(pk=found[0].pk).update(next_check_at=desk.now.replace(year=2030))

    ran = run("reconcile")

    assert "2 looked up, 0 still in doubt, 0 failed" in ran.out
    assert states() == ["COMPLETED", "COMPLETED", "CREATED", "STATUS_UNKNOWN"]
    assert ReconciliationCheck.objects.filter(cause="SCHEDULED").count() == 2
    assert later.pk not in ran.out
    assert run("reconcile").out.startswith("0 looked up")


def test_a_provider_that_cannot_be_read_proves_nothing(desk):
    operation = lost(desk, "drop_after")
    desk.sim.arm(kind="status", status=503, on="list", count=3)
    ran = run("reconcile", operation.pk)
    assert (ran.code, states()) == (3, ["STATUS_UNKNOWN"])
    assert "STILL_AMBIGUOUS" in ran.out


def test_a_look_up_that_fails_here_is_an_error_and_moves_nothing(desk, monkeypatch):
    operation = lost(desk, "drop_after")
    monkeypatch.setattr(desk.gateway, "list_refunds", lambda **_: 1 / 0)
    ran = run("reconcile", operation.pk)
    assert (ran.code, states()) == (1, ["STATUS_UNKNOWN"])
    assert f"{operation.pk}: ZeroDivisionError" in ran.out


@pytest.mark.parametrize(
    "name",
    [
        "rfop_00000000000000000000000000",
        "wf_00000000000000000000000000",
        "RF-ABCD-EFGH",
        "rfop_1",
        "",
        "x\x00y",
    ],
)
def test_what_names_no_operation_is_refused_clearly(desk, name):
    ran = run("reconcile", name)
    assert (ran.code, ran.out) == (2, "")
    assert "operation" in ran.err
    assert desk.sim.log(method="GET") == []


def test_a_process_without_the_providers_credentials_says_so(settings, monkeypatch, desk):
    operation = lost(desk, "drop_after")
    monkeypatch.undo()
    settings.STRIPE_API_KEY = ""
    foreground.get_gateway.cache_clear()
    ran = run("reconcile", operation.pk)
    assert (ran.code, "STRIPE_API_KEY" in ran.err) == (1, True)
    assert not operation.events.filter(kind="RECORD").exists()


def test_nothing_personal_is_printed(desk):
    canary = f"canary{uuid.uuid4().hex}"
    customer = desk.customer(user=make_user(username=canary, email=f"{canary}@example.com"))
    operation = lost(desk, "drop_after", customer=customer)
    ran = run("reconcile", operation.pk)
    assert ran.code == 0
    assert canary not in ran.out + ran.err


def test_as_a_process_it_ends_with_the_code_and_one_line(desk):
    env = environment(
        database_url=database_url_of_tests(), redis_url=broker_url(), STRIPE_API_KEY=desk.sim.api_key,
        STRIPE_API_BASE=desk.sim.url,
    )  # fmt: skip
    command = [sys.executable, "manage.py", "reconcile", "rfop_00000000000000000000000000"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip() == "CommandError: there is no operation rfop_00000000000000000000000000 here"
