"""The scoreboard's questions, asked of good data and of rows that the database itself would never have let in."""

import pytest
from django.db import connection

from ledger.models import AuditOutbox, LedgerEntry, Payment
from ledger.snapshot import EntryKind
from notifications.models import Notification
from policies.states import DocumentState
from refunds.evidence.invariants import check_invariants
from refunds.models import RefundOperation, RefundWorkflow
from refunds.selectors.invariant_checks import CHECKS
from refunds.selectors.scoreboard import ask_invariants
from refunds.states import OperationState, WorkflowState
from tests.casework.staff import charge_of, start
from tests.factories import (
    NOW,
    add_attempt,
    latest_approval,
    make_entry,
    make_house_text,
    make_merchant,
    make_policy,
    make_staff,
    move_operation,
    operation_in_state,
    workflow_in_state,
)

pytestmark = pytest.mark.django_db


def as_owner(*statements):
    """Run statements as the tables' owner, with their triggers out of the way."""
    tables = {statement.split("@")[1].split()[0] for statement in statements}
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for table in tables:
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        for statement in statements:
            cursor.execute(statement.replace("@", ""))
        for table in tables:
            cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")


def broken():
    return {result.check.name: result.rows for result in ask_invariants() if not result.holds}


def completed():
    """A refund as the product leaves it: with its ledger entry."""
    operation = operation_in_state(OperationState.COMPLETED)
    make_entry(
        payment=operation.payment, kind=EntryKind.REFUND, amount_minor_units=operation.amount_minor_units,
        processor_reference=operation.processor_reference, currency=operation.currency,
    )  # fmt: skip
    return operation


def test_good_data_of_every_state_breaks_nothing():
    for state in WorkflowState:
        if state is not WorkflowState.COMPLETED:  # the factory books no entry; see below
            workflow_in_state(state)
    for state in OperationState:
        if state is not OperationState.COMPLETED:
            operation_in_state(state)
    completed()
    merchant = make_merchant()
    make_policy(merchant=merchant)
    start(charge_of(merchant), make_staff(merchant=merchant))
    for state in DocumentState:
        make_house_text(state=state)
    assert broken() == {}


def too_much(operation):
    as_owner(f"UPDATE @refund_operations SET amount_minor_units = 5000 WHERE id = '{operation.pk}'")
    return {"RESERVED_ABOVE_CAPTURED": operation.payment_id}


def refunded_as_well(operation):
    make_entry(payment=operation.payment, kind=EntryKind.REFUND, amount_minor_units=1, currency="USD")
    Payment.objects.update(frozen_at=None)  # the fact itself had frozen it
    return {"NEGATIVE_REMAINING": operation.payment_id}


def claimed_twice(operation):
    other = operation_in_state(OperationState.SUBMITTED)
    as_owner(
        f"UPDATE @refund_operations SET processor_reference = 're_1' WHERE id IN ('{operation.pk}', '{other.pk}')"
    )
    return {"REFUND_CLAIMED_TWICE": min(operation.pk, other.pk)}


def moved_to(operation, other):
    as_owner(f"UPDATE @refund_operations SET workflow_id = '{other}' WHERE id = '{operation.pk}'")


def two_stand(operation):
    other = operation_in_state(OperationState.CREATED)
    moved_to(operation, other.workflow_id)
    return {"TWO_OPERATIONS_STAND": other.workflow_id}


def sent_but_created(operation):
    add_attempt(operation)
    return {"SENT_WITHOUT_TRACE": operation.pk}


def another_key(operation):
    attempt = add_attempt(operation)
    as_owner(f"UPDATE @gateway_attempts SET idempotency_key = 'refund:x' WHERE id = '{attempt.pk}'")
    return {"KEY_OR_BODY_CHANGED": operation.pk}


def no_event(table, events, subject):
    def breaks(operation):
        pk = {
            "refund_workflows": operation.workflow_id,
            "refund_operations": operation.pk,
            "approval_requests": operation.approval_id,
        }[table]
        as_owner(
            f"UPDATE @{events} SET to_state = 'REJECTED' WHERE {subject} = '{pk}' AND state_sequence = 1"
        )
        name = {"refund_workflows": "WORKFLOW", "refund_operations": "OPERATION"}.get(table, "APPROVAL")
        return {f"{name}_HISTORY_BROKEN": pk}

    return breaks


def sent_again(operation):
    add_attempt(operation)
    add_attempt(operation)
    return {"SENT_AGAIN_UNPROVEN": operation.pk}


def unbooked(operation):
    done = completed()
    entry = LedgerEntry.objects.get(processor_reference=done.processor_reference)
    as_owner(f"UPDATE @ledger_entries SET processor_reference = 're_else' WHERE id = {entry.pk}")
    return {"COMPLETED_UNBOOKED": done.pk}


def message_twice(operation):
    owed = Notification.objects.create(
        logical_event_id="refund.completed:1", customer=operation.workflow.customer,
        subject_id=operation.workflow_id, facts={}, created_at=NOW,
    )  # fmt: skip
    for number in (1, 2):
        owed.attempts.create(number=number, channel="email", outcome="DELIVERED", message_id="1", at=NOW)
    return {"MESSAGE_REPEATED": owed.pk}


