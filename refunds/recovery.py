"""Which rows are stuck, and the safe step that comes next.

A scan claims a bounded batch of due ids in one short transaction (``SKIP LOCKED``), so that a stuck row starves
nobody and two scanners never take the same row; the work itself then enters through ``refunds.pipeline`` like any
other. A claim only keeps scanners away: whether work is due stands in the row's due time, and the work asks for it.
Redis may be empty: everything is found here again. Each scan reads a partial index that holds unfinished rows only,
in the order in which it claims, so that its cost knows nothing of the years of finished rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import structlog
from django.conf import settings
from django.db import models, transaction
from django.db.models.functions import Greatest

from approvals.escalation import escalate_overdue_cases
from refunds.models import GatewayWebhook, RefundOperation, RefundWorkflow
from refunds.models.operation import FORGOTTEN_LOOK_UPS, FORGOTTEN_SUBMISSIONS
from refunds.models.workflow import FORGOTTEN_WORKFLOWS
from refunds.nudges import Nudge, advance, apply_webhook, reconcile, reconcile_late, submit
from refunds.states import (
    DOUBTFUL_OPERATION_STATES,
    EXECUTABLE_OPERATION_STATES,
    OperationState,
    WebhookOutcome,
)

BATCH: Final = 100
_LONGEST_LOOKUPS: Final = 10  # answers that one reconciliation may wait for, retries and pages included
_READABLE: Final = models.Q(source_failures=0)
_UNREAD: Final = models.Q(source_failures__gt=0)
_EXECUTABLE: Final = models.Q(state__in=EXECUTABLE_OPERATION_STATES)
_OVERDUE: Final = models.Q(state=OperationState.SUBMITTED)
_IN_DOUBT: Final = models.Q(state__in=DOUBTFUL_OPERATION_STATES)
_WITH_PEOPLE: Final = models.Q(state=OperationState.MANUAL_REVIEW)
_WAITING: Final = models.Q(outcome=WebhookOutcome.RECEIVED)
_Stateful = type[RefundWorkflow] | type[RefundOperation]
_Scanned = _Stateful | type[GatewayWebhook]
logger = structlog.get_logger("recovery")


def find_resumable_work(*, now: datetime, limit: int = BATCH) -> tuple[Nudge, ...]:
    """Claim requests that wait for their next stage, and operations that wait to be submitted."""
    workflows = _claim(RefundWorkflow, "next_attempt_at", _READABLE, now, limit)
    operations = _claim(RefundOperation, "next_attempt_at", _EXECUTABLE, now, limit)
    return (*(advance(pk) for pk in workflows), *(submit(pk) for pk in operations))


def find_unread_evidence(*, now: datetime, limit: int = BATCH) -> tuple[Nudge, ...]:
    """Claim requests whose ledger source could not be read and is due to be tried again."""
    return tuple(advance(pk) for pk in _claim(RefundWorkflow, "next_attempt_at", _UNREAD, now, limit))


def find_overdue_submissions(*, now: datetime, limit: int = BATCH) -> tuple[Nudge, ...]:
    """Claim operations in SUBMITTED whose answer is overdue."""
    return tuple(reconcile(pk) for pk in _claim(RefundOperation, "next_check_at", _OVERDUE, now, limit))


def find_unknown_outcomes(*, now: datetime, limit: int = BATCH) -> tuple[Nudge, ...]:
    """Claim operations whose outcome is unknown or pending and whose next check is due."""
    return tuple(reconcile(pk) for pk in _claim(RefundOperation, "next_check_at", _IN_DOUBT, now, limit))


def find_late_evidence(*, now: datetime, limit: int = BATCH) -> tuple[Nudge, ...]:
    """Claim operations that people own and whose refund may have shown up at the provider since."""
    due = _claim(RefundOperation, "next_check_at", _WITH_PEOPLE, now, limit)
    return tuple(reconcile_late(pk) for pk in due)


def find_unapplied_webhooks(*, now: datetime, limit: int = BATCH) -> tuple[Nudge, ...]:
    """Claim stored events of the provider that are still to be applied."""
    return tuple(apply_webhook(pk) for pk in _claim(GatewayWebhook, "next_attempt_at", _WAITING, now, limit))


def escalate_reviews(*, now: datetime, limit: int = BATCH) -> int:
    """Tell once, as evidence and in the log, of each case that nobody looked at in time; return how many."""
    return escalate_overdue_cases(now=now, limit=limit)


def adopt_forgotten(*, now: datetime, limit: int = BATCH) -> int:
    """Make due what no scanner would ever find, since its due time is missing; return how many rows that were.

    No path through the stages leaves such a row. One is a defect here, and must cost a log line and not a refund.
    """
    operations = [
        *_adopt(RefundOperation, FORGOTTEN_SUBMISSIONS, "next_attempt_at", now, limit),
        *_adopt(RefundOperation, FORGOTTEN_LOOK_UPS, "next_check_at", now, limit),
    ]
    workflows = _adopt(RefundWorkflow, FORGOTTEN_WORKFLOWS, "next_attempt_at", now, limit)
    if operations or workflows:
        logger.error("recovery.forgotten", operations=operations, workflows=workflows)
    return len(operations) + len(workflows)


@dataclass(frozen=True, slots=True)
class Scan:
    """One scanner by the name of its beat row, and the rows that it looks through."""

    name: str
    find: Callable[..., tuple[Nudge, ...]]
    parts: tuple[tuple[_Scanned, str, models.Q], ...]

    def due(self, *, now: datetime, most: int) -> int:
        """Count what is due now, up to ``most`` of a kind; what another worker has claimed is counted too."""
        found = (
            _due(model, column, condition).filter(**{f"{column}__lte": now})
            for model, column, condition in self.parts
        )
        return sum(len(rows.values_list("pk")[:most]) for rows in found)


# In this order one round of all makes most progress: what answers teach comes before what may be sent.
SCANS: Final = (
    Scan("apply_webhooks", find_unapplied_webhooks, ((GatewayWebhook, "next_attempt_at", _WAITING),)),
    Scan("recover_submitted", find_overdue_submissions, ((RefundOperation, "next_check_at", _OVERDUE),)),
    Scan("reconcile_unknown", find_unknown_outcomes, ((RefundOperation, "next_check_at", _IN_DOUBT),)),
    Scan("look_late", find_late_evidence, ((RefundOperation, "next_check_at", _WITH_PEOPLE),)),
    Scan("recheck_evidence", find_unread_evidence, ((RefundWorkflow, "next_attempt_at", _UNREAD),)),
    Scan(
        "resume_workflows",
        find_resumable_work,
        (
            (RefundWorkflow, "next_attempt_at", _READABLE),
            (RefundOperation, "next_attempt_at", _EXECUTABLE),
        ),
    ),
)


def _due(model: _Scanned, column: str, condition: models.Q) -> models.QuerySet[Any]:
    """Return the rows that have a due time at all: what the scanner's partial index holds."""
    return model._default_manager.filter(condition, **{f"{column}__isnull": False})  # noqa: SLF001 - Django's own name


