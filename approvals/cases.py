"""Opens, lends out and closes the cases that people own; always in a transaction of the caller.

A lease says who works on a case. It runs out by itself, so that a case is never stuck with somebody who went home.
The caller holds the subject's lock before it locks a case (lock order: workflow, operation, approval, case).
"""

from datetime import datetime, timedelta
from typing import Final

from django.db import connection

from approvals.models import ReviewCase
from approvals.states import CaseKind
from ledger.ids import new_id

LEASE: Final = timedelta(minutes=20)


class CaseHeldError(Exception):
    """If you see this, a lease was asked about that does not stand; ``code`` says why.

    CASE_CLOSED, CLAIMED_BY_ANOTHER (their lease still runs), NOT_CLAIMED (one's own ran out, or never began).
    """

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def open_case(
    *,
    kind: CaseKind,
    subject_id: str,
    merchant_id: int,
    reason: str,
    now: datetime,
    due_at: datetime | None = None,
) -> ReviewCase:
    """Return the subject's open case of this kind, opening it with a new ticket if there is none.

    ``due_at`` is by when people promised to look. The caller holds the subject's lock, so two cannot open at once;
    a unique index refuses it anyway.
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
        due_at=due_at,
    )


def close_cases(*, subject_id: str, because: str, now: datetime) -> int:
    """Close every open case of the subject; return how many there were."""
    return ReviewCase.objects.filter(subject_id=subject_id, closed_at__isnull=True).update(
        closed_at=now, closed_because=because[:80]
    )


def lock_case(case_id: str) -> ReviewCase:
    """Return the case as it is now, locked until the transaction ends."""
    return ReviewCase.objects.select_for_update(of=("self",), no_key=True).get(pk=case_id)


def lock_open_case(*, subject_id: str, kind: CaseKind) -> ReviewCase | None:
    """Return the subject's open case of a kind, locked, or None."""
    cases = ReviewCase.objects.select_for_update(of=("self",), no_key=True)
    return cases.filter(subject_id=subject_id, kind=kind, closed_at__isnull=True).first()


def is_held_by_another(case: ReviewCase, who: str, *, now: datetime) -> bool:
    """Tell whether somebody other than ``who`` (``user:<id>``) has a lease that still runs."""
    runs = case.claimed_until is not None and case.claimed_until > now
    return runs and case.claimed_by != who


def claim(case: ReviewCase, who: str, *, now: datetime) -> bool:
    """Lend a locked case to ``who`` for ``LEASE``, or renew it; return whether it was taken over from somebody.

    Raises ``CaseHeldError``.
    """
    _require_open(case)
    if is_held_by_another(case, who, now=now):
        raise CaseHeldError("CLAIMED_BY_ANOTHER")
    taken_over = case.claimed_by not in {"", who}
    case.claimed_by, case.claimed_until = who, now + LEASE
    case.save(update_fields=["claimed_by", "claimed_until"])
    return taken_over


def release(case: ReviewCase, who: str, *, now: datetime) -> None:
    """End the lease of ``who`` on a locked case. Raises ``CaseHeldError``."""
    require_lease(case, who, now=now)
    drop_lease(case)


def drop_lease(case: ReviewCase) -> None:
    """Let anybody take a locked case: what its holder did with it is done."""
    case.claimed_by, case.claimed_until = "", None
    case.save(update_fields=["claimed_by", "claimed_until"])


def require_lease(case: ReviewCase, who: str, *, now: datetime) -> None:
    """Raise ``CaseHeldError`` unless ``who`` holds the locked case now."""
    _require_open(case)
    if is_held_by_another(case, who, now=now):
        raise CaseHeldError("CLAIMED_BY_ANOTHER")
    if case.claimed_by != who or case.claimed_until is None or case.claimed_until <= now:
        raise CaseHeldError("NOT_CLAIMED")


def _require_open(case: ReviewCase) -> None:
    if case.closed_at is not None:
        raise CaseHeldError("CASE_CLOSED")