def another_command(operation):
    as_owner(f"UPDATE @refund_operations SET amount_minor_units = 1 WHERE id = '{operation.pk}'")
    return {"COMMAND_CHANGED": operation.pk}


def unapproved(operation):
    as_owner(f"UPDATE @refund_operations SET approval_id = 'apr_none' WHERE id = '{operation.pk}'")
    return {"OPERATION_UNAPPROVED": operation.pk}


def other_fingerprint(operation):
    as_owner(f"UPDATE @refund_operations SET request_fingerprint = 'f' WHERE id = '{operation.pk}'")
    return {"OPERATION_UNAPPROVED": operation.pk}


def own_vote(operation):
    pk, maker = operation.approval_id, f"user:{operation.workflow.customer.user_id}"
    as_owner(
        f"UPDATE @approval_events SET voter_id = '{maker}' WHERE approval_id = '{pk}' AND state_sequence = 1"
    )
    return {"MAKER_APPROVED": pk}


def given_up_alone(operation):
    doubted = operation_in_state(OperationState.MANUAL_REVIEW)
    move_operation(doubted, OperationState.CANCELLED)
    return {"GIVEN_UP_BY_ONE": doubted.pk}


def too_few(operation):
    as_owner(
        f"UPDATE @approval_requests SET rule = '', approvals_needed = 2 WHERE id = '{operation.approval_id}'"
    )
    return {"TOO_FEW_APPROVED": operation.approval_id}


def nobodys(operation):
    workflow = workflow_in_state(WorkflowState.MANUAL_REVIEW)
    as_owner(f"DELETE FROM @review_cases WHERE subject_id = '{workflow.pk}'")
    return {"NOBODY_OWNS_IT": workflow.pk}


def slot_kept(operation):
    workflow = workflow_in_state(WorkflowState.NO_REFUND_DUE)
    as_owner(f"UPDATE @refund_workflows SET open_slot = 'x' WHERE id = '{workflow.pk}'")
    return {"SLOT_KEPT": workflow.pk}


def text_of_its_uploader(operation):
    text = make_house_text()
    as_owner(f"UPDATE @knowledge_documents SET uploaded_by = 'user:0' WHERE id = '{text.pk}'")
    return {"TEXT_UNAPPROVED": text.pk}


def text_of_other_words(operation):
    text = make_house_text()
    as_owner(f"UPDATE @knowledge_documents SET content_sha256 = '0' WHERE id = '{text.pk}'")
    return {"TEXT_UNAPPROVED": text.pk}


def text_without_history(operation):
    text = make_house_text()
    as_owner(
        f"UPDATE @knowledge_document_events SET to_state = 'REJECTED'"
        f" WHERE document_id = '{text.pk}' AND state_sequence = 1"
    )
    return {"TEXT_HISTORY_BROKEN": text.pk}


BREAKS = [
    too_much, refunded_as_well, claimed_twice, two_stand, sent_but_created, another_key, sent_again, unbooked,
    message_twice, another_command, unapproved, other_fingerprint, own_vote,
    given_up_alone, too_few, nobodys, slot_kept, text_of_its_uploader, text_of_other_words, text_without_history,
    no_event("refund_workflows", "refund_workflow_events", "workflow_id"),
    no_event("refund_operations", "refund_operation_events", "operation_id"),
    no_event("approval_requests", "approval_events", "approval_id"),
]  # fmt: skip


@pytest.mark.failure("F050")
@pytest.mark.parametrize("breaks", BREAKS)
def test_every_question_finds_what_breaks_it(breaks):
    operation = operation_in_state(OperationState.CREATED)
    assert broken() == {}
    ((name, row),) = breaks(operation).items()
    assert str(row) in broken()[name]


def test_every_question_is_tested():
    wanted = {check.name for check in CHECKS}
    tried = set()
    for breaks in BREAKS:
        tried |= set(breaks(operation_in_state(OperationState.CREATED)))
    assert tried == wanted


@pytest.mark.failure("F050")
def test_a_violation_is_evidence_once_and_an_error_each_time(caplog):
    operation = operation_in_state(OperationState.CREATED)
    assert all(result.holds for result in check_invariants(now=NOW))
    assert not AuditOutbox.objects.filter(topic="invariant.violated").exists()
    add_attempt(operation)
    for _ in range(2):
        found = {r.check.name: r.rows for r in check_invariants(now=NOW) if not r.holds}
        assert found == {"SENT_WITHOUT_TRACE": (operation.pk,)}
    event = AuditOutbox.objects.get(topic="invariant.violated")
    assert event.subject == operation.pk
    assert event.payload == {"check": "SENT_WITHOUT_TRACE", "invariant": "I2"}
    assert [r.levelname for r in caplog.records if "invariant.violated" in r.getMessage()] == ["ERROR"] * 2


def test_what_is_found_is_capped(monkeypatch):
    monkeypatch.setattr("refunds.selectors.scoreboard.CAP", 1)
    operations = [operation_in_state(OperationState.CREATED) for _ in range(2)]
    for operation in operations:
        add_attempt(operation)
    (result,) = [r for r in ask_invariants() if not r.holds]
    assert (result.rows, result.capped) == ((min(o.pk for o in operations),), True)
    assert RefundOperation.objects.count() == RefundWorkflow.objects.count() == 2
    assert latest_approval(operations[0].workflow).state == "CONSUMED"