def _claim(model: _Scanned, column: str, condition: models.Q, now: datetime, limit: int) -> list[Any]:
    """Return up to ``limit`` due ids, each claimed for ``claim_period``; the longest due or unclaimed come first.

    A row is free from the later of its due time and the end of its claim: the index has exactly that, so as many rows
    are read as are claimed. A claim that ran out without effect queues up behind the others, and starves nobody.
    """
    with transaction.atomic():
        free = _due(model, column, condition).alias(free_at=Greatest(column, "claimed_until"))
        rows = free.filter(free_at__lte=now).order_by("free_at")
        locked = rows.select_for_update(skip_locked=True, of=("self",), no_key=True)
        ids: list[Any] = list(locked.values_list("pk", flat=True)[:limit])
        _set(model, ids, claimed_until=now + claim_period())
    return ids


def _adopt(model: _Stateful, condition: models.Q, column: str, now: datetime, limit: int) -> list[Any]:
    """Give up to ``limit`` rows the due time that they lack; return their ids."""
    with transaction.atomic():
        rows = model._default_manager.filter(condition).order_by("updated_at")  # noqa: SLF001
        locked = rows.select_for_update(skip_locked=True, of=("self",), no_key=True)
        ids: list[Any] = list(locked.values_list("pk", flat=True)[:limit])
        _set(model, ids, **{column: now})
    return ids


def _set(model: _Scanned, ids: list[Any], **columns: datetime) -> None:
    if ids:
        model._default_manager.filter(pk__in=ids).update(**columns)  # noqa: SLF001


def claim_period() -> timedelta:
    """Return how long a claim keeps scanners away: longer than the slowest look-up at the provider."""
    return timedelta(seconds=max(60.0, _LONGEST_LOOKUPS * settings.GATEWAY_TIMEOUT_SECONDS))
