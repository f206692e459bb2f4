"""Real workers whose broker delivers again, whose limits fire, whose beat has a twin, and who are faster than a commit."""

import json
import re
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone
from knox.models import AuthToken

from notifications.models import NotificationAttempt
from refunds.models import GatewayAttempt, RefundWorkflow
from tests.api.calls import URL
from tests.stages.trail import path
from tests.support.workers import Worker, purge, send, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.timeout(600)]
PATIENCE = 180
FOUND_AGAIN = ["CREATED", "SUBMITTED", "STATUS_UNKNOWN", "COMPLETED"]
CALL_SECONDS = {"GATEWAY_TIMEOUT_SECONDS": "60"}  # the call outlasts what is to happen meanwhile


@pytest.fixture
def workers(desk, tmp_path):
    """A function that starts one more worker and returns its log; all are stopped at the end."""
    purge()
    started = []

    def start(**more):
        log = tmp_path / f"worker-{len(started)}.log"
        started.append(Worker(gateway_url=desk.sim.url, api_key=desk.sim.api_key, log=log, **more))
        return log

    yield start
    desk.sim.disarm()
    for running in started:
        running.stop()
    purge()


def asked(desk):
    """Return the id of a request that waits for a worker."""
    desk.now = timezone.now() - timedelta(seconds=1)
    return desk.ask(desk.duplicate(desk.customer()).order, run=False)


def completed_once(desk, *workflow_ids):
    for workflow_id in workflow_ids:
        wait_until(
            lambda pk=workflow_id: desk.workflow(pk).state == "COMPLETED", seconds=PATIENCE, what="COMPLETED"
        )
    assert len(desk.posts()) == len(desk.sim.refunds()) == GatewayAttempt.objects.count() == len(workflow_ids)
    receipts = [f"refund.completed:{desk.operation(pk).pk}" for pk in workflow_ids]
    assert sorted(desk.messages()) == sorted(receipts)
    desk.assert_books_agree()


def deliveries(*logs):
    """Return how often each message about a submission reached a worker, by the message's id."""
    text = "\n".join(log.read_text() for log in logs)
    return Counter(re.findall(r"refunds\.submit_operation\[([0-9a-f-]{36})\] received", text))


@pytest.mark.failure("F053")
def test_a_message_that_the_broker_delivers_again_during_the_call_sends_nothing(desk, workers):
    started = [
        workers(beat=False, app="tests.support.impatient_broker", environment=CALL_SECONDS) for _ in range(3)
    ]
    workflow_id = asked(desk)
    desk.sim.arm("hold", seconds=60)
    send("advance_workflow", workflow_id=workflow_id)
    desk.sim.wait_until_waiting(seconds=PATIENCE)

    wait_until(lambda: max(deliveries(*started).values()) > 1, seconds=PATIENCE, what="a second delivery")
    time.sleep(2)
    assert path(desk.operation(workflow_id)) == ["CREATED", "SUBMITTED"]
    assert len(desk.posts()) == 1
    desk.sim.release()

    completed_once(desk, workflow_id)
    assert path(desk.operation(workflow_id)) == ["CREATED", "SUBMITTED", "COMPLETED"]


@pytest.mark.failure("F063")
@pytest.mark.parametrize(
    ("limit", "said"), [("--soft-time-limit", "Soft time limit"), ("--time-limit", "Hard time limit")]
)
def test_a_limit_that_fires_during_the_call_leaves_an_unknown_outcome_and_no_loop(desk, workers, limit, said):
    log = workers(beat=False, options=(limit, "4"), environment=CALL_SECONDS)
    workflow_id = asked(desk)
    desk.sim.arm("hold", seconds=60)
    send("advance_workflow", workflow_id=workflow_id)
    wait_until(lambda: said in log.read_text(), seconds=PATIENCE, what="the limit")
    time.sleep(3)  # for a retry, if there were one

    states = path(desk.operation(workflow_id))  # the adapter may have taken the limit for a lost answer
    assert len(states) >= 2
    assert states == FOUND_AGAIN[: len(states)]
    assert len(desk.posts()) == 1
    desk.sim.release()
    workers(beat=True)

    completed_once(desk, workflow_id)
    assert path(desk.operation(workflow_id)) == FOUND_AGAIN


@pytest.mark.failure("F058")
def test_two_beats_look_each_lost_refund_up_once_and_send_each_mail_once(desk, workers):
    desk.sim.arm("drop_after", count=None)
    requests = [asked(desk) for _ in range(3)]
    logs = [workers(beat=True) for _ in range(2)]

    completed_once(desk, *requests)
    wait_until(lambda: NotificationAttempt.objects.count() >= 3, seconds=PATIENCE, what="the mails")
    time.sleep(5)  # some more ticks of both

    assert all("beat: Starting" in log.read_text() for log in logs)
    assert {desk.operation(pk).checks.count() for pk in requests} == {1}
    assert set(Counter(NotificationAttempt.objects.values_list("notification_id", flat=True)).values()) == {1}


@contextmanager
def slow_commits(seconds):
    """Let the commit of every new request take its time."""
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION planted_delay() RETURNS trigger LANGUAGE plpgsql AS"
            f" $$ BEGIN PERFORM pg_sleep({seconds}); RETURN NULL; END $$"
        )
        cursor.execute(
            "CREATE CONSTRAINT TRIGGER planted_delay AFTER INSERT ON refund_workflows DEFERRABLE INITIALLY DEFERRED"
            " FOR EACH ROW EXECUTE FUNCTION planted_delay()"
        )
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP FUNCTION planted_delay() CASCADE")


@pytest.mark.failure("F055")
def test_an_idle_worker_hears_of_a_request_only_after_its_slow_commit(desk, workers, web):
    log = workers(beat=False)
    wait_until(lambda: " ready." in log.read_text(), seconds=PATIENCE, what="an idle worker")
    desk.now = timezone.now() - timedelta(seconds=1)
    made = desk.duplicate(desk.customer())
    _, token = AuthToken.objects.create(user=made.order.customer.user)
    headers = {"Authorization": f"Token {token}", "Content-Type": "application/json"}
    body = json.dumps({"message": "I was charged twice.", "order_number": made.order.number})

    with slow_commits(3), ThreadPoolExecutor(1) as customer:
        began = time.monotonic()
        answer = customer.submit(web.call, "POST", URL, body=body, headers=headers)
        wait_until(committing, seconds=PATIENCE, what="the slow commit")
        time.sleep(1)
        assert not RefundWorkflow.objects.exists()
        assert "received" not in log.read_text()
        status, _, said = answer.result()
    assert (status, time.monotonic() - began > 3) == (201, True)

    completed_once(desk, json.loads(said)["workflow_id"])
    assert "DoesNotExist" not in log.read_text()


def committing():
    """Tell whether a session of the database is at its commit."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"
        )
        return cursor.fetchone()[0]
