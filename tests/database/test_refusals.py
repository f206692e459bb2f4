"""What PostgreSQL refuses by itself, asked in raw SQL as somebody who goes round the code would."""

from itertools import pairwise

import pytest
from django.apps import apps
from django.db import IntegrityError, InternalError, ProgrammingError, connection, transaction

from ledger.models import AppendOnlyModel, AuditOutbox, AuditPublication, StatefulModel
from ledger.models.append_only import AppendOnlyError
from ledger.relay import relay_audit_events
from refunds.models import (
    GatewayAttempt,
    GatewayResponse,
    RefundOperation,
    RefundOperationEvent,
    RefundWorkflow,
)
from refunds.states import OperationState, WorkflowState
from tests.factories import (
    NOW,
    add_attempt,
    add_check,
    make_house_text,
    make_reading,
    operation_in_state,
    workflow_in_state,
)

pytestmark = pytest.mark.django_db
REFUSED = (IntegrityError, InternalError, ProgrammingError)


def sql(statement, *params):
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return cursor.rowcount


def refused(statement, *params, match=None):
    with pytest.raises(REFUSED, match=match), transaction.atomic():
        sql(statement, *params)
        sql("SET CONSTRAINTS ALL IMMEDIATE")


class Sink:
    def write(self, events):
        pass


@pytest.fixture
def finished():
    """One completed refund with a row in every append-only table of its story."""
    operation = operation_in_state(OperationState.COMPLETED)
    add_check(operation)
    make_reading(operation.workflow)
    make_house_text(merchant=operation.merchant)
    relay_audit_events(now=NOW, limit=1000, sink=Sink())
    return operation


def append_only_models():
    return [m for m in apps.get_models() if issubclass(m, AppendOnlyModel)]


@pytest.mark.failure("F070")
def test_rows_of_every_append_only_table_refuse_update_and_delete(finished):
    tables = {m._meta.db_table for m in append_only_models()}
    assert tables >= {
        "refund_workflow_events", "refund_operation_events", "approval_events", "gateway_attempts",
        "gateway_responses", "reconciliation_checks", "audit_outbox", "audit_publications", "proposals",
        "rule_results", "customer_messages", "policy_versions", "notification_attempts",
        "message_readings", "knowledge_document_events",
    }  # fmt: skip
    touched = 0
    for model in append_only_models():
        table, pk = model._meta.db_table, model._meta.pk.column
        if not model._default_manager.exists():
            continue
        refused(f"UPDATE {table} SET {pk} = {pk}", match="Cannot update")
        refused(f"DELETE FROM {table}", match="Cannot update or delete")
        touched += 1
    assert touched >= 14


