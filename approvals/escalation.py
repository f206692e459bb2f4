"""Cases that nobody looked at by the time that was promised: told once, as evidence and as an error in the log."""

from datetime import datetime
from typing import Final

import structlog
from django.db import transaction
from django.db.models import Q

from approvals.models import ReviewCase
from ledger.outbox import append_audit_event

OVERDUE: Final = "review.overdue"
logger = structlog.get_logger("cases")


def escalate_overdue_cases(*, now: datetime, limit: int) -> int:
    """Escalate up to ``limit`` open cases past their promise, the longest first; return how many.

    A case that somebody holds is being looked at. Each is escalated once, however many ask at the same time; the
    operator's alert goes by the number of overdue cases, which stays up until they are looked at.
    """
    with transaction.atomic():
        unheld = Q(claimed_until__isnull=True) | Q(claimed_until__lte=now)
        overdue = ReviewCase.objects.filter(
            unheld, closed_at__isnull=True, escalated_at__isnull=True, due_at__lte=now
        ).order_by("due_at")
        cases = list(overdue.select_for_update(skip_locked=True, of=("self",), no_key=True)[:limit])
        ReviewCase.objects.filter(pk__in=[case.pk for case in cases]).update(escalated_at=now)
        for case in cases:
            append_audit_event(topic=OVERDUE, subject=case.subject_id, payload=_told(case), now=now)
    for case in cases:
        logger.error(OVERDUE, **_told(case))
    return len(cases)


def _told(case: ReviewCase) -> dict[str, str | int]:
    return {
        "case_id": case.pk,
        "ticket": case.ticket,
        "kind": case.kind,
        "subject": case.subject_id,
        "reason": case.reason,
        "due_at": case.due_at.isoformat() if case.due_at else "",
    }
