"""What the provider tells, signed and sent by it, over the address that takes it: early, late, foreign, in bad hours."""

import pytest
from django.db import connection
from django.db.utils import DatabaseError
from django.test import Client
from django.utils import timezone

from ledger.models import LedgerEntry
from refunds import pipeline, recovery
from refunds.evidence.remaining import conservation_of
from refunds.gateways.contract import STRIPE_V1
from refunds.metrics.collector import DeskCollector
from refunds.models import GatewayResponse, GatewayWebhook, ReconciliationCheck, RefundOperation
from tests.failures.driving import executable, inserts_fail, patient, send
from tests.stages.trail import nothing_written, path
from tests.support.webhook_receiver import webhook_receiver

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "whsec_of_the_desk"


class Inbox:
    """The desk's address for events: each delivery of the provider is passed on to it as it came."""

    def __init__(self, desk, url):
        self.desk, self.url = desk, url
        self.at_once = False  # whether a worker applies an event before the provider goes on
        self.deliveries, self.statuses, self.seen = [], [], []

    def hear_only(self, *types):
        self.desk.sim.remove_endpoints()
        self.desk.sim.add_endpoint(self.url, SECRET, types=list(types))

    def take(self, one):
        try:
            self.deliveries.append(one)
            self.statuses.append(self.post(one))
            if self.at_once:
                self.apply_all()
            states = RefundOperation.objects.values_list("state", flat=True)
            self.seen.append((list(states), GatewayResponse.objects.count()))
        finally:
            connection.close()

    def post(self, one):
        client = Client(raise_request_exception=False)
        headers = {"Stripe-Signature": one.signature}
        answer = client.post("/webhooks/stripe", one.body, content_type="application/json", headers=headers)
        return answer.status_code

    def apply_all(self):
        """Do what the scanner finds to do with stored events; return how many those were."""
        found = recovery.find_unapplied_webhooks(now=self.desk.now)
        for nudge in found:
            pipeline.apply_webhook(
                webhook_id=int(nudge.kwargs["webhook_id"]), gateway=self.desk.gateway, contract=STRIPE_V1,
                livemode=False, now=self.desk.now,
            )  # fmt: skip
        return len(found)


@pytest.fixture
def inbox(desk, settings, monkeypatch):
    settings.STRIPE_WEBHOOK_SECRETS = (SECRET,)
    desk.now = timezone.now()
    monkeypatch.setattr("refunds.webhooks.now_utc", desk.clock)
    with webhook_receiver() as receiver:
        opened = Inbox(desk, receiver.url)
        receiver.on_event = opened.take
        opened.hear_only("refund.created")
        yield opened
        desk.sim.reset()  # the receiver is about to go


def lost(desk):
    """Return an operation whose refund was booked and told, while its answer was lost."""
    _, operation = executable(desk)
    desk.sim.arm("drop_after")
    assert send(desk, operation).state == "STATUS_UNKNOWN"
    desk.sim.wait_until_sent()
    return operation


def completed_once(desk, operation):
    """The event led to the refund, without any look of the scanners over operations, and to it alone."""
    assert path(operation) == ["CREATED", "SUBMITTED", "STATUS_UNKNOWN", "COMPLETED"]
    assert (len(desk.posts()), len(desk.sim.refunds())) == (1, 1)
    assert ReconciliationCheck.objects.get().cause == "WEBHOOK"
    assert desk.messages() == [f"refund.completed:{operation.pk}"]
    desk.assert_books_agree()


@pytest.mark.failure("F002")
@pytest.mark.parametrize("copies", [1, 3])
def test_an_event_that_comes_before_the_answer_books_our_own_refund_once(desk, inbox, copies):
    made, operation = executable(desk)
    desk.gateway, inbox.at_once = patient(desk), True
    desk.sim.bend_webhooks(early=True, copies=copies)

    send(desk, operation)
    desk.sim.wait_until_sent()

    assert inbox.seen[0] == (["COMPLETED"], 0)  # no answer of the call was stored yet
    assert inbox.statuses == [200] * copies
    assert (GatewayResponse.objects.count(), GatewayWebhook.objects.get().outcome) == (1, "APPLIED")
    assert path(operation) == ["CREATED", "SUBMITTED", "COMPLETED"]
    entry = LedgerEntry.objects.get(kind="REFUND")
    assert (entry.payment_id, entry.processor_reference) == (made.refunded.pk, desk.sim.refunds()[0]["id"])
    assert (len(desk.posts()), len(desk.sim.refunds())) == (1, 1)
    assert desk.messages() == [f"refund.completed:{operation.pk}"]
    desk.assert_books_agree()