def test_every_append_only_and_state_table_has_its_triggers():
    """A subclass whose Meta forgets its base's triggers shows here."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname, count(*) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
            " WHERE NOT t.tgisinternal GROUP BY 1"
        )
        counts = dict(cursor.fetchall())
    for model in append_only_models():
        is_event = hasattr(model, "subject_field")
        assert counts.get(model._meta.db_table) == (3 if is_event else 1), model
    expected = {
        "refund_workflows": 9,
        "refund_operations": 10,
        "approval_requests": 7,
        "knowledge_documents": 7,
    }
    states = {m._meta.db_table for m in apps.get_models() if issubclass(m, StatefulModel)}
    assert states == set(expected)
    assert {table: counts[table] for table in states} == expected


def test_django_refuses_to_change_append_only_rows(finished):
    event = RefundOperationEvent.objects.first()
    for change in (
        event.save,
        event.delete,
        lambda: RefundOperationEvent.objects.update(reason="X"),
        lambda: RefundOperationEvent.objects.all().delete(),
        lambda: RefundOperationEvent.objects.bulk_update([event], ["reason"]),
    ):
        with pytest.raises(AppendOnlyError):
            change()


def test_a_state_row_without_its_first_event_is_refused(finished):
    refused(
        "INSERT INTO refund_workflows (id, reference, origin, merchant_id, customer_id, order_id, problem,"
        " client_token, state, state_sequence, person_required, policy_version, snapshot_sha256, finding,"
        " reason_code, finding_evidence, currency, command_number, repeat_contacts, maker_id, source_failures,"
        " created_at, updated_at)"
        " SELECT 'wf_x', 'RF-X', origin, merchant_id, customer_id, order_id, problem, '', 'EVIDENCE_PENDING', 1,"
        " false, '', '', '', '', '[]', '', 0, 0, '', 0, now(), now() FROM refund_workflows",
        match="has no event",
    )


def test_a_state_row_that_does_not_begin_at_the_beginning_is_refused():
    operation = operation_in_state(OperationState.CANCELLED)
    later = SECOND_OPERATION.replace("'CREATED', 1,", "'SUBMITTED', 1,")
    refused(later, operation.pk, match="must begin as CREATED")


def test_an_event_that_did_not_happen_is_refused(finished):
    refused(
        "INSERT INTO refund_operation_events (operation_id, kind, state_sequence, from_state, to_state, stage,"
        " actor_type, actor_id, reason, evidence, policy_version, system_version, trace_id, at)"
        " VALUES (%s, 'TRANSITION', 4, 'COMPLETED', 'FAILED', 'X', 'X', 'X', '', '{}', '', 'X', '', now())",
        finished.pk,
        match="did not happen",
    )


def test_an_event_that_does_not_continue_the_chain_is_refused(finished):
    refused(
        "INSERT INTO refund_operation_events (operation_id, kind, state_sequence, from_state, to_state, stage,"
        " actor_type, actor_id, reason, evidence, policy_version, system_version, trace_id, at)"
        " VALUES (%s, 'TRANSITION', 4, 'CREATED', 'FAILED', 'X', 'X', 'X', '', '{}', '', 'X', '', now())",
        finished.pk,
        match="does not continue",
    )


def test_a_sequence_raised_without_a_transition_is_refused(finished):
    refused("UPDATE refund_operations SET state_sequence = state_sequence + 1", match="without a transition")


@pytest.mark.failure("F016")
@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("request_fingerprint", "'0'"),
        ("idempotency_key", "'refund:other'"),
        ("amount_minor_units", "amount_minor_units + 1"),
        ("currency", "'EUR'"),
        ("payment_reference", "'ch_other'"),
        ("payment_id", "payment_id + 1"),
        ("merchant_id", "merchant_id + 1"),
        ("account", "'acct_other'"),
        ("workflow_id", "'wf_other'"),
        ("approval_id", "'apr_other'"),
        ("policy_id", "policy_id + 1"),
        ("policy_version", "'other'"),
    ],
)
def test_the_instruction_of_an_operation_never_changes(finished, column, value):
    refused(f"UPDATE refund_operations SET {column} = {value}", match="Cannot update")


@pytest.mark.failure("F008")
@pytest.mark.parametrize(
    "table",
    ["refund_operations", "refund_workflows", "approval_requests", "ledger_entries", "knowledge_documents"],
)
def test_state_rows_cannot_be_deleted(finished, table):
    refused(f"DELETE FROM {table}", match="Cannot delete")


@pytest.mark.parametrize(
    "column", ["command", "request_fingerprint", "maker_id", "approvals_needed", "rule", "valid_for_hours"]
)
def test_what_an_approval_is_about_never_changes(finished, column):
    value = {"command": "'{}'", "approvals_needed": "7", "valid_for_hours": "7"}.get(column, "'other'")
    refused(f"UPDATE approval_requests SET {column} = {value}", match="Cannot update")


@pytest.mark.failure("F098")
@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("merchant_id", "merchant_id + 1"),
        ("title", "'other'"),
        ("body", "'other'"),
        ("language", "'de'"),
        ("metadata", "'{}'"),
        ("content_sha256", "'0'"),
        ("uploaded_by", "'user:0'"),
        ("created_at", "now()"),
    ],
)
def test_what_a_house_text_says_and_whose_it_is_never_changes(column, value):
    make_house_text(metadata='{"source": "handbook"}')
    refused(f"UPDATE knowledge_documents SET {column} = {value}", match="Cannot update")


@pytest.mark.parametrize(
    ("column", "value"), [("body", "repeat('x', 4001)"), ("body", "''"), ("uploaded_by", "''")]
)
def test_a_house_text_has_a_bounded_body_and_an_uploader(column, value):
    make_house_text()
    columns = {
        "id": "'kd_x'", "merchant_id": "merchant_id", "title": "title", "body": "body", "language": "language",
        "metadata": "metadata", "content_sha256": "'0'", "uploaded_by": "uploaded_by", "state": "'UPLOADED'",
        "state_sequence": "1", "created_at": "created_at", "updated_at": "updated_at",
    } | {column: value}  # fmt: skip
    refused(
        f"INSERT INTO knowledge_documents ({', '.join(columns)})"
        f" SELECT {', '.join(columns.values())} FROM knowledge_documents",
        match="knowledge_text_bounded",
    )


SECOND_OPERATION = (
    "INSERT INTO refund_operations (id, workflow_id, approval_id, merchant_id, account, payment_id,"
    " payment_reference, amount_minor_units, currency, reason_code, idempotency_key, request_fingerprint,"
    " policy_version, policy_id, state, state_sequence, checks_made, created_at, updated_at)"
    # The order's other charge, of which nothing is refunded: another guard refuses a second one on the same charge.
    " SELECT 'rfop_second', workflow_id, 'apr_second', merchant_id, account,"
    " (SELECT kept_payment_id FROM refund_workflows w WHERE w.id = workflow_id), payment_reference,"
    " amount_minor_units, currency, reason_code, 'refund:rfop_second', 'second', policy_version, policy_id,"
    " 'CREATED', 1, 0, now(), now() FROM refund_operations WHERE id = %s"
)


@pytest.mark.failure("F109")
@pytest.mark.parametrize("state", list(OperationState))
def test_a_second_operation_stands_only_beside_abandoned_ones(state):
    operation = operation_in_state(state)
    if state in {OperationState.REJECTED, OperationState.FAILED, OperationState.CANCELLED}:
        with transaction.atomic():
            assert sql(SECOND_OPERATION, operation.pk) == 1
            transaction.set_rollback(True)
    else:
        with pytest.raises(REFUSED, match="not abandoned"), transaction.atomic():
            sql(SECOND_OPERATION, operation.pk)


@pytest.mark.failure("F043")
@pytest.mark.parametrize("amount", [0, -500])
def test_an_amount_that_is_not_positive_is_refused(amount):
    operation = operation_in_state(OperationState.CANCELLED)
    refused(SECOND_OPERATION.replace(" amount_minor_units, currency, reason_code, 'ref", f" {amount}, currency, reason_code, 'ref"),
            operation.pk, match="operation_amount_positive")  # fmt: skip


def test_completed_without_a_processor_reference_is_refused():
    operation = operation_in_state(OperationState.SUBMITTED)
    refused(
        "UPDATE refund_operations SET state = 'COMPLETED', state_sequence = state_sequence + 1 WHERE id = %s",
        operation.pk,
        match="operation_completed_has_reference",
    )


@pytest.mark.failure("F106")
def test_an_expiry_is_set_by_the_grant_and_never_later(finished):
    refused(
        "UPDATE approval_requests SET expires_at = now() + interval '9 years'", match="when it was granted"
    )


def test_a_known_reference_of_the_provider_never_changes(finished):
    refused("UPDATE refund_operations SET processor_reference = 're_other'", match="once known")


def test_a_person_that_is_required_stays_required():
    workflow = workflow_in_state(WorkflowState.MANUAL_REVIEW)
    sql("UPDATE refund_workflows SET person_required = true WHERE id = %s", workflow.pk)
    refused("UPDATE refund_workflows SET person_required = false", match="needs a person")


@pytest.mark.parametrize(
    "change",
    ["amount_minor_units = 1", "refund_payment_id = kept_payment_id", "finding = 'X'", "policy_id = 9"],
)
def test_what_is_established_changes_only_by_establishing_it(finished, change):
    refused(f"UPDATE refund_workflows SET {change}", match="only by establishing it")


@pytest.mark.parametrize(
    "change", ["amount_minor_units = 1", "currency = 'EUR'", "payment_id = payment_id + 1"]
)
def test_the_amount_of_a_ledger_entry_never_changes(finished, change):
    refused(f"UPDATE ledger_entries SET {change}", match="Cannot update")


def test_one_open_request_per_order():
    first = workflow_in_state(WorkflowState.EVIDENCE_PENDING)
    second = workflow_in_state(WorkflowState.EVIDENCE_PENDING)
    refused(
        "UPDATE refund_workflows SET open_slot = %s WHERE id = %s",
        first.open_slot,
        second.pk,
        match="open_slot",
    )


def test_an_attempt_keeps_one_response(finished):
    attempt = GatewayAttempt.objects.get(operation=finished)
    assert GatewayResponse.objects.filter(attempt=attempt).count() == 1
    with pytest.raises(IntegrityError), transaction.atomic():
        GatewayResponse.objects.create(attempt=attempt, answer_class="UNKNOWN", received_at=NOW)


def test_attempt_numbers_are_taken_once(finished):
    add_attempt(finished)
    refused(
        "INSERT INTO gateway_attempts SELECT 'gwa_x', number, provider, api_version, account, idempotency_key,"
        " request_fingerprint, request_body_sha256, system_version, trace_id, started_at, operation_id"
        " FROM gateway_attempts WHERE number = 2",
        match="attempt_number_once",
    )


def test_the_audit_chain_links_every_publication(finished):
    links = list(AuditPublication.objects.order_by("sequence"))
    assert [link.sequence for link in links] == list(range(1, len(links) + 1))
    assert len(links) == AuditOutbox.objects.count()
    assert all(after.prev_hash == before.hash for before, after in pairwise(links))
    assert RefundOperation.objects.count() == RefundWorkflow.objects.count() == 1
