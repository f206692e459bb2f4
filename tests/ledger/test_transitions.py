"""The one writer: what a transition leaves behind, and that a refused or broken one leaves nothing."""

import pytest
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext

from ledger import transitions
from ledger.actors import Actor
from ledger.models import AuditOutbox
from ledger.tracing import start_trace
from ledger.transitions import (
    RowNotLockedError,
    TransitionRefusedError,
    Why,
    append_record,
    commit_transition,
    create_with_event,
    lock_row,
    record_refusal,
)
from refunds.models import RefundOperation, RefundOperationEvent
from refunds.states import OperationState
from tests.factories import NOW, latest_approval, operation_in_state, workflow_in_state
from tests.stages.trail import last_move, nothing_written, path

_O = OperationState
WHY = Why(
    actor=Actor.staff(7),
    stage="SUBMIT_REFUND",
    reason="ATTEMPT_BEGUN",
    policy_version="REF-DUP v7",
    evidence={"gateway_attempt_id": "gwat_1"},
)
real_transactions = pytest.mark.django_db(transaction=True)


@pytest.fixture
def operation():
    return operation_in_state(_O.CREATED)


def move(operation, to=_O.SUBMITTED, **changes):
    with transaction.atomic():
        return commit_transition(lock_row(RefundOperation, operation.pk), to, WHY, now=NOW, **changes)


@pytest.mark.django_db
def test_a_transition_leaves_its_state_its_event_and_its_outbox_row(operation, settings):
    settings.SYSTEM_VERSION = "refund-desk test"
    trace_id = start_trace()
    event = move(operation, next_check_at=NOW)
    stored = RefundOperation.objects.get(pk=operation.pk)
    assert (stored.state, stored.state_sequence, stored.next_check_at) == ("SUBMITTED", 2, NOW)
    assert stored.updated_at == NOW
    assert last_move(operation) == event
    assert (event.kind, event.from_state, event.to_state, event.state_sequence) == (
        "TRANSITION",
        "CREATED",
        "SUBMITTED",
        2,
    )
    assert (event.actor_type, event.actor_id, event.stage, event.reason) == (
        "STAFF",
        "user:7",
        "SUBMIT_REFUND",
        "ATTEMPT_BEGUN",
    )
    assert (event.policy_version, event.system_version, event.trace_id, event.at) == (
        "REF-DUP v7",
        "refund-desk test",
        trace_id,
        NOW,
    )
    assert event.evidence == {"gateway_attempt_id": "gwat_1"}


@pytest.mark.django_db
def test_the_sequence_rises_by_one_with_each_transition_and_each_is_one_statement(operation):
    steps = (_O.SUBMITTED, _O.STATUS_UNKNOWN, _O.MANUAL_REVIEW)
    with CaptureQueriesContext(connection) as queries:
        for step in steps:
            move(operation, step)
    assert [event.state_sequence for event in operation.events.order_by("pk")] == [1, 2, 3, 4]
    written = [query["sql"] for query in queries if 'UPDATE "refund_operations"' in query["sql"]]
    assert len(written) == 3
    assert all(sql.startswith("WITH") and sql.count("INSERT INTO") == 2 for sql in written)
    others = [query["sql"].split()[0] for query in queries if query["sql"] not in written]
    assert "INSERT" not in others


@pytest.mark.django_db
def test_a_new_row_begins_with_its_first_event(operation):
    first = operation.events.get()
    assert (first.from_state, first.to_state, first.state_sequence) == ("", "CREATED", 1)


@pytest.mark.django_db
def test_a_record_is_kept_outside_the_fold_of_states():
    approval = latest_approval(workflow_in_state("REQUIRES_HUMAN_APPROVAL"))
    before = path(approval)
    with transaction.atomic():
        vote = append_record(lock_row(type(approval), approval.pk), WHY, now=NOW, voter_id="user:7")
    assert (vote.kind, vote.state_sequence, vote.from_state, vote.to_state) == ("RECORD", None, "", "")
    assert path(approval) == before
    told = AuditOutbox.objects.latest("pk")
    assert (told.topic, told.payload["sequence"]) == ("approval.attempt_begun", None)


# -- rows that are not locked


@pytest.mark.django_db
def test_a_row_that_was_merely_read_is_not_moved(operation):
    with nothing_written(), pytest.raises(RowNotLockedError):
        commit_transition(operation, _O.SUBMITTED, WHY, now=NOW)


