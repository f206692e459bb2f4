"""Every pair of states: a legal jump is taken by the one writer, and PostgreSQL refuses every other."""

import pytest
from django.db import IntegrityError, connection, transaction

from approvals.models import ApprovalEvent, ApprovalRequest
from approvals.states import APPROVAL_TABLE, ApprovalState
from ledger.models import AuditOutbox
from ledger.transitions import TransitionRefusedError, commit_transition, lock_row
from policies.models import KnowledgeDocument, KnowledgeDocumentEvent
from policies.states import DOCUMENT_TABLE
from refunds.models import (
    RefundOperation,
    RefundOperationEvent,
    RefundWorkflow,
    RefundWorkflowEvent,
)
from refunds.states import OPERATION_TABLE, WORKFLOW_TABLE, OperationState, WorkflowState
from tests.factories import NOW, latest_approval, operation_in_state, workflow_in_state
from tests.factories.commands import WHY
from tests.factories.house_texts import approved_but_still

pytestmark = pytest.mark.django_db


def approval_in_state(state):
    if state in {ApprovalState.PENDING, ApprovalState.REJECTED}:
        workflow = workflow_in_state(WorkflowState.REQUIRES_HUMAN_APPROVAL)
    elif state is ApprovalState.CONSUMED:
        workflow = workflow_in_state(WorkflowState.EXECUTING)
    else:
        workflow = workflow_in_state(WorkflowState.APPROVED)
    approval = latest_approval(workflow)
    if approval.state != state:
        with transaction.atomic():
            commit_transition(lock_row(ApprovalRequest, approval.pk), state, WHY, now=NOW)
    return ApprovalRequest.objects.get(pk=approval.pk)


KINDS = {
    "workflow": (WORKFLOW_TABLE, RefundWorkflow, RefundWorkflowEvent, "workflow", workflow_in_state),
    "operation": (OPERATION_TABLE, RefundOperation, RefundOperationEvent, "operation", operation_in_state),
    "approval": (APPROVAL_TABLE, ApprovalRequest, ApprovalEvent, "approval", approval_in_state),
    "document": (DOCUMENT_TABLE, KnowledgeDocument, KnowledgeDocumentEvent, "document", approved_but_still),
}
SOURCES = [
    pytest.param(kind, state, id=f"{kind}-{state}") for kind, row in KINDS.items() for state in row[0].states
]


class RollBackError(Exception):
    pass


def changes_for(model, target, *, legal=True):
    """Columns that the database wants beside the state."""
    if model is RefundOperation and target == OperationState.COMPLETED:
        return {"processor_reference": "re_matrix"}
    if model is ApprovalRequest and target == ApprovalState.GRANTED and legal:
        return {"expires_at": NOW}
    return {}


@pytest.mark.failure("F072")
@pytest.mark.parametrize(("kind", "source"), SOURCES)
def test_every_pair_is_taken_or_refused(kind, source):
    table, model, events, subject, make = KINDS[kind]
    row = make(source)
    assert row.state == source
    for target in table.states:
        if table.allows(source, target):
            take(model, events, subject, row, target)
            refuse_without_event(model, row, target)
        elif target != source:
            refuse_by_writer(model, events, subject, row, target)
            refuse_by_database(model, row, target)


def take(model, events, subject, row, target):
    with pytest.raises(RollBackError), transaction.atomic():
        locked = lock_row(model, row.pk)
        event = commit_transition(locked, target, WHY, now=NOW, **changes_for(model, target))
        check_deferred_triggers()
        stored = model.objects.get(pk=row.pk)
        assert (stored.state, stored.state_sequence) == (target, row.state_sequence + 1)
        newest = events.objects.filter(**{subject: row.pk, "kind": "TRANSITION"}).latest("state_sequence")
        assert newest == event
        assert (newest.from_state, newest.to_state) == (row.state, target)
        assert AuditOutbox.objects.filter(subject=row.pk).latest("pk").payload["transition"] == {
            "from": row.state,
            "to": target,
        }
        raise RollBackError


def refuse_by_writer(model, events, subject, row, target):
    before = events.objects.filter(**{subject: row.pk}).count()
    with pytest.raises(TransitionRefusedError), transaction.atomic():
        commit_transition(lock_row(model, row.pk), target, WHY, now=NOW)
    assert events.objects.filter(**{subject: row.pk}).count() == before
    assert model.objects.get(pk=row.pk).state == row.state


def refuse_by_database(model, row, target):
    with pytest.raises(IntegrityError, match="may not go from"), transaction.atomic():
        raw_jump(model, row, target, legal=False)


def refuse_without_event(model, row, target):
    with pytest.raises(IntegrityError, match="has no event"), transaction.atomic():
        raw_jump(model, row, target)
        check_deferred_triggers()


def raw_jump(model, row, target, *, legal=True):
    columns = {
        "state": target,
        "state_sequence": row.state_sequence + 1,
        **changes_for(model, target, legal=legal),
    }
    assignments = ", ".join(f"{name} = %s" for name in columns)
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {model._meta.db_table} SET {assignments} WHERE id = %s", [*columns.values(), row.pk]
        )


def check_deferred_triggers():
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
