"""The Celery app, its queues, and the one beat table.

Tasks are nudges and scans: PostgreSQL holds the work, so Redis may be wiped at any moment. A task never carries
anything but ids, and nothing waits in the broker for longer than a moment.
"""

import os
from typing import Any

from celery import Celery
from celery.signals import celeryd_init, setup_logging, task_postrun, task_prerun, worker_process_init
from django.conf import settings

from config.telemetry import bind_task, forget_task

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

ASSISTANT = "assistant"  # speaks to the model; its workers have no gateway credentials
MONEY = "money"  # speaks to the provider; its workers have no model credentials
MAIL = "mail"  # speaks to the mail server, which may hang: nothing else waits behind it
DEFAULT = "default"  # scans and the audit relay: no network, so that recovery never waits

# A broker that hangs must not hold a page or a task for longer; a worker's own reads wait for work, on purpose.
PUBLISHER_SOCKET_SECONDS, WORKER_SOCKET_SECONDS = 1, 10

app = Celery("refund_desk")


def _every(seconds: float, task: str, queue: str = DEFAULT) -> dict[str, Any]:
    """Return one row of the beat table; a run that could not start before the next one is dropped."""
    return {"task": f"refunds.{task}", "schedule": seconds, "options": {"queue": queue, "expires": seconds}}


_RECOVERY = settings.RECOVERY_INTERVAL_SECONDS

app.conf.update(
    broker_url=settings.CELERY_BROKER_URL,
    broker_connection_timeout=2,
    broker_connection_retry_on_startup=True,
    broker_transport_options={
        "visibility_timeout": 300,
        "unacked_restore_interval": 30,
        "unacked_restore_throttle": 1,
        "socket_timeout": PUBLISHER_SOCKET_SECONDS,
        "socket_connect_timeout": PUBLISHER_SOCKET_SECONDS,
        "max_retries": 0,  # a nudge that is lost costs time; trying again would cost the customer's
    },
    task_default_queue=DEFAULT,
    task_create_missing_queues=True,
    task_routes={
        "refunds.advance_workflow": {"queue": ASSISTANT},
        "refunds.read_message": {"queue": ASSISTANT},
        "refunds.submit_operation": {"queue": MONEY},
        "refunds.reconcile_operation": {"queue": MONEY},
        "refunds.apply_webhook": {"queue": MONEY},
        "refunds.compare_books": {"queue": MONEY},
        "refunds.retry_notifications": {"queue": MAIL},
        "refunds.deliver_notifications": {"queue": MAIL},
    },
    task_ignore_result=True,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_publish_retry=False,
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    worker_cancel_long_running_tasks_on_connection_loss=False,
    timezone="UTC",
    beat_schedule={
        "resume_workflows": _every(_RECOVERY, "resume_workflows"),
        "recheck_evidence": _every(_RECOVERY, "recheck_evidence"),
        "recover_submitted": _every(_RECOVERY, "recover_submitted"),
        "apply_webhooks": _every(_RECOVERY, "apply_webhooks"),
        "reconcile_unknown": _every(_RECOVERY, "reconcile_unknown"),
        "look_late": _every(_RECOVERY, "look_late"),
        "escalate_reviews": _every(max(60.0, _RECOVERY), "escalate_reviews"),
        "adopt_forgotten": _every(max(60.0, 2 * _RECOVERY), "adopt_forgotten"),
        "retry_notifications": _every(_RECOVERY, "retry_notifications", MAIL),
        "relay_audit_outbox": _every(_RECOVERY, "relay_audit_outbox"),
        "check_invariants": _every(max(60.0, 2 * _RECOVERY), "check_invariants"),
        "compare_books": _every(3600.0, "compare_books", MONEY),  # a night's work, taken up until it is done
        "heartbeat": _every(min(60.0, 5 * _RECOVERY), "heartbeat"),
    },
)
app.autodiscover_tasks(["refunds"])


@celeryd_init.connect
def _wait_longer_for_work(**_kwargs: Any) -> None:
    """A worker asks the broker for work and waits for the answer, so its connections need a longer timeout."""
    patient = {"socket_timeout": WORKER_SOCKET_SECONDS, "max_retries": None}
    app.conf.broker_transport_options = {**app.conf.broker_transport_options, **patient}


@worker_process_init.connect
def _forget_inherited_connections(**_kwargs: Any) -> None:
    """A forked child must not share its parent's pooled connections."""
    from django.db import connections  # noqa: PLC0415 - Django is not loaded when this module is

    connections.close_all()


@setup_logging.connect
def _keep_the_log(**_kwargs: Any) -> None:
    """Celery adds no handler of its own: every line passes the redactor of ``config.logs``."""


@task_prerun.connect
def _bind_task(*, task_id: str, task: Any, kwargs: dict[str, Any], **_else: Any) -> None:
    sender = getattr(task.request, "__django_structlog__", None) or {}
    bind_task(task_id=task_id, name=task.name, kwargs=kwargs, sender=sender)


@task_postrun.connect
def _forget_task(**_kwargs: Any) -> None:
    forget_task()
