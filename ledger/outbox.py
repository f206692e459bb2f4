"""Appends audit events in the caller's transaction, so that no change is committed without its evidence."""

from datetime import datetime
from typing import Any

from ledger.ids import new_id
from ledger.models import AuditOutbox


def append_audit_event(*, topic: str, subject: str, payload: dict[str, Any], now: datetime) -> AuditOutbox:
    """Append one audit event about ``subject`` (an id); the relay publishes it later, at least once."""
    event = new_audit_event(topic=topic, subject=subject, payload=payload, now=now)
    event.save(force_insert=True)
    return event


def new_audit_event(*, topic: str, subject: str, payload: dict[str, Any], now: datetime) -> AuditOutbox:
    """Return an audit event, unsaved, for a writer that stores it together with what it tells."""
    return AuditOutbox(event_id=new_id("aud"), topic=topic, subject=subject, payload=payload, at=now)