@pytest.mark.failure("F033")
def test_an_event_that_could_not_be_stored_is_not_taken_and_its_next_delivery_is(desk, inbox):
    with inserts_fail("gateway_webhooks"):
        operation = lost(desk)
    assert set(inbox.statuses) == {500}
    assert not GatewayWebhook.objects.exists()

    (event,) = {delivery["event"] for delivery in desk.sim.deliveries()}
    desk.sim.resend_webhook(event, copies=2)
    desk.sim.wait_until_sent()

    assert inbox.statuses[-2:] == [200, 200]
    assert inbox.apply_all() == 1
    completed_once(desk, operation)


@pytest.mark.failure("F033")
@pytest.mark.parametrize("table", ["reconciliation_checks", "refund_operation_events", "ledger_entries"])
def test_an_event_whose_handling_meets_a_fault_of_the_database_is_handled_once_afterwards(desk, inbox, table):
    operation = lost(desk)
    with inserts_fail(table), pytest.raises(DatabaseError, match="planted"):
        inbox.apply_all()
    assert inbox.statuses == [200]
    assert GatewayWebhook.objects.get().outcome == "RECEIVED"
    assert path(operation)[-1] == "STATUS_UNKNOWN"

    desk.later(minutes=10)
    assert inbox.apply_all() == 1
    completed_once(desk, operation)
    desk.later(days=1)
    assert inbox.apply_all() == 0


@pytest.mark.failure("F038")
@pytest.mark.parametrize("changed", [{"livemode": True}, {"account": "acct_of_a_clone"}])
def test_a_signed_event_of_another_mode_or_account_is_taken_counted_and_changes_nothing(desk, inbox, changed):
    desk.sim.bend_webhooks(**changed)
    operation = lost(desk)
    before, asked = RefundOperation.objects.values().get(), len(desk.sim.log())

    assert inbox.apply_all() == 1

    stored = GatewayWebhook.objects.get()
    assert (inbox.statuses, stored.outcome, stored.next_attempt_at) == ([200], "IGNORED", None)
    assert (RefundOperation.objects.values().get(), len(desk.sim.log())) == (before, asked)
    assert path(operation)[-1] == "STATUS_UNKNOWN"
    assert not LedgerEntry.objects.filter(kind="REFUND").exists()
    assert counted(desk) == {"IGNORED": 1}


def counted(desk):
    """Return the events of the last hours by what became of them, as the operator's numbers say."""
    (family,) = (
        family
        for family in DeskCollector(clock=desk.clock).collect()
        if family.name == "refund_desk_webhooks_recent"
    )
    return {sample.labels["outcome"]: sample.value for sample in family.samples if sample.value}


@pytest.mark.failure("F039")
@pytest.mark.failure("F040")
def test_an_event_is_verified_as_it_arrives_and_handled_by_workers_that_were_away_for_twenty_minutes(
    desk, inbox
):
    operation = lost(desk)
    (delivery,) = inbox.deliveries
    stored = GatewayWebhook.objects.get()
    assert (inbox.statuses, stored.body.body.encode()) == ([200], delivery.body)
    assert path(operation)[-1] == "STATUS_UNKNOWN"

    desk.later(minutes=20)
    with nothing_written():
        assert inbox.post(delivery) == 400  # recorded and sent again: too old to be believed

    assert inbox.apply_all() == 1
    completed_once(desk, operation)


@pytest.mark.failure("F025")
def test_a_provider_that_tells_of_failures_alone_is_polled_to_the_end_and_believed_later(desk, inbox):
    inbox.hear_only("refund.failed")
    desk.later(hours=-5)  # signatures carry the machine's time
    made, operation = executable(desk)
    desk.sim.arm("pending")
    assert send(desk, operation).state == "PROVIDER_PENDING"
    (refund,) = desk.sim.refunds()
    desk.sim.set_refund_status(refund["id"], "succeeded")
    desk.sim.wait_until_sent()
    desk.later(hours=5)
    desk.scan()
    assert (inbox.deliveries, path(operation)[-1]) == ([], "COMPLETED")
    assert conservation_of(made.refunded.pk).remaining == 0

    desk.sim.set_refund_status(refund["id"], "failed", failure_reason="expired_or_canceled_card")
    desk.sim.wait_until_sent()
    assert (inbox.statuses, inbox.apply_all()) == ([200], 1)

    assert path(operation)[-2:] == ["COMPLETED", "FAILED"]
    assert conservation_of(made.refunded.pk).remaining == 4999
    assert desk.workflow(operation.workflow_id).state == "MANUAL_REVIEW"
    assert desk.messages() == [f"refund.completed:{operation.pk}", f"refund.returned:{operation.pk}"]
    assert len(desk.posts()) == 1
