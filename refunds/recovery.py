"""Which rows are stuck, and the safe step that comes next.

A scan claims a bounded batch of due ids in one short transaction (``SKIP LOCKED``), so that a stuck row starves
nobody and two scanners never take the same row; the work itself then enters through ``refunds.pipeline`` like any
other. A claim only keeps scanners away: whether work is due stands in the row's due time, and the work asks for it.
Redis may be empty: everything is found here again.
"""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import models, transaction
from django.db.models.functions import Greatest

from refunds.models import GatewayWebhook, RefundOperation, RefundWorkflow
from refunds.nudges import Nudge, advance, apply_webhook, reconcile, submit
from refunds.states import OperationState, WebhookOutcome

BATCH = 100
_LONGEST_LOOKUPS = 10  # answers that one reconciliation may wait for, retries and pages included


def find_resumable_work(*, now: datetime, limit: int = BATCH) -> tuple[Nudge, ...]:
    """Claim requests that wait for their next stage, and operations that wait to be submitted."""
    readable = models.Q(source_failures=0)
    workflows = _claim(RefundWorkflow, "next_attempt_at", readable, now, limit)
    executable = models.Q(state__in=[OperationState.CREATED, OperationState.CONFIRMED_ABSENT])
    operations = _claim(RefundOperation, "next_attempt_at", executable, now, limit)
    return (*(advance(pk) for pk in workflows), *(submit(pk) for pk in operations))


def find_unread_evidence(*, now: datetime, limit: int = BATCH) -> tuple[Nudge, ...]:
    """Claim requests whose ledger source could not be read and is due to be tried again."""
    unread = _claim(RefundWorkflow, "next_attempt_at", models.Q(source_failures__gt=0), now, limit)
    return tuple(advance(pk) for pk in unread)


def find_overdue_submissions(*, now: datetime, limit: int = BATCH) -> tuple[Nudge, ...]:
    """Claim operations in SUBMITTED whose answer is overdue."""
    due = models.Q(state=OperationState.SUBMITTED)
    return _reconcile(_claim(RefundOperation, "next_check_at", due, now, limit))


def find_unknown_outcomes(*, now: datetime, limit: int = BATCH) -> tuple[Nudge, ...]:
    """Claim operations whose outcome is unknown or pending and whose next check is due."""
    due = models.Q(state__in=[OperationState.STATUS_UNKNOWN, OperationState.PROVIDER_PENDING])
    return _reconcile(_claim(RefundOperation, "next_check_at", due, now, limit))


def find_unapplied_webhooks(*, now: datetime, limit: int = BATCH) -> tuple[Nudge, ...]:
    """Claim stored events of the provider that are still to be applied."""
    waiting = models.Q(outcome=WebhookOutcome.RECEIVED)
    return tuple(apply_webhook(pk) for pk in _claim(GatewayWebhook, "next_attempt_at", waiting, now, limit))


def _reconcile(ids: list[str]) -> tuple[Nudge, ...]:
    return tuple(reconcile(pk) for pk in ids)


def _claim(
    model: type[RefundWorkflow] | type[RefundOperation] | type[GatewayWebhook],
    column: str,
    condition: models.Q,
    now: datetime,
    limit: int,
) -> list[Any]:
    """Return up to ``limit`` due ids, each claimed for ``claim_period``; the longest due or unclaimed come first.

    A row whose claim ran out without effect queues up behind the others: however many are stuck, they starve nobody.
    """
    manager = model._default_manager  # noqa: SLF001 - Django's own name for it
    free = models.Q(claimed_until__isnull=True) | models.Q(claimed_until__lte=now)
    with transaction.atomic():
        rows = (
            manager.select_for_update(skip_locked=True, of=("self",), no_key=True)
            .filter(condition, free, **{f"{column}__lte": now})
            .order_by(Greatest(column, "claimed_until"))
        )
        ids: list[Any] = list(rows.values_list("pk", flat=True)[:limit])
        if ids:
            manager.filter(pk__in=ids).update(claimed_until=now + claim_period())
    return ids


def claim_period() -> timedelta:
    """Return how long a claim keeps scanners away: longer than the slowest look-up at the provider."""
    return timedelta(seconds=max(60.0, _LONGEST_LOOKUPS * settings.GATEWAY_TIMEOUT_SECONDS))
