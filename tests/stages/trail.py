"""What a change of state must leave behind, and that a refusal leaves nothing."""

from contextlib import contextmanager

from django.apps import apps

from ledger.models import AuditOutbox
from refunds.models import RefundOperation

APPS = {"refunds", "approvals", "notifications", "policies", "ledger"}


def ids_of(row):
    """Return the ids by which a row's events are found again."""
    if row.topic == "refund_operation":
        return {"workflow_id": row.workflow_id, "refund_operation_id": row.pk}
    if row.topic == "knowledge_document":
        return {"knowledge_document_id": row.pk}
    return (
        {"workflow_id": row.pk}
        if row.topic == "refund_workflow"
        else {"approval_id": row.pk, "workflow_id": row.subject_id}
    )


def trail(row):
    """Return the transition events of a row, oldest first.

    Checked on the way: the events follow each other without a gap, the last one is the stored state, and every
    event has exactly one outbox row that tells the same.
    """
    stored = type(row).objects.get(pk=row.pk)
    events = list(stored.events.filter(kind="TRANSITION").order_by("state_sequence"))
    assert [event.state_sequence for event in events] == list(range(1, stored.state_sequence + 1))
    assert [event.from_state for event in events] == ["", *(event.to_state for event in events[:-1])]
    assert events[-1].to_state == stored.state
    for event in events:
        told = AuditOutbox.objects.get(subject=row.pk, payload__sequence=event.state_sequence)
        assert told.topic == f"{row.topic}.{event.to_state.lower()}"
        assert told.at == event.at
        assert told.payload == {
            "timestamp": event.at.isoformat(),
            "trace_id": event.trace_id,
            "subject": row.pk,
            **ids_of(stored),
            "sequence": event.state_sequence,
            "transition": {"from": event.from_state, "to": event.to_state},
            "stage": event.stage,
            "actor": {"type": event.actor_type, "id": event.actor_id},
            "reason": event.reason,
            "policy_version": event.policy_version,
            "metadata": event.evidence,
            "system_version": event.system_version,
        }
    return events


def path(row):
    """Return the states that a row went through, checked as ``trail`` does."""
    return [event.to_state for event in trail(row)]


def last_move(row):
    """Return a row's newest event, checked as ``trail`` does."""
    return trail(row)[-1]


def both(operation):
    """Return an operation and its workflow as they are stored now."""
    stored = RefundOperation.objects.select_related("workflow").get(pk=operation.pk)
    return stored, stored.workflow


@contextmanager
def nothing_written():
    """Fail if a row of the product's tables was added, changed or removed."""
    before = _rows()
    yield
    after = _rows()
    touched = {model.__name__ for model in after if after[model] != before[model]}
    assert not touched, f"rows were written: {sorted(touched)}"


def _rows():
    models = [model for model in apps.get_models() if model._meta.app_label in APPS]
    return {model: list(model._default_manager.order_by("pk").values()) for model in models}
