"""Owe a message once, hand it out to one worker at a time, and record every attempt (stage 13).

Nothing here touches a refund: a receipt that cannot be delivered leaves the refund as confirmed as it was.
"""

import secrets
from datetime import datetime, timedelta
from typing import Final

import structlog
from django.db import transaction
from django.db.models import Q, QuerySet

from ledger.one_statement import insertion, run, update
from notifications.channels.port import Delivery, DeliveryOutcome
from notifications.facts import StatedFacts
from notifications.models import Notification, NotificationAttempt
from notifications.schedule import Jitter, next_attempt_at

# One worker delivers what it claimed one after another, so the batch is as small as a slow mail server demands.
MAX_CLAIMS: Final = 20
CLAIM_FOR: Final = timedelta(minutes=15)
_NOT_RECORDED: Final = Delivery(DeliveryOutcome.TRANSIENT, "OUTCOME_NOT_RECORDED")
logger = structlog.get_logger("notifications")


def queue_notification(
    *, logical_event_id: str, customer_id: int, subject_id: str, facts: StatedFacts, now: datetime
) -> None:
    """Owe a customer one message, in the caller's transaction; an event that has one already changes nothing.

    INSERT ... ON CONFLICT DO NOTHING: a repeat neither raises nor spoils the transaction.
    """
    owed = Notification(
        logical_event_id=logical_event_id,
        customer_id=customer_id,
        subject_id=subject_id,
        facts=facts.to_json(),
        created_at=now,
        next_attempt_at=now,
    )
    Notification.objects.bulk_create([owed], ignore_conflicts=True)


def claim_due_notifications(*, now: datetime, limit: int) -> tuple[int, ...]:
    """Claim up to ``limit`` (at most 20) due messages for this worker and return their ids, longest due first.

    Rows that another worker holds are skipped. A claim that ended without a record is an attempt whose outcome
    nobody knows: it is counted as one, so that a message that may have left is repeated a bounded number of times.
    """
    with transaction.atomic():
        due = _due(now).order_by("next_attempt_at", "pk")
        found = list(due.select_for_update(skip_locked=True, no_key=True)[: min(limit, MAX_CLAIMS)])
        return tuple(row.pk for row in found if _claim(row, now))


def claim_notification(*, notification_id: int, now: datetime) -> bool:
    """Claim one message if it is due and free: the way in for a nudge."""
    with transaction.atomic():
        due = _due(now).filter(pk=notification_id)
        found = due.select_for_update(skip_locked=True, no_key=True).first()
        return found is not None and _claim(found, now)


def full_jitter(seconds: float) -> float:
    """Return any number of seconds from 0 to ``seconds``, each as likely."""
    return secrets.SystemRandom().uniform(0, seconds)


def record_attempt(
    *,
    notification_id: int,
    channel: str,
    message_id: str,
    delivery: Delivery,
    now: datetime,
    jitter: Jitter = full_jitter,
) -> NotificationAttempt:
    """Append one attempt and schedule what follows: nothing, another attempt, or the final failure.

    A message that was delivered stays delivered, whatever a slower attempt reports later.
    """
    with transaction.atomic():
        row = Notification.objects.select_for_update(no_key=True).get(pk=notification_id)
        attempt = _attempt(row, channel, message_id, delivery, now)
        _record(row, attempt, now, jitter)
        return attempt


def _due(now: datetime) -> QuerySet[Notification]:
    return Notification.objects.filter(
        Q(claimed_until__isnull=True) | Q(claimed_until__lte=now),
        next_attempt_at__lte=now,
        delivered_at__isnull=True,
        failed_at__isnull=True,
    )


def _claim(row: Notification, now: datetime) -> bool:
    if row.claimed_until is not None:
        attempt = _attempt(row, "", "", _NOT_RECORDED, now)
        _record(row, attempt, now, full_jitter)
        return False
    row.claimed_until = now + CLAIM_FOR
    row.save(update_fields=["claimed_until"])
    return True


def _attempt(
    row: Notification, channel: str, message_id: str, delivery: Delivery, now: datetime
) -> NotificationAttempt:
    return NotificationAttempt(
        notification=row,
        number=row.attempts.count() + 1,
        channel=channel,
        outcome=delivery.outcome,
        detail=delivery.detail[:120],
        message_id=message_id,
        at=now,
    )


def _record(row: Notification, attempt: NotificationAttempt, now: datetime, jitter: Jitter) -> None:
    """Write the attempt and what follows for its locked message, as one statement."""
    _schedule(row, attempt, now, jitter)
    scheduled = update(row, ["claimed_until", "next_attempt_at", "delivered_at", "failed_at"])
    attempt.pk, _ = run(insertion(attempt), scheduled)
    transaction.on_commit(lambda: _log(row, attempt))


def _schedule(row: Notification, attempt: NotificationAttempt, now: datetime, jitter: Jitter) -> None:
    row.claimed_until = None
    if attempt.outcome == DeliveryOutcome.DELIVERED:
        row.delivered_at = row.delivered_at or now
        row.failed_at = None
    elif row.delivered_at is None and row.failed_at is None:
        retry = attempt.outcome == DeliveryOutcome.TRANSIENT
        due = next_attempt_at(attempts_made=attempt.number, now=now, jitter=jitter) if retry else None
        row.next_attempt_at = due
        row.failed_at = now if due is None else None
    if row.delivered_at is not None:
        row.next_attempt_at = None


def _log(row: Notification, attempt: NotificationAttempt) -> None:
    log = logger.error if row.failed_at is not None else logger.info
    log(
        "notification.failed" if row.failed_at is not None else "notification.attempted",
        logical_event_id=row.logical_event_id,
        attempt=attempt.number,
        outcome=str(attempt.outcome),
        detail=attempt.detail,
    )
