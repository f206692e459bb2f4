"""Opens and closes the cases that people own; always in the transaction that moves what they are about."""

from datetime import datetime

from django.db import connection

from approvals.models import ReviewCase
from approvals.states import CaseKind
from ledger.ids import new_id


def open_case(*, kind: CaseKind, subject_id: str, merchant_id: int, reason: str, now: datetime) -> ReviewCase:
    """Return the subject's open case of this kind, opening it with a new ticket if there is none.

    The caller holds the subject's lock, so two cannot open at once; a unique index refuses it anyway.
    """
    found = ReviewCase.objects.filter(subject_id=subject_id, kind=kind, closed_at__isnull=True).first()
    if found is not None:
        return found
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval('review_case_ticket')")
        (ticket,) = cursor.fetchone()
    return ReviewCase.objects.create(
        id=new_id("case"),
        ticket=ticket,
        merchant_id=merchant_id,
        kind=kind,
        subject_id=subject_id,
        reason=reason[:80],
        opened_at=now,
    )


def close_cases(*, subject_id: str, because: str, now: datetime) -> int:
    """Close every open case of the subject; return how many there were."""
    return ReviewCase.objects.filter(subject_id=subject_id, closed_at__isnull=True).update(
        closed_at=now, closed_because=because[:80]
    )
