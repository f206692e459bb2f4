from datetime import timedelta
from threading import Barrier, Thread

import pytest
from django.db import connection, transaction

from notifications.channels.port import Delivery, DeliveryOutcome
from notifications.models import Notification, NotificationAttempt
from notifications.services import (
    CLAIM_FOR,
    claim_due_notifications,
    claim_notification,
    queue_notification,
    record_attempt,
)
from tests.factories import NOW, make_customer
from tests.notifications.facts_strategies import confirmed

TRANSIENT = Delivery(DeliveryOutcome.TRANSIENT, "SMTP_421")


def owe(logical_event_id="refund.completed:rfop_1", *, customer=None, now=NOW):
    customer = customer or make_customer()
    queue_notification(
        logical_event_id=logical_event_id,
        customer_id=customer.pk,
        subject_id="wf_1",
        facts=confirmed(),
        now=now,
    )
    return Notification.objects.get(logical_event_id=logical_event_id)


def attempt(row, delivery, *, now=NOW, jitter=lambda seconds: seconds):
    return record_attempt(
        notification_id=row.pk,
        channel="fake",
        message_id="<1@example.com>",
        delivery=delivery,
        now=now,
        jitter=jitter,
    )


@pytest.mark.django_db
def test_one_logical_event_is_owed_once_and_a_repeat_spoils_no_transaction():
    first = owe()
    with transaction.atomic():
        owe(customer=first.customer, now=NOW + timedelta(hours=1))
        assert Notification.objects.count() == 1
    row = Notification.objects.get()
    assert (row.pk, row.created_at, row.next_attempt_at) == (first.pk, NOW, NOW)


@pytest.mark.django_db
@pytest.mark.failure("F120")
def test_a_rolled_back_change_owes_nothing():
    with transaction.atomic():
        owe()
        transaction.set_rollback(True)
    assert Notification.objects.count() == 0


@pytest.mark.django_db
def test_only_due_and_free_messages_are_claimed_the_longest_due_first():
    late, due = owe("refund.completed:b", now=NOW - timedelta(minutes=1)), owe("refund.completed:a")
    owe("refund.completed:later", now=NOW + timedelta(seconds=1))
    assert claim_due_notifications(now=NOW, limit=10) == (late.pk, due.pk)
    assert claim_due_notifications(now=NOW, limit=10) == ()
    assert not claim_notification(notification_id=due.pk, now=NOW)


@pytest.mark.django_db
def test_a_batch_is_bounded():
    customer = make_customer()
    for number in range(25):
        owe(f"refund.completed:{number}", customer=customer)
    assert len(claim_due_notifications(now=NOW, limit=100)) == 20
    assert len(claim_due_notifications(now=NOW, limit=3)) == 3


@pytest.mark.django_db
def test_a_delivered_message_is_done():
    row = owe()
    assert claim_notification(notification_id=row.pk, now=NOW)
    attempt(row, Delivery(DeliveryOutcome.DELIVERED))
    row.refresh_from_db()
    assert (row.delivered_at, row.failed_at, row.next_attempt_at, row.claimed_until) == (
        NOW,
        None,
        None,
        None,
    )
    assert claim_due_notifications(now=NOW + timedelta(days=9), limit=10) == ()


@pytest.mark.django_db
@pytest.mark.failure("F126")
def test_transient_errors_end_after_eight_attempts_and_stay_visible():
    row, now = owe(), NOW
    for number in range(1, 9):
        made = attempt(row, TRANSIENT, now=now)
        row.refresh_from_db()
        assert (made.number, row.failed_at is None) == (number, number < 8)
        now = row.next_attempt_at or now
    assert row.next_attempt_at is None
    assert row.failed_at == now
    assert list(row.attempts.values_list("outcome", "detail").distinct()) == [("TRANSIENT", "SMTP_421")]
    assert claim_due_notifications(now=now + timedelta(days=9), limit=10) == ()


@pytest.mark.django_db
@pytest.mark.failure("F126")
def test_a_permanent_error_is_never_tried_again():
    row = owe()
    attempt(row, Delivery(DeliveryOutcome.PERMANENT, "SMTP_550"))
    row.refresh_from_db()
    assert (row.failed_at, row.next_attempt_at) == (NOW, None)
    assert row.attempts.count() == 1


@pytest.mark.django_db
def test_a_slower_attempt_does_not_undo_a_delivery():
    row = owe()
    attempt(row, Delivery(DeliveryOutcome.DELIVERED))
    attempt(row, TRANSIENT, now=NOW + timedelta(minutes=1))
    row.refresh_from_db()
    assert (row.delivered_at, row.failed_at, row.next_attempt_at) == (NOW, None, None)
    assert row.attempts.count() == 2


@pytest.mark.django_db
@pytest.mark.failure("F122")
def test_an_attempt_whose_outcome_was_not_recorded_counts_and_so_repeats_are_bounded():
    row, now, claims = owe(), NOW, 0
    while True:
        claims += len(claim_due_notifications(now=now, limit=10))
        row.refresh_from_db()
        if row.failed_at is not None:
            break
        now = max(row.next_attempt_at, row.claimed_until or now)
    assert claims == 8
    details = set(NotificationAttempt.objects.values_list("detail", flat=True))
    assert details == {"OUTCOME_NOT_RECORDED"}


@pytest.mark.django_db(transaction=True)
@pytest.mark.failure("F058")
def test_parallel_scanners_never_claim_the_same_message():
    customer = make_customer()
    ids = {owe(f"refund.completed:{number}", customer=customer).pk for number in range(12)}
    gate, claimed = Barrier(4), []

    def scan():
        gate.wait()
        claimed.extend(claim_due_notifications(now=NOW, limit=12))
        connection.close()

    threads = [Thread(target=scan) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    claimed.extend(claim_due_notifications(now=NOW, limit=20))
    assert sorted(claimed) == sorted(ids)
    assert set(Notification.objects.values_list("claimed_until", flat=True)) == {NOW + CLAIM_FOR}
