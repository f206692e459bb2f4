"""What the provider's events tell of that nobody here ordered: refunds of the dashboard, and disputes.

Facts always land. What an event says of a refund only leads to a look-up; a dispute is taken from the event itself,
which can only hold money back or say how a dispute ended.
"""

from datetime import datetime
from typing import Final

from django.db import transaction

from ledger.models import LedgerEntry, Payment
from ledger.outbox import append_audit_event
from ledger.snapshot import EntryKind, EntryStatus
from refunds.evidence.booking import adopt_refunds
from refunds.evidence.webhooks import close_event, postpone_event
from refunds.gateways.contract import ProviderContract
from refunds.gateways.events import DisputeFact, read_dispute, read_event
from refunds.gateways.port import NO_MONEY, Gateway, LookupAnswer, ProviderStatus, RefundFact
from refunds.models import GatewayWebhook, RefundOperation
from refunds.states import UNRESOLVED_OPERATION_STATES, OperationState, WebhookOutcome

# Events come in any order, so a dispute only ever gets further; of two ends the one that holds money back counts.
_PROGRESS: Final = {EntryStatus.OPEN: 0, EntryStatus.WON: 1, EntryStatus.LOST: 2}


def payment_of(webhook: GatewayWebhook, *, named_by_object: str = "") -> Payment | None:
    """Return the payment, which the ledger may know by its charge or by its payment intent."""
    event = read_event(webhook.body.body.encode())  # words that were erased name nothing
    named = {webhook.payment_reference, named_by_object, *(event.payment_references if event else ())} - {""}
    return (
        Payment.objects.filter(account=webhook.account, processor_reference__in=named).order_by("pk").first()
    )


def fetch_refund(webhook: GatewayWebhook, gateway: Gateway) -> tuple[RefundFact | None, bool]:
    """Return the refund that an event only names, as it is now, and whether the provider answered at all."""
    found = gateway.retrieve_refund(processor_reference=webhook.object_id, account=webhook.account)
    return next(iter(found.refunds), None), found.http_status is not None


def adopt_foreign_refund(
    *, webhook: GatewayWebhook, gateway: Gateway, now: datetime, named_by_object: str = ""
) -> None:
    """Keep a refund that was made outside this system (the provider's dashboard) in the ledger of its payment."""
    payment = payment_of(webhook, named_by_object=named_by_object)
    if payment is None:
        close_event(webhook, WebhookOutcome.IGNORED, "NOT_OURS")
        return
    listed = _list_and_adopt(payment, gateway, now)
    if any(refund.processor_reference == webhook.object_id for refund in listed.refunds):
        close_event(webhook, WebhookOutcome.APPLIED, "ADOPTED")
    else:
        postpone_event(webhook, "NOT_LISTED_YET", counts=listed.complete, now=now)


def learn_refunds(
    *, webhook: GatewayWebhook, gateway: Gateway, now: datetime
) -> tuple[RefundOperation, ...] | None:
    """Learn from the list what was refunded of a charge, of which the event only says that something was.

    Foreign refunds are adopted. Return our operations that the list shows, or that the event names, and whose outcome
    is still open or is not what the list shows: one that was given up may have paid. None where the event was closed
    or postponed, because there is nothing to go on with.
    """
    payment = payment_of(webhook)
    if payment is None:
        close_event(webhook, WebhookOutcome.IGNORED, "NOT_OURS")
        return None
    listed = _list_and_adopt(payment, gateway, now)
    if not listed.refunds:
        postpone_event(webhook, "NOT_LISTED_YET", counts=listed.complete, now=now)
        return None
    named = {refund.operation_id for refund in listed.refunds if refund.operation_id} | {webhook.operation_id}
    ours = RefundOperation.objects.filter(pk__in=named - {""}, payment=payment).order_by("created_at", "pk")
    return tuple(operation for operation in ours if _is_open(operation, listed))


def _is_open(operation: RefundOperation, listed: LookupAnswer) -> bool:
    """Tell whether an operation is undecided, or decided otherwise than the list shows its refund."""
    if operation.state in UNRESOLVED_OPERATION_STATES:
        return True
    shown = {refund.status for refund in listed.refunds if refund.operation_id == operation.pk}
    done = operation.state == OperationState.COMPLETED
    return not shown <= ({ProviderStatus.SUCCEEDED} if done else NO_MONEY)


def land_dispute(*, webhook: GatewayWebhook, contract: ProviderContract, now: datetime) -> None:
    """Write a dispute into the ledger of its payment, where every later decision and submission finds it.

    A thin event names the dispute alone, and there is no verb to fetch it: it is given up loudly, never passed over
    as somebody else's.
    """
    payment = payment_of(webhook)
    event = read_event(webhook.body.body.encode())
    if event is not None and not event.payment_references:
        postpone_event(webhook, "DISPUTE_NOT_READABLE", counts=True, now=now)
        return
    if payment is None or event is None or event.dispute is None:
        close_event(webhook, WebhookOutcome.IGNORED, "NOT_OURS")
        return
    fact = read_dispute(event.dispute, processor_reference=webhook.object_id, contract=contract)
    if fact is None:
        postpone_event(webhook, "DISPUTE_NOT_READABLE", counts=True, now=now)
        return
    with transaction.atomic(durable=True):
        locked = Payment.objects.select_for_update(of=("self",), no_key=True).get(pk=payment.pk)
        _book_dispute(locked, fact, now)
    close_event(webhook, WebhookOutcome.APPLIED, f"DISPUTE_{fact.status}")


def _list_and_adopt(payment: Payment, gateway: Gateway, now: datetime) -> LookupAnswer:
    listed = gateway.list_refunds(payment_reference=payment.processor_reference, account=payment.account)
    with transaction.atomic(durable=True):
        locked = Payment.objects.select_for_update(of=("self",), no_key=True).get(pk=payment.pk)
        adopt_refunds([locked], [listed], now=now)
    return listed


def _book_dispute(payment: Payment, fact: DisputeFact, now: datetime) -> None:
    """Write the dispute's one entry, or bring its status up to date; the payment's lock is held."""
    entry, created = LedgerEntry.objects.get_or_create(
        merchant_id=payment.merchant_id,
        account=payment.account,
        processor_reference=fact.processor_reference,
        defaults={
            "payment": payment,
            "kind": EntryKind.DISPUTE,
            "status": fact.status,
            "amount_minor_units": fact.amount_minor_units,
            "currency": fact.currency,
            "occurred_at": fact.created_at or now,
        },
    )
    known = _PROGRESS.get(EntryStatus(entry.status), 0)
    if not created and (entry.kind != EntryKind.DISPUTE or _PROGRESS[fact.status] <= known):
        return
    if not created:
        entry.status = fact.status
        entry.save(update_fields=["status"])
    append_audit_event(
        topic="ledger.dispute_landed",
        subject=str(entry.pk),
        payload={
            "payment": payment.pk,
            "processor_reference": fact.processor_reference,
            "amount_minor_units": entry.amount_minor_units,
            "currency": entry.currency,
            "status": str(fact.status),
        },
        now=now,
    )