@real_transactions
def test_outside_a_transaction_nothing_is_written(operation):
    with nothing_written():
        for write in (
            lambda: commit_transition(operation, _O.SUBMITTED, WHY, now=NOW),
            lambda: create_with_event(RefundOperation(pk="rfop_new"), WHY, now=NOW),
        ):
            with pytest.raises(RowNotLockedError):
                write()


@real_transactions
def test_a_lock_ends_with_its_transaction(operation):
    with transaction.atomic():
        locked = lock_row(RefundOperation, operation.pk)
    with nothing_written(), pytest.raises(RowNotLockedError), transaction.atomic():
        commit_transition(locked, _O.SUBMITTED, WHY, now=NOW)


# -- refused jumps


@pytest.mark.django_db
def test_an_illegal_jump_writes_nothing_and_is_kept_as_audit_evidence_only(operation):
    with nothing_written(), pytest.raises(TransitionRefusedError) as refused, transaction.atomic():
        commit_transition(lock_row(RefundOperation, operation.pk), _O.COMPLETED, WHY, now=NOW)
    error = refused.value
    assert (error.row_id, error.topic, error.from_state, error.to_state, error.why) == (
        operation.pk,
        "refund_operation",
        "CREATED",
        "COMPLETED",
        WHY,
    )
    events = RefundOperationEvent.objects.count()
    record_refusal(error, now=NOW)
    assert RefundOperationEvent.objects.count() == events
    kept = AuditOutbox.objects.latest("pk")
    assert (kept.topic, kept.subject, kept.at) == ("refund_operation.transition_refused", operation.pk, NOW)
    assert kept.payload == {
        "from": "CREATED",
        "to": "COMPLETED",
        "stage": "SUBMIT_REFUND",
        "actor": {"type": "STAFF", "id": "user:7"},
        "reason": "ATTEMPT_BEGUN",
        "policy_version": "REF-DUP v7",
        "metadata": {"gateway_attempt_id": "gwat_1"},
    }


@pytest.mark.django_db
@pytest.mark.parametrize("state", [_O.CREATED, _O.STATUS_UNKNOWN, _O.COMPLETED])
def test_no_state_follows_itself(state):
    operation = operation_in_state(state)
    with nothing_written(), pytest.raises(TransitionRefusedError):
        move(operation, state)


# -- rollbacks


def undo(operation):
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        locked = lock_row(RefundOperation, operation.pk)
        commit_transition(locked, _O.SUBMITTED, WHY, now=NOW)
        raise ZeroDivisionError
    return locked


class Log(list):
    """Keeps the topic and the subject of each line."""

    def info(self, topic, **fields):
        self.append((topic, fields["subject"]))


@real_transactions
def test_a_rollback_leaves_no_state_no_event_no_outbox_row_and_no_log_line(operation, monkeypatch):
    lines = Log()
    monkeypatch.setattr(transitions, "logger", lines)
    with nothing_written():
        undo(operation)
    assert lines == []
    move(operation)
    assert lines == [("refund_operation.submitted", operation.pk)]


@pytest.mark.failure("F069")
@real_transactions
def test_the_object_of_a_rolled_back_transaction_cannot_be_moved_on(operation):
    left_over = undo(operation)
    assert left_over.state == "SUBMITTED"
    with nothing_written(), pytest.raises(RowNotLockedError), transaction.atomic():
        commit_transition(left_over, _O.STATUS_UNKNOWN, WHY, now=NOW)


def table_is_full(table):
    """Let every write to one table fail, until the test's transaction is rolled back."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        cursor.execute(
            "CREATE FUNCTION pg_temp.full() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'the disk is full'; END $$"
        )
        cursor.execute(
            f"CREATE TRIGGER full_table BEFORE INSERT OR UPDATE ON {table}"
            " FOR EACH ROW EXECUTE FUNCTION pg_temp.full()"
        )


@pytest.mark.failure("F075")
@pytest.mark.failure("F134")
@pytest.mark.django_db
@pytest.mark.parametrize("broken", [RefundOperation, RefundOperationEvent, AuditOutbox])
def test_state_and_evidence_are_stored_together_or_not_at_all(
    operation, broken, django_capture_on_commit_callbacks
):
    table_is_full(broken._meta.db_table)
    with (
        django_capture_on_commit_callbacks() as after_commit,
        nothing_written(),
        pytest.raises(DatabaseError, match="disk"),
    ):
        move(operation)
    assert after_commit == []
