"""The scheduled check of the invariants: what breaks one is evidence once, and an error in the log each time.

Some questions read whole tables, so what a check takes grows with what is finished. It rests in proportion.
"""

from datetime import datetime, timedelta
from typing import Final

import structlog
from django.db import connection, transaction

from ledger.models import AuditOutbox, Heartbeat
from ledger.outbox import append_audit_event
from refunds.selectors.scoreboard import InvariantResult, ask_invariants

VIOLATED: Final = "invariant.violated"
NAME: Final = "check_invariants"  # of its heartbeat
_REST: Final = 20  # times as long as the last check took: at most one part in twenty of a core
_LONGEST_REST: Final = timedelta(minutes=8)  # after ten the alert on silent scanners fires
_LOCK: Final = 8_901_001  # one check at a time: two schedulers then find what the other has recorded
logger = structlog.get_logger("invariants")


def check_invariants(*, now: datetime) -> tuple[InvariantResult, ...]:
    """Ask every invariant, record each new violation as an audit event, and return what was found."""
    results = ask_invariants()
    broken = [result for result in results if not result.holds]
    if broken:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            for result in broken:
                _record(result, now)
    for result in broken:
        logger.error(
            VIOLATED,
            check=result.check.name,
            invariant=result.check.invariant,
            rows=list(result.rows),
            capped=result.capped,
        )
    return results


def is_due(*, now: datetime) -> bool:
    """Tell whether the last check was long enough ago for what it took."""
    last = Heartbeat.objects.filter(name=NAME).first()
    if last is None:
        return True
    rest = timedelta(milliseconds=_REST * last.summary.get("took_ms", 0))
    return not last.beat_at <= now < last.beat_at + min(rest, _LONGEST_REST)


def took_ms(results: tuple[InvariantResult, ...]) -> int:
    """Return how long the questions took together."""
    return sum(result.milliseconds for result in results)


def _record(result: InvariantResult, now: datetime) -> None:
    """Keep what was not kept before: one event per check and row, however often it is found."""
    name = result.check.name
    known = set(
        AuditOutbox.objects.filter(topic=VIOLATED, subject__in=result.rows, payload__check=name).values_list(
            "subject", flat=True
        )
    )
    for row in result.rows:
        if row not in known:
            append_audit_event(
                topic=VIOLATED,
                subject=row,
                payload={"check": name, "invariant": result.check.invariant},
                now=now,
            )
