"""The one writer: the only code that changes a state, for every app.

One transition is one UPDATE of the locked row (``state``, ``state_sequence`` + 1, and what the caller set), one
event row and one audit-outbox row: one statement, in the transaction that the caller holds open. A row is created by
``create_with_event``, which writes its first event.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

import structlog
from django.conf import settings
from django.db import connection, models, transaction

from ledger.actors import Actor
from ledger.models import AuditOutbox, EventKind, EventModel, StatefulModel
from ledger.one_statement import Write, insertion, run, update
from ledger.outbox import append_audit_event, new_audit_event
from ledger.tracing import current_trace_id

Row = TypeVar("Row", bound=StatefulModel)
logger = structlog.get_logger("transitions")


class TransitionRefusedError(Exception):
    """If you see this, another worker moved the row first, or the jump is not in the state table.

    Nothing was written by the refused transition. ``record_refusal`` keeps the attempt as audit evidence once the
    surrounding transaction has been rolled back.
    """

    def __init__(self, *, row_id: str, topic: str, from_state: str, to_state: str, why: "Why") -> None:
        super().__init__(f"{topic} {row_id} may not go from {from_state} to {to_state}")
        self.row_id, self.topic, self.from_state, self.to_state, self.why = (
            row_id,
            topic,
            from_state,
            to_state,
            why,
        )


class RowNotLockedError(RuntimeError):
    """If you see this, a transition was asked of a row that this transaction did not lock with ``lock_row``."""


@dataclass(frozen=True, slots=True)
class Why:
    """Who moves a row, at which stage, on which evidence. ``evidence`` holds ids, codes and digests only."""

    actor: Actor
    stage: str
    reason: str = ""
    policy_version: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)


def lock_row(model: type[Row], pk: Any, *, parties: Sequence[str] = ()) -> Row:
    """Return the row as it is now, locked until the transaction ends. Raises ``DoesNotExist``.

    FOR NO KEY UPDATE, so that inserts which merely refer to the row (a webhook) are not held up. ``parties`` are
    read along, unlocked: foreign keys that are never null and never change.
    """
    locking = model._default_manager.select_for_update(of=("self",), no_key=True)  # noqa: SLF001
    row: Row = (locking.select_related(*parties) if parties else locking).get(pk=pk)
    row.__dict__["_locked_in"] = _open_transaction()
    return row


def commit_transition(row: Row, to: str, why: Why, *, now: datetime, **changes: Any) -> EventModel:
    """Move a locked row to state ``to``, set ``changes`` on it, and append its event and audit event.

    Raises ``TransitionRefusedError`` when the state table has no such jump, ``RowNotLockedError`` without a lock.
    """
    if row.__dict__.get("_locked_in") is not _open_transaction():
        raise RowNotLockedError(f"{row.topic} {row.pk}: lock_row it in this transaction first.")
    from_state = str(row.state)
    move = _move_to(row, to)
    if move is None:
        raise TransitionRefusedError(
            row_id=str(row.pk), topic=row.topic, from_state=from_state, to_state=to, why=why
        )
    move()
    row.state_sequence += 1
    for name, value in changes.items():
        setattr(row, name, value)
    moved = ["state", "state_sequence", *changes, *_touched(row, now)]
    return _write(update(row, moved, state=from_state), row, _event(row, from_state, why, now))


def create_with_event(row: StatefulModel, why: Why, *, now: datetime) -> EventModel:
    """Insert a new row in its initial state together with its first event; return the event."""
    _open_transaction()
    _touched(row, now)
    event = _write(insertion(row), row, _event(row, "", why, now))
    row._state.adding, row._state.db = False, connection.alias  # noqa: SLF001 - Django's public model state
    row.__dict__["_locked_in"] = _open_transaction()
    return event


def append_record(row: StatefulModel, why: Why, *, now: datetime, **columns: Any) -> EventModel:
    """Append an event that is worth keeping and moves no state (a vote); ``columns`` are the event's own."""
    return _write(None, row, _event(row, "", why, now, kind=EventKind.RECORD, columns=columns))


def record_refusal(refused: TransitionRefusedError, *, now: datetime) -> None:
    """Keep a refused transition as audit evidence; never in the event table, which folds to the state."""
    append_audit_event(
        topic=f"{refused.topic}.transition_refused",
        subject=refused.row_id,
        payload={"from": refused.from_state, "to": refused.to_state, **_explained(refused.why)},
        now=now,
    )


def _event(
    row: StatefulModel,
    from_state: str,
    why: Why,
    now: datetime,
    *,
    kind: EventKind = EventKind.TRANSITION,
    columns: dict[str, Any] | None = None,
) -> EventModel:
    moved = kind is EventKind.TRANSITION
    to_state = str(row.state) if moved else ""
    return row.event_model(
        **{f"{row.event_model.subject_field}_id": row.pk},
        kind=kind,
        state_sequence=row.state_sequence if moved else None,
        from_state=from_state,
        to_state=to_state,
        stage=why.stage,
        actor_type=why.actor.type,
        actor_id=why.actor.id,
        reason=why.reason,
        evidence=why.evidence,
        policy_version=why.policy_version,
        system_version=settings.SYSTEM_VERSION,
        trace_id=current_trace_id(),
        at=now,
        **(columns or {}),
    )


def _write(change: Write | None, row: StatefulModel, event: EventModel) -> EventModel:
    """Write a row's change, the event that explains it and its audit event in one statement."""
    audit = _audit_event(row, event)
    keys = run(*([change] if change else []), insertion(audit), insertion(event))
    event.pk, audit.pk = keys[-1], keys[-2]
    event._state.adding = audit._state.adding = False  # noqa: SLF001
    row._update_initial_state()  # noqa: SLF001 - the FSM's own guard against stale saves
    transaction.on_commit(lambda: logger.info(audit.topic, **audit.payload))
    return event


def _audit_event(row: StatefulModel, event: EventModel) -> AuditOutbox:
    payload = {
        "timestamp": event.at.isoformat(),
        "trace_id": event.trace_id,
        "subject": str(row.pk),
        **row.event_ids,
        "sequence": event.state_sequence,
        "transition": {"from": event.from_state, "to": event.to_state},
        "stage": event.stage,
        "actor": {"type": str(event.actor_type), "id": event.actor_id},
        "reason": event.reason,
        "policy_version": event.policy_version,
        "metadata": event.evidence,
        "system_version": event.system_version,
    }
    topic = f"{row.topic}.{(event.to_state or event.reason).lower()}"
    return new_audit_event(topic=topic, subject=str(row.pk), payload=payload, now=event.at)


def _explained(why: Why) -> dict[str, Any]:
    return {
        "stage": why.stage,
        "actor": {"type": str(why.actor.type), "id": why.actor.id},
        "reason": why.reason,
        "policy_version": why.policy_version,
        "metadata": why.evidence,
    }


def _move_to(row: StatefulModel, to: str) -> Any:
    """Return the django-fsm transition that leads to ``to``, or None."""
    for transition in row.get_available_state_transitions():
        if transition.target == to:
            return getattr(row, transition.name)
    return None


def _touched(row: models.Model, now: datetime) -> list[str]:
    if not hasattr(row, "updated_at"):
        return []
    row.updated_at = now
    return ["updated_at"]


def _open_transaction() -> Any:
    """Return the outermost open transaction; the writer never opens one of its own."""
    if not connection.in_atomic_block:
        raise RowNotLockedError("No transaction is open: the caller decides which transitions share one.")
    return connection.atomic_blocks[0]
