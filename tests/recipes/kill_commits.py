"""Where workers are killed between two commits: from the opened request to the recorded delivery of its receipt.

A table that may not be written to stops every worker that is about to, with all before it committed.
"""

import random
import time
from datetime import timedelta

from django.utils import timezone

from approvals.models import ApprovalRequest
from notifications.models import Notification
from refunds import pipeline
from refunds.evidence.webhooks import keep_event
from refunds.gateways.stripe_events import ProviderEvent
from refunds.models import GatewayWebhook, RefundOperation
from refunds.nudges import advance, submit
from tests.factories import make_staff
from tests.recipes.kill_points import (
    LOST,
    KillPoint,
    booked_and_not_answered,
    close_what_waits,
    let_go,
)
from tests.support.workers import send

_WHOLE = ("CREATED", "SUBMITTED")
_ANY_MOMENT_SECONDS, _MORE_MESSAGES_SECONDS = 0.6, 1.0


def _before_evidence(scene):
    scene.ask()
    scene.owner.hold_workflows(scene.requests)
    scene.advance()
    scene.until_they_wait("the wait to record the evidence")


def _stopped_before(table):
    """Return how to bring requests to the first write of ``table``, whatever comes before it committed."""

    def reach(scene):
        scene.ask()
        scene.owner.hold_writes(table)
        scene.advance()
        scene.until_they_wait(f"the wait to write {table}")

    return reach


def _approved_by_people(scene):
    scene.ask(amount_minor_units=14_900)
    reviewer = make_staff(merchant=scene.merchant)
    for workflow_id in scene.requests:
        scene.desk.run_one(advance(workflow_id))
    scene.owner.hold_writes("refund_operations")
    for workflow_id in scene.requests:
        approval = ApprovalRequest.objects.get(subject_id=workflow_id)
        pipeline.decide(
            approval_id=approval.pk,
            decision="approve",
            staff_user_id=reviewer.pk,
            fingerprint=approval.request_fingerprint,
            reason_code="DUPLICATE_CONFIRMED",
            note="",
            now=timezone.now(),
        )
    scene.advance()
    scene.until_they_wait("the wait to create the operation")


def _before_the_attempt(scene):
    scene.commit_operations()
    scene.owner.hold_writes("gateway_attempts")
    scene.submit()
    scene.until_they_wait("the wait to record the attempt", or_there=scene.begun)


def _lose_answers(scene):
    """Leave operations whose refund was made and whose answer was lost, not yet looked up."""
    scene.commit_operations()
    for operation in scene.operations:
        scene.desk.sim.arm("drop_after", idempotency_key=operation.idempotency_key)
        scene.desk.now = timezone.now()
        scene.desk.run_one(submit(operation.pk))


def _look_up(scene):
    for operation in scene.operations:
        send("reconcile_operation", operation_id=operation.pk)


def _while_looking_up(scene):
    scene.desk.sim.arm("hold", on="list", count=None)
    _lose_answers(scene)
    _look_up(scene)
    sim = scene.desk.sim
    scene.wait(
        lambda: sim.control("GET", "faults")["waiting"] >= scene.together, "every look-up's being there"
    )


def _before_the_check(scene):
    scene.owner.hold_writes("reconciliation_checks")
    _lose_answers(scene)
    _look_up(scene)
    scene.until_they_wait("the wait to record what was found")


def _store_events(scene, *, due):
    """Store one event of the provider for each refund, as the web process does; return the rows' ids."""
    stored = []
    for operation in scene.operations:
        (refund,) = scene.desk.sim.refunds(operation.payment_reference)
        event = ProviderEvent(
            event_id=f"evt_{refund['id']}",
            event_type="refund.updated",
            account="",
            livemode=False,
            happened_at=timezone.now(),
            object_id=refund["id"],
            payment_references=(operation.payment_reference,),
            operation_id=operation.pk,
        )
        stored.append(keep_event(event, provider="stripe", body="{}", now=due)[0])
    return stored


