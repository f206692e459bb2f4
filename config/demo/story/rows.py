"""What else our book says, in plain SQL: events of the provider, cases, receipts and proposals."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection


@dataclass(frozen=True)
class KeptEvents:
    """The provider's events about one refund, as we stored them."""

    rows: int
    waiting: int
    applied: int
    came_before_the_answer: bool


@dataclass(frozen=True)
class Delivered:
    """The receipt of one operation: attempts that failed, and whether it is delivered."""

    receipts: int
    failed_attempts: int
    delivered_attempts: int


@dataclass(frozen=True)
class Proposed:
    """What was proposed about a request: by whom, which action (empty: nothing usable), after which time."""

    proposer: str
    action: str
    latency_ms: int


def events_about(refund: str, operation_id: str) -> KeptEvents:
    """Return what was stored about a refund of the provider."""
    return KeptEvents(*_row(_EVENTS, [operation_id, refund]))


def verification_case(workflow_id: str) -> tuple[int, bool] | None:
    """Return the ticket of the case about an unreadable source, and whether it is open; None: there is none."""
    row = _row(_CASE, [workflow_id])
    return (int(row[0]), bool(row[1])) if row else None


def receipt_of(operation_id: str) -> Delivered:
    """Return how the delivery of an operation's receipt went."""
    return Delivered(*_row(_RECEIPT, [f"refund.completed:{operation_id}"]))


def proposal_about(workflow_id: str) -> Proposed | None:
    """Return the newest proposal about a request that a model or the fixed rule made; None: nobody was asked."""
    row = _row(_PROPOSAL, [workflow_id])
    return Proposed(*row) if row else None


def make_messages_due(now: datetime) -> datetime | None:
    """As an operator would: let every delayed message be tried now. Return the latest time one was planned for."""
    (planned,) = _row(_PLANNED, [])
    with connection.cursor() as cursor:
        cursor.execute(_DUE_NOW, [now])
    latest: datetime | None = planned
    return latest


def _row(query: str, values: list[Any]) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return tuple(cursor.fetchone() or ())


_EVENTS = """
    SELECT count(*), count(*) FILTER (WHERE e.outcome = 'RECEIVED'), count(*) FILTER (WHERE e.outcome = 'APPLIED'),
           coalesce(min(e.received_at) < min(a.received_at), false)
      FROM gateway_webhooks e
      LEFT JOIN (SELECT max(r.received_at) AS received_at
                   FROM gateway_responses r JOIN gateway_attempts g ON g.id = r.attempt_id
                  WHERE g.operation_id = %s) a ON true
     WHERE e.object_id = %s
"""
_CASE = """
    SELECT ticket, closed_at IS NULL FROM review_cases
     WHERE subject_id = %s AND kind = 'VERIFICATION' ORDER BY opened_at DESC LIMIT 1
"""
_RECEIPT = """
    SELECT count(DISTINCT n.id), count(a.id) FILTER (WHERE a.outcome = 'TRANSIENT'),
           count(a.id) FILTER (WHERE a.outcome = 'DELIVERED')
      FROM notifications n LEFT JOIN notification_attempts a ON a.notification_id = n.id
     WHERE n.logical_event_id = %s
"""
_PROPOSAL = """
    SELECT proposer, recommended_action, latency_ms FROM proposals
     WHERE workflow_id = %s AND proposer <> 'staff' ORDER BY id DESC LIMIT 1
"""
_WAITING = "delivered_at IS NULL AND failed_at IS NULL AND next_attempt_at IS NOT NULL"
_PLANNED = f"SELECT max(next_attempt_at) FROM notifications WHERE {_WAITING}"  # noqa: S608 - a constant
_DUE_NOW = f"UPDATE notifications SET next_attempt_at = %s WHERE {_WAITING}"  # noqa: S608 - a constant
