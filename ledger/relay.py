"""The relay: publishes committed outbox rows to the sink, then records each publication in a hash chain.

At least once: a crash between the sink and the record publishes the same rows again, under the same event ids.
The sink is written outside any transaction; one relay at a time records, under an advisory lock.
"""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection, transaction

from ledger.chain import GENESIS, link_hash
from ledger.models import AuditOutbox, AuditPublication
from ledger.sinks import AuditSink, sink_for

_ONE_RELAY = 7_140_301  # any fixed number: the name of the advisory lock


def relay_audit_events(*, now: datetime, limit: int, sink: AuditSink | None = None) -> int:
    """Publish up to ``limit`` unpublished events, oldest first; return how many were recorded.

    Raises OSError when the sink refuses: nothing is recorded then, and the rows wait.
    """
    rows = list(AuditOutbox.objects.filter(publication__isnull=True).order_by("pk")[:limit])
    if not rows:
        return 0
    target = sink if sink is not None else sink_for(settings.AUDIT_SINK)
    target.write([as_event(row) for row in rows])
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_ONE_RELAY])
        return _record(rows, now)


def as_event(row: AuditOutbox) -> dict[str, Any]:
    """Return an outbox row as consumers see it."""
    return {
        "event_id": row.event_id,
        "topic": row.topic,
        "subject": row.subject,
        "at": row.at.isoformat(),
        "payload": row.payload,
    }


def _record(rows: list[AuditOutbox], now: datetime) -> int:
    done = set(AuditPublication.objects.filter(outbox__in=rows).values_list("outbox_id", flat=True))
    last = AuditPublication.objects.order_by("-sequence").first()
    sequence, prev_hash = (last.sequence, last.hash) if last else (0, GENESIS)
    publications = []
    for row in rows:
        if row.pk in done:
            continue
        sequence += 1
        link = link_hash(prev_hash, sequence=sequence, event=as_event(row))
        publications.append(
            AuditPublication(sequence=sequence, outbox=row, prev_hash=prev_hash, hash=link, published_at=now)
        )
        prev_hash = link
    AuditPublication.objects.bulk_create(publications)
    return len(publications)
