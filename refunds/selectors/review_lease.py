"""Who works on a case and by when people promised to look at it, worded for one reviewer."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.contrib.auth import get_user_model

from approvals.models import ReviewCase
from refunds.selectors.review_records import Lease, Promise

_NONE = timedelta(0)


def names_of(people: Iterable[str]) -> dict[str, str]:
    """Return the user names of staff ids (``user:<id>``); one query, and none if nobody is asked about."""
    ids = {int(who.removeprefix("user:")) for who in people if who.removeprefix("user:").isdigit()}
    if not ids:
        return {}
    found = get_user_model().objects.filter(pk__in=ids)
    return {f"user:{user.pk}": user.get_username() for user in found}


def lease_of(case: ReviewCase, *, user_id: int, names: dict[str, str], now: datetime) -> Lease | None:
    """Return the case's lease, also one that ran out: its holder is who worked on it last."""
    if not case.claimed_by or case.claimed_until is None:
        return None
    return Lease(
        holder=names.get(case.claimed_by, case.claimed_by),
        until=case.claimed_until,
        is_mine=case.claimed_by == f"user:{user_id}",
        runs=case.claimed_until > now,
    )


def promise_of(case: ReviewCase, now: datetime) -> Promise | None:
    """Return by when the case is due; a closed case is measured when it was closed."""
    if case.due_at is None:
        return None
    at = case.closed_at or now
    return Promise(due_at=case.due_at, left=max(_NONE, case.due_at - at), late=max(_NONE, at - case.due_at))
