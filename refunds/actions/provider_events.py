"""What a stored event of the provider leads to: a look-up, an adopted refund, a dispute that lands, or nothing.

An event says where to look, and the object says what is true; order, repeats and age do not matter.
"""

from collections.abc import Sequence
from datetime import datetime

from refunds.evidence.event_facts import adopt_foreign_refund, fetch_refund, land_dispute, learn_refunds
from refunds.evidence.webhooks import (
    CONCLUSIVE_FOR_EVENTS,
    close_event,
    contradicted,
    operation_of,
    postpone_event,
    why_ignored,
)
from refunds.gateways.contract import ProviderContract
from refunds.gateways.events import Subject, subject_of
from refunds.gateways.port import Gateway
from refunds.models import GatewayWebhook, RefundOperation
from refunds.stages.s11_reconcile_outcome import reconcile_outcome
from refunds.states import CheckCause, CheckVerdict, WebhookOutcome


def apply_event(
    *, webhook_id: int, gateway: Gateway, contract: ProviderContract, livemode: bool, now: datetime
) -> None:
    """Apply one stored event, once; one that was applied, ignored or given up stays as it is."""
    webhook = GatewayWebhook.objects.get(pk=webhook_id)
    if webhook.outcome != WebhookOutcome.RECEIVED:
        return
    ignored = why_ignored(webhook, livemode=livemode)
    if ignored is not None:
        close_event(webhook, WebhookOutcome.IGNORED, ignored)
        return
    subject = subject_of(webhook.event_type)
    if subject is Subject.DISPUTE:
        land_dispute(webhook=webhook, contract=contract, now=now)
    elif subject is Subject.CHARGE:
        _apply_to_charge(webhook, gateway, contract, now)
    else:
        _apply_to_refund(webhook, gateway, contract, now)


def _apply_to_refund(
    webhook: GatewayWebhook, gateway: Gateway, contract: ProviderContract, now: datetime
) -> None:
    """Look up the one refund that an event is about; a thin event says only which, so it is fetched first."""
    operation, by_object = operation_of(webhook), ""
    if operation is None and not (webhook.payment_reference or webhook.operation_id):
        fetched, answered = fetch_refund(webhook, gateway)
        if fetched is None:
            postpone_event(webhook, "OBJECT_NOT_READABLE", counts=answered, now=now)
            return
        operation = operation_of(webhook, named_by_object=fetched.operation_id or "")
        by_object = fetched.payment_reference
    if operation is None:
        adopt_foreign_refund(webhook=webhook, gateway=gateway, now=now, named_by_object=by_object)
        return
    _look_up_for(webhook, (operation,), gateway, contract, now)


def _apply_to_charge(
    webhook: GatewayWebhook, gateway: Gateway, contract: ProviderContract, now: datetime
) -> None:
    """Look up every refund of ours on a charge; the event says only that something of it was refunded."""
    operations = learn_refunds(webhook=webhook, gateway=gateway, now=now)
    if operations:
        _look_up_for(webhook, operations, gateway, contract, now)
    elif operations is not None:
        close_event(webhook, WebhookOutcome.APPLIED, "LISTED")


def _look_up_for(
    webhook: GatewayWebhook,
    operations: Sequence[RefundOperation],
    gateway: Gateway,
    contract: ProviderContract,
    now: datetime,
) -> None:
    """Look up operations because an event says that there is a refund; close it once each of them shows one.

    All of them are looked up each time: one that shows nothing yet must not hide the others.
    """
    names_refund = subject_of(webhook.event_type) is Subject.REFUND
    open_verdicts: list[CheckVerdict | None] = []
    verdict: CheckVerdict | None = None
    for operation in operations:
        verdict = reconcile_outcome(
            operation_id=operation.pk,
            gateway=gateway,
            contract=contract,
            now=now,
            cause=CheckCause.WEBHOOK,
            seen_reference=webhook.object_id if names_refund else "",
        )
        if verdict not in CONCLUSIVE_FOR_EVENTS and not contradicted(operation.pk, verdict):
            open_verdicts.append(verdict)
    if not open_verdicts:
        close_event(webhook, WebhookOutcome.APPLIED, str(verdict))
        return
    unread = any(verdict in {None, CheckVerdict.STILL_AMBIGUOUS} for verdict in open_verdicts)
    postpone_event(webhook, str(open_verdicts[0] or "OVERTAKEN"), counts=not unread, now=now)
