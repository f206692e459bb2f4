"""What our own side may do around the call: statements that fail, sessions that end, limits that fire."""

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from billiard.exceptions import SoftTimeLimitExceeded
from celery import current_app
from django.db import InterfaceError, OperationalError, connection
from django.db.utils import DatabaseError

from ledger.models import AuditOutbox, LedgerEntry
from notifications.models import Notification
from refunds.gateways.registry import response_window
from refunds.models import GatewayAttempt, GatewayResponse, RefundOperationEvent
from refunds.nudges import submit
from tests.failures.driving import executable, inserts_fail, patient, told
from tests.stages.trail import path

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).resolve().parents[2]
FOUND_AGAIN = ["CREATED", "SUBMITTED", "STATUS_UNKNOWN", "COMPLETED"]


def recovered(desk, operation):
    """Let the answer become overdue, and every scanner look."""
    desk.later(seconds=response_window().total_seconds())
    for _ in range(2):
        desk.scan()
    assert path(operation) == FOUND_AGAIN
    assert (len(desk.posts()), len(desk.sim.refunds())) == (1, 1)
    assert desk.messages() == [f"refund.completed:{operation.pk}"]
    desk.assert_books_agree()


@pytest.mark.failure("F006")
@pytest.mark.failure("F075")
@pytest.mark.parametrize(
    "table",
    ["gateway_responses", "refund_operation_events", "ledger_entries", "audit_outbox", "notifications"],
)
def test_a_statement_that_fails_after_the_answer_loses_no_row_and_sends_nothing_again(desk, table):
    _, operation = executable(desk)
    with inserts_fail_after_the_answer(desk, table), pytest.raises(DatabaseError, match="planted"):
        desk.run([submit(operation.pk)])

    assert path(operation) == ["CREATED", "SUBMITTED"]
    assert (GatewayAttempt.objects.count(), GatewayResponse.objects.count()) == (1, 0)
    assert not LedgerEntry.objects.filter(kind="REFUND").exists()
    assert not Notification.objects.exists()
    recovered(desk, operation)


@contextmanager
def inserts_fail_after_the_answer(desk, table):
    """Plant the fault while the call is under way."""
    call = desk.gateway.submit_refund
    with ExitStack() as planted:

        def call_then_plant(command):
            answer = call(command)
            planted.enter_context(inserts_fail(table))
            return answer

        desk.gateway.submit_refund = call_then_plant
        yield
    del desk.gateway.submit_refund


def _session(cursor):
    cursor.execute("SELECT pg_backend_pid()")
    return cursor.fetchone()[0]


@pytest.mark.failure("F006")
def test_a_session_that_is_cut_during_the_call_is_a_lost_answer(desk):
    _, operation = executable(desk)
    desk.sim.arm("hold")
    kept = []

    def work():
        try:
            with connection.cursor() as cursor:
                kept.append(_session(cursor))
            desk.run([submit(operation.pk)])
        finally:
            connection.close()

    desk.gateway = patient(desk)
    with ThreadPoolExecutor(1) as worker:
        working = worker.submit(work)
        desk.sim.wait_until_waiting()
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s)", kept)
        desk.sim.release()
        with pytest.raises((OperationalError, InterfaceError)):
            working.result()
    assert path(operation) == ["CREATED", "SUBMITTED"]
    recovered(desk, operation)


@pytest.mark.failure("F067")
def test_while_the_provider_takes_its_time_no_session_is_in_a_transaction(desk):
    _, operation = executable(desk)
    desk.gateway = patient(desk)
    desk.sim.arm("hold")

    def work():
        try:
            desk.run([submit(operation.pk)])
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as worker:
        working = worker.submit(work)
        desk.sim.wait_until_waiting()
        try:
            assert path(operation) == ["CREATED", "SUBMITTED"]
            assert open_transactions() == []
        finally:
            desk.sim.release()
        working.result()
    assert path(operation) == ["CREATED", "SUBMITTED", "COMPLETED"]


def open_transactions():
    """Return what other sessions of this database last did inside a transaction that is still open."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT left(query, 60) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND xact_start IS NOT NULL"
        )
        return cursor.fetchall()


@pytest.mark.failure("F063")
def test_a_time_limit_during_the_call_is_an_unknown_outcome_and_no_loop(desk):
    _, operation = executable(desk)
    call = desk.gateway.submit_refund

    def limit_fires(command):
        call(command)
        raise SoftTimeLimitExceeded

    desk.gateway.submit_refund = limit_fires
    with pytest.raises(SoftTimeLimitExceeded):
        desk.run([submit(operation.pk)])
    for _ in range(5):  # delivered again, and again
        desk.run([submit(operation.pk)])

    assert path(operation) == ["CREATED", "SUBMITTED"]
    assert len(desk.posts()) == 1
    recovered(desk, operation)


@pytest.mark.failure("F053")
@pytest.mark.failure("F063")
def test_no_task_retries_by_itself_or_waits_in_the_broker():
    ours = [task for name, task in current_app.tasks.items() if name.startswith("refunds.")]
    assert ours
    assert all(not getattr(task, "autoretry_for", ()) for task in ours)
    source = "\n".join(file.read_text() for file in (ROOT / "refunds").rglob("*.py"))
    assert not re.findall(r"\b(?:countdown|eta)\s*=|\.(?:apply_async|retry)\(", source)


@pytest.mark.failure("F069")
def test_after_a_rolled_back_transition_the_next_step_reads_the_row_again(desk):
    """The first worker moved the operation in memory and could not store it; nothing acts on that."""
    _, operation = executable(desk)
    events = RefundOperationEvent.objects.count()
    with inserts_fail("gateway_attempts"), pytest.raises(DatabaseError, match="planted"):
        desk.run([submit(operation.pk)])

    assert path(operation) == ["CREATED"]
    assert (desk.posts(), RefundOperationEvent.objects.count()) == ([], events)
    assert not AuditOutbox.objects.filter(topic="refund_operation.submitted").exists()
    assert told(operation.workflow_id)["status"]["key"] == "REFUND_NOT_SENT_YET"
    desk.run([submit(operation.pk)])
    assert path(operation) == ["CREATED", "SUBMITTED", "COMPLETED"]
    assert len(desk.posts()) == 1
