"""Stage 13. Notify the customer, asynchronously.

Input: a message that was queued in the transaction that made it true, under a stable logical id.
Output: a delivery attempt.
Failure destination: the message is retried, or given up with an alert; the refund is never touched from here.
"""

from datetime import datetime

from notifications.delivery import deliver


def notify_customer(*, notification_id: int, now: datetime) -> None:
    """Try to deliver one message, outside any transaction, and record how it ended."""
    deliver(notification_id=notification_id, now=now)
