"""Every Celery task: ids in, one call down, nudges out.

A task is a nudge: losing it, or running it twenty times, changes nothing but time. Money writes are never retried
by Celery; only stage 11 may lead to another submission. ``**_later`` lets an older worker take a newer message.
"""

import time
from collections.abc import Iterable
from typing import Any

import structlog
from celery import current_app, shared_task
from celery.signals import task_failure, task_rejected, task_unknown
from django.db import DatabaseError, InterfaceError, transaction
from kombu.exceptions import OperationalError

from ledger.clock import now_utc
from ledger.models import Heartbeat, Tally
from ledger.relay import relay_audit_events
from ledger.tracing import start_trace, traceparent
from notifications.services import claim_due_notifications
from refunds import pipeline, recovery
from refunds.evidence import frozen, invariants
from refunds.evidence.three_books import comparing
from refunds.gateways.registry import get_contract, get_gateway, uses_live_mode
from refunds.metrics.counters import NUDGES_LOST
from refunds.nudges import Nudge
from refunds.stages.s13_notify_customer import notify_customer
from refunds.states import CheckCause, WorkerFault

logger = structlog.get_logger("tasks")
BOOKS_SECONDS = 200.0  # less than the broker waits before it hands a task to a second worker
COUNT_FAULT = "refunds.count_fault"
MAIL_BATCH, MAIL_SECONDS = 5, 20.0  # a mail server that never answers must not hold its worker for long


def send_nudges(nudges: Iterable[Nudge]) -> None:
    """Enqueue nudges once the current transaction is committed; a broker that is down only costs time."""
    carried = traceparent()
    for nudge in nudges:
        transaction.on_commit(lambda nudge=nudge: _send(nudge, carried))  # type: ignore[misc]


def _send(nudge: Nudge, carried: str) -> None:
    try:
        current_app.send_task(f"refunds.{nudge.task}", kwargs={**nudge.kwargs, "traceparent": carried})
    except (OperationalError, RuntimeError):  # RuntimeError: the pool of a process that is ending is closed
        logger.warning("nudge.lost", task=nudge.task)
        NUDGES_LOST.inc()


@shared_task(name="refunds.advance_workflow")
def advance_workflow(*, workflow_id: str, traceparent: str = "", **_later: Any) -> None:
    """Take one workflow on (stages 3 to 9)."""
    start_trace(traceparent)
    send_nudges(pipeline.advance_workflow(workflow_id=workflow_id, clock=now_utc))


@shared_task(name="refunds.read_message", max_retries=0)
def read_message(*, workflow_id: str, traceparent: str = "", **_later: Any) -> None:
    """Have a model read what a customer wrote without naming an order; lost, it costs a suggestion."""
    start_trace(traceparent)
    send_nudges(pipeline.read_message(workflow_id=workflow_id, clock=now_utc))


@shared_task(name="refunds.submit_operation", max_retries=0)
def submit_operation(*, operation_id: str, traceparent: str = "", **_later: Any) -> None:
    """Submit one operation (stage 10)."""
    start_trace(traceparent)
    send_nudges(pipeline.submit_operation(operation_id=operation_id, gateway=get_gateway(), clock=now_utc))


@shared_task(name="refunds.reconcile_operation", max_retries=0)
def reconcile_operation(
    *,
    operation_id: str,
    cause: str = CheckCause.SCHEDULED,
    seen_reference: str = "",
    traceparent: str = "",
    **_later: Any,
) -> None:
    """Look one operation up at the provider (stage 11), also under a reference that a person gave."""
    start_trace(traceparent)
    nudges = pipeline.reconcile_operation(
        operation_id=operation_id,
        gateway=get_gateway(),
        contract=get_contract(),
        now=now_utc(),
        cause=CheckCause(cause),
        seen_reference=seen_reference,
    )
    send_nudges(nudges)


@shared_task(name="refunds.apply_webhook", max_retries=0)
def apply_webhook(*, webhook_id: str, traceparent: str = "", **_later: Any) -> None:
    """Find out what one stored event means (stage 11)."""
    start_trace(traceparent)
    nudges = pipeline.apply_webhook(
        webhook_id=int(webhook_id),
        gateway=get_gateway(),
        contract=get_contract(),
        livemode=uses_live_mode(),
        now=now_utc(),
    )
    send_nudges(nudges)


@shared_task(name="refunds.apply_webhooks")
def apply_webhooks(**_later: Any) -> None:
    """Find stored events that are still to be applied."""
    _scan("apply_webhooks", recovery.find_unapplied_webhooks(now=now_utc()))


@shared_task(name="refunds.resume_workflows")
def resume_workflows(**_later: Any) -> None:
    """Find requests and operations whose nudge was lost."""
    _scan("resume_workflows", recovery.find_resumable_work(now=now_utc()))


@shared_task(name="refunds.recheck_evidence")
def recheck_evidence(**_later: Any) -> None:
    """Find requests whose ledger source could not be read, once their next try is due."""
    _scan("recheck_evidence", recovery.find_unread_evidence(now=now_utc()))


@shared_task(name="refunds.recover_submitted")
def recover_submitted(**_later: Any) -> None:
    """Find submissions whose answer is overdue."""
    _scan("recover_submitted", recovery.find_overdue_submissions(now=now_utc()))


