"""Keeps the provider's events, each once, and what became of them."""

from datetime import datetime, timedelta
from typing import Final

import structlog
from django.db import transaction
from django.db.models import Q

from ledger.models import ErasableText
from ledger.tracing import current_trace_id
from refunds.fingerprints import operation_of_key
from refunds.gateways.events import ProviderEvent, Subject, subject_of
from refunds.models import GatewayWebhook, ReconciliationCheck, RefundOperation
from refunds.states import CheckVerdict, WebhookOutcome

logger = structlog.get_logger("webhooks")
MAX_TRIES: Final = 10
# An event says that there is a refund; a look-up that does not show it yet is made again.
CONCLUSIVE_FOR_EVENTS: Final = frozenset(
    {CheckVerdict.CONFIRMED_COMPLETED, CheckVerdict.CONFIRMED_PENDING, CheckVerdict.CONFIRMED_FAILED}
)
FIRST_WAIT, LONGEST_WAIT = timedelta(seconds=10), timedelta(minutes=30)


def keep_event(event: ProviderEvent, *, provider: str, body: str, now: datetime) -> tuple[int, bool]:
    """Store a verified event; return its row's id and whether it is new. A repeat changes nothing.

    Committed before the provider is answered: what was answered is never lost, and what was not comes again.
    """
    same = GatewayWebhook.objects.filter(
        provider=provider, account=event.account, event_id=event.event_id
    ).values_list("pk", flat=True)
    known = same.first()
    if known is not None:
        return known, False
    with transaction.atomic(durable=True):
        text = ErasableText.keep(body, now=now)
        row = GatewayWebhook(
            provider=provider,
            account=event.account,
            event_id=event.event_id,
            event_type=event.event_type,
            livemode=event.livemode,
            object_id=event.object_id,
            payment_reference=event.payment_reference,
            operation_id=event.operation_id or operation_of_key(event.idempotency_key),
            happened_at=event.happened_at,
            body=text,
            body_sha256=text.sha256,
            trace_id=current_trace_id(),
            received_at=now,
            next_attempt_at=now,
        )
        GatewayWebhook.objects.bulk_create([row], ignore_conflicts=True)
        stored = same.get()
        created = GatewayWebhook.objects.filter(pk=stored, body=text).exists()
        if not created:
            text.delete()  # another delivery of the same event was faster
    return stored, created


def why_ignored(webhook: GatewayWebhook, *, livemode: bool) -> str | None:
    """Return why an event has no effect here, or None: it is stored all the same."""
    if webhook.livemode is not livemode:
        return "OTHER_MODE"
    if subject_of(webhook.event_type) is Subject.OTHER:
        return "NOT_ABOUT_A_REFUND"
    return None if webhook.object_id else "NO_OBJECT"


def operation_of(webhook: GatewayWebhook, *, named_by_object: str = "") -> RefundOperation | None:
    """Return the operation that the event is about: by our id or key in it, else by the provider's reference.

    ``named_by_object`` is what the object itself says, once it was fetched because the event does not say it.
    """
    names = {webhook.operation_id, named_by_object} - {""}
    named = Q(pk__in=names) if names else Q(pk=None)
    known = Q(processor_reference=webhook.object_id) if webhook.object_id else Q(pk=None)
    return (
        RefundOperation.objects.filter(named | known, account=webhook.account).order_by("created_at").first()
    )


def close_event(webhook: GatewayWebhook, outcome: WebhookOutcome, detail: str) -> None:
    """Record what became of the event; nothing more is done with it."""
    GatewayWebhook.objects.filter(pk=webhook.pk, outcome=WebhookOutcome.RECEIVED).update(
        outcome=outcome, detail=detail[:80], next_attempt_at=None, claimed_until=None
    )


def contradicted(operation_id: str, verdict: CheckVerdict | None) -> bool:
    """Say whether the newest check read everything and still could not tell: people have the operation then."""
    if verdict is not CheckVerdict.STILL_AMBIGUOUS:
        return False
    newest = ReconciliationCheck.objects.filter(operation_id=operation_id).order_by("-number").first()
    return newest is not None and all(source["complete"] for source in newest.sources)


def postpone_event(webhook: GatewayWebhook, detail: str, *, counts: bool, now: datetime) -> None:
    """Try the event again later, with growing waits.

    Only what could be read ``counts``: nothing else may ever look at a refund that was complete, or that nobody here
    ordered. An event that what was read does not bear out is given up, and somebody is told.
    """
    tries = webhook.tries + counts
    if tries >= MAX_TRIES:
        close_event(webhook, WebhookOutcome.GIVEN_UP, detail)
        logger.error("webhook.given_up", webhook_id=webhook.pk, event_type=webhook.event_type, detail=detail)
        return
    age = now - webhook.received_at
    wait = min(LONGEST_WAIT, max(FIRST_WAIT * 2 ** max(tries - 1, 0), age / 2))
    GatewayWebhook.objects.filter(pk=webhook.pk, outcome=WebhookOutcome.RECEIVED).update(
        tries=tries, detail=detail[:80], next_attempt_at=now + wait, claimed_until=None
    )
