"""Reads what the provider told without being asked: stored events and settlement rows, as plain facts."""

from collections.abc import Collection

from django.db.models import Q

from ledger.models import Settlement
from refunds.gateways.contract import ProviderContract
from refunds.gateways.port import EventFact, SettlementFact
from refunds.gateways.registry import uses_live_mode
from refunds.models import GatewayWebhook, RefundOperation


def events_about(
    operation: RefundOperation, contract: ProviderContract, *, modes: Collection[bool] | None = None
) -> tuple[EventFact, ...]:
    """Return the verified events of this account and mode that name the operation or its refund, oldest first.

    ``modes`` are live mode, test mode or both; None is that of this process's key, so whoever has no key must say.
    """
    rows = (
        GatewayWebhook.objects.filter(_names(operation, "object_id"))
        .filter(
            provider=contract.provider,
            account=operation.account,
            livemode__in=[uses_live_mode()] if modes is None else list(modes),
            event_type__in=contract.webhook.events.value,
        )
        .exclude(object_id="")
        .order_by("received_at", "pk")
    )
    return tuple(
        EventFact(
            event_id=row.event_id,
            event_type=row.event_type,
            processor_reference=row.object_id,
            happened_at=row.happened_at,
        )
        for row in rows.only("event_id", "event_type", "object_id", "happened_at")
    )


def settlements_about(operation: RefundOperation) -> tuple[SettlementFact, ...]:
    """Return the settlement rows of this merchant and account that name the operation or its refund, oldest first."""
    rows = Settlement.objects.filter(
        _names(operation, "processor_reference"), merchant=operation.merchant_id, account=operation.account
    )
    return tuple(
        SettlementFact(
            operation_id=row.operation_id or None,
            processor_reference=row.processor_reference,
            amount_minor_units=row.amount_minor_units,
            currency=row.currency,
            category=row.category,
            status="SETTLED",
            booked_at=row.booked_at,
            report=row.report,
        )
        for row in rows.order_by("booked_at", "pk")
    )


def _names(operation: RefundOperation, reference_column: str) -> Q:
    named = Q(operation_id=operation.pk)
    if operation.processor_reference is None:
        return named
    return named | Q(**{reference_column: operation.processor_reference})
