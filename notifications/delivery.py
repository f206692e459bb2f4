"""Deliver one claimed message: the send stands outside any transaction, its record comes after (stage 13)."""

from datetime import datetime

import structlog

from ledger.transaction_guard import refuse_open_transaction
from notifications.channels.email import EmailChannel
from notifications.channels.port import Channel, Delivery, DeliveryOutcome
from notifications.messages import message_for, message_id_for
from notifications.models import Notification
from notifications.services import record_attempt

logger = structlog.get_logger("notifications")


def deliver(*, notification_id: int, now: datetime, channel: Channel | None = None) -> DeliveryOutcome | None:
    """Try once to deliver a message that this worker has claimed, and record how it ended.

    None: there is nothing to do, because it is not claimed, or was delivered or given up meanwhile. Raises
    ``OpenTransactionError`` inside a transaction.
    """
    refuse_open_transaction()
    row = Notification.objects.select_related("customer__user", "customer__merchant").get(pk=notification_id)
    claimed = row.claimed_until is not None and row.claimed_until > now
    if not claimed or row.delivered_at is not None or row.failed_at is not None:
        return None
    way = channel or EmailChannel.from_settings()
    delivery = _send(row, way)
    record_attempt(
        notification_id=row.pk,
        channel=way.name,
        message_id=message_id_for(row.logical_event_id),
        delivery=delivery,
        now=now,
    )
    return delivery.outcome


def _send(row: Notification, channel: Channel) -> Delivery:
    try:
        return channel.send(message_for(row))
    except Exception as error:
        # A fault of our own must use up attempts as well, or one message is tried for ever.
        logger.exception("notification.fault", logical_event_id=row.logical_event_id)
        return Delivery(DeliveryOutcome.TRANSIENT, f"FAULT_{type(error).__name__.upper()}")
