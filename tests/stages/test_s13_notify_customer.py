import pytest

from ledger.transaction_guard import OpenTransactionError
from notifications.channels.email import EmailChannel
from notifications.channels.fake import FakeChannel
from notifications.channels.port import Delivery, DeliveryOutcome
from notifications.models import Notification, NotificationAttempt
from notifications.services import claim_notification
from refunds.models import RefundOperation, RefundOperationEvent, RefundWorkflowEvent
from refunds.stages.s10_submit_refund import submit_refund
from refunds.stages.s12_commit_evidence import evidence_transaction
from refunds.stages.s13_notify_customer import notify_customer
from refunds.states import OperationState
from tests.factories import NOW, operation_in_state
from tests.stages.gateways import fake_gateway_for
from tests.stages.trail import nothing_written, path

pytestmark = pytest.mark.django_db


@pytest.fixture
def channel(monkeypatch):
    """The channel that the settings name."""
    channel = FakeChannel()
    monkeypatch.setattr(EmailChannel, "from_settings", lambda: channel)
    return channel


@pytest.fixture
def owed():
    """The receipt of a refund that was just completed, claimed by this worker."""
    operation = operation_in_state(OperationState.CREATED)
    submit_refund(operation_id=operation.pk, gateway=fake_gateway_for(operation), clock=lambda: NOW)
    row = Notification.objects.get()
    assert claim_notification(notification_id=row.pk, now=NOW)
    return row


def refund_rows():
    return (
        list(RefundOperation.objects.values()),
        RefundOperationEvent.objects.count(),
        RefundWorkflowEvent.objects.count(),
    )


def test_the_receipt_tells_what_the_rows_prove(channel, owed):
    notify_customer(notification_id=owed.pk, now=NOW)
    (message,) = channel.sent
    operation = RefundOperation.objects.get()
    assert message.recipient == owed.customer.user.email
    assert (
        message.subject
        == f"Your refund of $49.99 for order #{operation.workflow.order.number} was processed."
    )
    assert operation.processor_reference in message.body
    assert NotificationAttempt.objects.get().outcome == "DELIVERED"
    owed.refresh_from_db()
    assert (owed.delivered_at, owed.next_attempt_at) == (NOW, None)


@pytest.mark.failure("F121")
@pytest.mark.parametrize(
    ("delivery", "tried_again"),
    [
        (Delivery(DeliveryOutcome.TRANSIENT, "SMTP_421"), True),
        (Delivery(DeliveryOutcome.PERMANENT, "SMTP_550"), False),
    ],
)
def test_a_receipt_that_cannot_be_delivered_never_touches_the_refund(channel, owed, delivery, tried_again):
    before = refund_rows()
    channel._script.append(delivery)
    notify_customer(notification_id=owed.pk, now=NOW)
    attempt = NotificationAttempt.objects.get()
    assert (attempt.outcome, attempt.detail) == (delivery.outcome, delivery.detail)
    owed.refresh_from_db()
    assert (owed.next_attempt_at is not None, owed.failed_at is None) == (tried_again, tried_again)
    assert refund_rows() == before
    assert path(RefundOperation.objects.get())[-1] == "COMPLETED"


def test_a_repeated_nudge_sends_nothing_again(channel, owed):
    notify_customer(notification_id=owed.pk, now=NOW)
    with nothing_written():
        notify_customer(notification_id=owed.pk, now=NOW)
    assert len(channel.sent) == 1


def test_nothing_is_sent_inside_a_transaction(channel, owed):
    operation = RefundOperation.objects.get()
    opened = evidence_transaction(workflow_id=operation.workflow_id, now=NOW)
    with nothing_written(), pytest.raises(OpenTransactionError), opened:
        notify_customer(notification_id=owed.pk, now=NOW)
    assert channel.sent == []