def _apply(webhook_ids):
    for webhook_id in webhook_ids:
        send("apply_webhook", webhook_id=str(webhook_id))


def _event_before_the_answer(scene):
    booked_and_not_answered(scene)
    scene.owner.hold_writes("reconciliation_checks")
    _apply(_store_events(scene, due=timezone.now()))
    scene.until_they_wait("the wait to record what the event led to")


def _event_applied_and_not_closed(scene):
    _lose_answers(scene)
    later = timezone.now() + timedelta(hours=1)  # the event alone is what leads to a look
    RefundOperation.objects.filter(workflow_id__in=scene.requests).update(next_check_at=later)
    stored = _store_events(scene, due=later)
    scene.owner.hold_writes("gateway_webhooks")
    _apply(stored)
    scene.until_they_wait("the wait to close the event")


def _make_events_due(scene):
    scene.owner.let_go()
    GatewayWebhook.objects.filter(outcome="RECEIVED").update(next_attempt_at=timezone.now())


def _message_left_and_not_recorded(scene):
    scene.commit_operations()
    scene.owner.hold_writes("notification_attempts")
    scene.submit()
    # Those who deliver are few, and each has more than one message in hand.
    claimed = Notification.objects.filter(subject_id__in=scene.requests, claimed_until__isnull=False)
    scene.wait(lambda: claimed.exists() and scene.owner.waiting() >= 1, "the wait to record a delivery")
    time.sleep(_MORE_MESSAGES_SECONDS)


def _any_moment(scene):
    """No hold at all: whatever the workers are at when a random time is over."""
    scene.ask()
    scene.advance()
    time.sleep(random.uniform(0.0, _ANY_MOMENT_SECONDS))


_UNSENT = {"attempts": 0, "booked": 0, "path": _WHOLE, "posts": 1}
BETWEEN_COMMITS = {
    "f-opened": KillPoint(_before_evidence, let_go, "", request="EVIDENCE_PENDING", **_UNSENT),
    "g-evidence-kept": KillPoint(
        _stopped_before("proposals"), let_go, "", request="EVIDENCE_VERIFIED", **_UNSENT
    ),
    "h-proposal-written": KillPoint(
        _stopped_before("approval_requests"), let_go, "", request="EVIDENCE_VERIFIED", **_UNSENT
    ),
    "i-approval-written": KillPoint(
        _stopped_before("refund_operations"), let_go, "", request="EVIDENCE_VERIFIED", **_UNSENT
    ),
    "j-approved-by-people": KillPoint(_approved_by_people, let_go, "", request="APPROVED", **_UNSENT),
    "k-checked-again": KillPoint(_before_the_attempt, let_go, "CREATED", **_UNSENT),
    "l-looking-up": KillPoint(
        _while_looking_up, close_what_waits, "STATUS_UNKNOWN", 1, 1, (*LOST, "COMPLETED"), posts=1, answers=1
    ),
    "m-found-not-recorded": KillPoint(
        _before_the_check, let_go, "STATUS_UNKNOWN", 1, 1, (*LOST, "COMPLETED"), posts=1, answers=1
    ),
    "n-event-not-recorded": KillPoint(
        _event_before_the_answer, close_what_waits, "SUBMITTED", 1, 1, _WHOLE, posts=1, answer_lost=True
    ),
    "o-event-not-closed": KillPoint(
        _event_applied_and_not_closed, _make_events_due, "COMPLETED", 1, 1, (*LOST, "COMPLETED"), posts=1,
        request="COMPLETED", answers=1,
    ),
    "p-message-not-recorded": KillPoint(
        _message_left_and_not_recorded, let_go, "COMPLETED", 1, 1, (*_WHOLE, "COMPLETED"), posts=1,
        request="COMPLETED", answers=1,
    ),
}  # fmt: skip
ANY_MOMENT = KillPoint(_any_moment, let_go, "*", 0, 0, ("CREATED",), posts=1, request="*")