@shared_task(name="refunds.reconcile_unknown")
def reconcile_unknown(**_later: Any) -> None:
    """Find unknown and pending outcomes whose next check is due."""
    _scan("reconcile_unknown", recovery.find_unknown_outcomes(now=now_utc()))


@shared_task(name="refunds.look_late")
def look_late(**_later: Any) -> None:
    """Find operations that people own and whose refund may have shown up since."""
    _scan("look_late", recovery.find_late_evidence(now=now_utc()))


@shared_task(name="refunds.escalate_reviews")
def escalate_reviews(**_later: Any) -> None:
    """Tell of cases that nobody looked at in time."""
    Heartbeat.record("escalate_reviews", now=now_utc(), found=recovery.escalate_reviews(now=now_utc()))


@shared_task(name="refunds.adopt_forgotten")
def adopt_forgotten(**_later: Any) -> None:
    """Make due what no scanner would find."""
    Heartbeat.record("adopt_forgotten", now=now_utc(), found=recovery.adopt_forgotten(now=now_utc()))


@shared_task(name="refunds.retry_notifications")
def retry_notifications(**_later: Any) -> None:
    """Deliver the messages that are due (stage 13), and show that it runs."""
    Heartbeat.record("retry_notifications", now=now_utc(), found=deliver_due())


@shared_task(name="refunds.deliver_notifications")
def deliver_notifications(*, traceparent: str = "", **_later: Any) -> None:
    """Deliver the messages that just became due."""
    start_trace(traceparent)
    deliver_due()


def deliver_due() -> int:
    """Deliver in small batches, for a while; a message that fails does not stop the next."""
    found, ends_at = 0, time.monotonic() + MAIL_SECONDS
    while time.monotonic() < ends_at:
        claimed = claim_due_notifications(now=now_utc(), limit=MAIL_BATCH)
        for notification_id in claimed:
            notify_customer(notification_id=notification_id, now=now_utc())
        found += len(claimed)
        if len(claimed) < MAIL_BATCH:
            break
    return found


@shared_task(name="refunds.relay_audit_outbox")
def relay_audit_outbox(**_later: Any) -> None:
    """Publish committed audit events to the sink."""
    published = relay_audit_events(now=now_utc(), limit=10 * recovery.BATCH)
    Heartbeat.record("relay_audit_outbox", now=now_utc(), found=published)


@shared_task(name="refunds.check_invariants")
def check_invariants(**_later: Any) -> None:
    """Ask the rows whether what must always hold still does; a violation is evidence and an alert."""
    if not invariants.is_due(now=now_utc()):
        return
    results = invariants.check_invariants(now=now_utc())
    frozen.report_frozen(now=now_utc())
    broken = sum(not result.holds for result in results)
    Heartbeat.record(invariants.NAME, now=now_utc(), found=broken, took_ms=invariants.took_ms(results))


@shared_task(name="refunds.compare_books", max_retries=0)
def compare_books(**_later: Any) -> None:
    """Compare three books for the merchants that are due; who is not reached now is reached by the next run.

    One whose books cannot be compared keeps nobody else waiting, and the task fails at its end.
    """
    found, ends_at = 0, time.monotonic() + BOOKS_SECONDS
    failed: list[Exception] = []
    day = comparing.newest_comparable_day(now_utc(), get_contract())
    for merchant in comparing.merchants_due(day):
        if time.monotonic() >= ends_at:
            break
        order = comparing.ComparisonOrder(
            merchant=merchant, books_of=day, gateway=get_gateway(), contract=get_contract()
        )
        try:
            comparison = comparing.compare_books(order, clock=now_utc)
        except Exception as error:
            logger.exception("books.not_compared", merchant_id=merchant.pk)
            failed.append(error)
        else:
            found += sum(comparison.counts.values()) if comparison else 0
    Heartbeat.record("compare_books", now=now_utc(), found=found)
    if failed:
        raise failed[0]


@shared_task(name=COUNT_FAULT)
def count_fault(*, kind: str, **_later: Any) -> None:
    """Count a message that a worker could do nothing with; its main process speaks to no database."""
    Tally.add(WorkerFault(kind))


@task_failure.connect
def _count_failed(**_of_the_task: Any) -> None:
    """Count a task that failed, in its own process. A database that is away costs the count."""
    try:
        Tally.add(WorkerFault.TASK_FAILED)
    except (DatabaseError, InterfaceError):
        logger.warning("worker_fault.not_counted", kind=str(WorkerFault.TASK_FAILED))


@task_unknown.connect
def _report_unknown(*, name: str = "", **_of_the_message: Any) -> None:
    _report_fault(WorkerFault.TASK_UNKNOWN, task=name)


@task_rejected.connect
def _report_unreadable(**_of_the_message: Any) -> None:
    _report_fault(WorkerFault.MESSAGE_UNREADABLE, task="")


def _report_fault(kind: WorkerFault, *, task: str) -> None:
    """Have a message counted that this worker could not do; the counting itself is never counted."""
    if task != COUNT_FAULT:
        send_nudges([Nudge(COUNT_FAULT.removeprefix("refunds."), {"kind": str(kind)})])


@shared_task(name="refunds.heartbeat")
def heartbeat(**_later: Any) -> None:
    """Show that beat, the broker and a worker are alive, in PostgreSQL."""
    Heartbeat.record("beat", now=now_utc())


def _scan(name: str, nudges: tuple[Nudge, ...]) -> None:
    send_nudges(nudges)
    Heartbeat.record(name, now=now_utc(), found=len(nudges))
