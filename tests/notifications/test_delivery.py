from datetime import timedelta

import pytest
from django.db import transaction

from ledger.transaction_guard import OpenTransactionError
from notifications.channels.fake import FakeChannel
from notifications.channels.port import Delivery, DeliveryOutcome
from notifications.delivery import deliver
from notifications.messages import message_id_for
from notifications.models import Notification
from notifications.services import claim_notification, queue_notification
from tests.factories import NOW, make_customer
from tests.notifications.facts_strategies import confirmed

pytestmark = pytest.mark.django_db
EVENT = "refund.completed:rfop_1"


@pytest.fixture
def owed():
    customer = make_customer(user__email="ada@example.com")
    queue_notification(
        logical_event_id=EVENT, customer_id=customer.pk, subject_id="wf_1", facts=confirmed(), now=NOW
    )
    return Notification.objects.get()


def test_the_message_is_the_catalogues_words_and_one_link(owed, settings):
    settings.PUBLIC_URL = "https://desk.example.com"
    channel = FakeChannel()
    assert claim_notification(notification_id=owed.pk, now=NOW)
    assert deliver(notification_id=owed.pk, now=NOW, channel=channel) is DeliveryOutcome.DELIVERED
    (message,) = channel.sent
    assert message.recipient == "ada@example.com"
    assert message.subject == "Your refund of $49.99 for order #2841 was processed."
    assert message.body == (
        "Your refund of $49.99 for order #2841 was processed.\n\n"
        "Our payment processor confirmed it on 28 Nov 2026, 10:41 UTC, to the card ending 4242. "
        "Transaction reference: re_1.\n\n"
        "Your bank decides when it appears on your statement.\n\n"
        "Your request: RF-7K2M-91Q4\n"
        "https://desk.example.com/support/requests/RF-7K2M-91Q4/\n"
    )
    owed.refresh_from_db()
    assert owed.delivered_at == NOW
    assert owed.attempts.get().message_id == message.message_id == message_id_for(EVENT)


def test_a_merchant_with_a_host_of_its_own_gets_links_to_it(owed):
    merchant = owed.customer.merchant
    merchant.host = "shop.example.net"
    merchant.save()
    channel = FakeChannel()
    claim_notification(notification_id=owed.pk, now=NOW)
    deliver(notification_id=owed.pk, now=NOW, channel=channel)
    assert "http://shop.example.net:8000/support/requests/RF-7K2M-91Q4/\n" in channel.sent[0].body


@pytest.mark.failure("F122")
def test_every_attempt_of_one_event_has_the_same_message_id_and_other_events_another(owed):
    channel, now = FakeChannel([Delivery(DeliveryOutcome.TRANSIENT, "SMTP_421")]), NOW
    for _ in range(2):
        assert claim_notification(notification_id=owed.pk, now=now)
        deliver(notification_id=owed.pk, now=now, channel=channel)
        now += timedelta(days=1)
    assert [message.message_id for message in channel.sent] == [message_id_for(EVENT)] * 2
    assert message_id_for("refund.completed:rfop_2") != message_id_for(EVENT)


def test_nothing_is_sent_without_a_claim_or_after_the_delivery(owed):
    channel = FakeChannel()
    assert deliver(notification_id=owed.pk, now=NOW, channel=channel) is None
    claim_notification(notification_id=owed.pk, now=NOW)
    assert deliver(notification_id=owed.pk, now=NOW + timedelta(hours=1), channel=channel) is None
    deliver(notification_id=owed.pk, now=NOW, channel=channel)
    assert deliver(notification_id=owed.pk, now=NOW, channel=channel) is None
    assert len(channel.sent) == 1


def test_nothing_is_sent_inside_a_transaction(owed):
    channel = FakeChannel()
    claim_notification(notification_id=owed.pk, now=NOW)
    with transaction.atomic(), pytest.raises(OpenTransactionError):
        deliver(notification_id=owed.pk, now=NOW, channel=channel)
    assert channel.sent == []
    assert owed.attempts.count() == 0


def test_a_customer_without_an_address_ends_in_a_final_failure(owed):
    owed.customer.user = None
    owed.customer.save()
    claim_notification(notification_id=owed.pk, now=NOW)
    assert deliver(notification_id=owed.pk, now=NOW) is DeliveryOutcome.PERMANENT
    owed.refresh_from_db()
    assert owed.failed_at == NOW
    assert owed.attempts.get().detail == "NO_ADDRESS"


def test_a_fault_of_our_own_uses_up_an_attempt(owed):
    Notification.objects.update(facts={"workflow_state": "COMPLETED"})
    claim_notification(notification_id=owed.pk, now=NOW)
    assert deliver(notification_id=owed.pk, now=NOW, channel=FakeChannel()) is DeliveryOutcome.TRANSIENT
    assert owed.attempts.get().detail == "FAULT_TYPEERROR"
