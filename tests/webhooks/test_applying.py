"""What a stored event leads to: the object is asked, and its answer counts."""

import json
from datetime import timedelta

import pytest

from ledger.models import LedgerEntry
from notifications.models import Notification
from refunds import pipeline, recovery
from refunds.evidence.remaining import conservation_of
from refunds.evidence.webhooks import MAX_TRIES, keep_event
from refunds.gateways.contract import STRIPE_V1
from refunds.gateways.fake import FakeGateway, Ordered
from refunds.gateways.port import ProviderStatus, RefundCommand
from refunds.gateways.stripe_events import read_event
from refunds.models import GatewayWebhook, RefundOperation
from refunds.nudges import apply_webhook
from refunds.stages.s10_submit_refund import submit_refund
from refunds.states import OperationState
from tests.factories import NOW, make_duplicate_order, make_policy, open_workflow, operation_in_state
from tests.stages.gateways import fake_gateway_for
from tests.stages.trail import both, nothing_written, path
from tests.webhooks.signed import event

pytestmark = pytest.mark.django_db
_S = ProviderStatus


@pytest.fixture
def operation():
    return operation_in_state(OperationState.CREATED)


@pytest.fixture
def gateway(operation):
    return fake_gateway_for(operation)


def keep(what, *, now=NOW):
    body = json.dumps(what)
    webhook_id, _ = keep_event(read_event(body.encode()), provider="stripe", body=body, now=now)
    return webhook_id


def apply(webhook_id, gateway, *, livemode=False, now=NOW):
    pipeline.apply_webhook(
        webhook_id=webhook_id, gateway=gateway, contract=STRIPE_V1, livemode=livemode, now=now
    )
    return GatewayWebhook.objects.get(pk=webhook_id)


def submit(operation, gateway):
    return submit_refund(operation_id=operation.pk, gateway=gateway, clock=lambda: NOW)


def reference_of(gateway, operation):
    return gateway.refunds(operation.payment_reference)[0].processor_reference


@pytest.mark.failure("F002")
def test_an_event_about_a_lost_answer_completes_the_refund_without_another_request(operation, gateway):
    gateway.order(Ordered.BOOK_THEN_LOSE)
    submit(operation, gateway)
    stored = apply(keep(event(operation, reference=reference_of(gateway, operation))), gateway)
    assert (stored.outcome, stored.detail, stored.next_attempt_at) == ("APPLIED", "CONFIRMED_COMPLETED", None)
    assert path(operation)[-2:] == ["STATUS_UNKNOWN", "COMPLETED"]
    assert len(gateway.submissions) == 1
    assert LedgerEntry.objects.filter(kind="REFUND").count() == 1


@pytest.mark.failure("F032")
@pytest.mark.failure("F040")
def test_events_in_any_order_and_number_lead_to_what_the_object_says(operation, gateway):
    gateway.order(Ordered.PENDING)
    submit(operation, gateway)
    reference = reference_of(gateway, operation)
    gateway.set_status(reference, _S.SUCCEEDED)
    ids = [
        keep(event(operation, reference=reference, id=f"evt_{n}", about={"status": status}, created=created))
        for n, (status, created) in enumerate([("succeeded", 300), ("pending", 100), ("pending", 200)])
    ]
    later = NOW + timedelta(minutes=20)
    assert {apply(pk, gateway, now=later).outcome for pk in ids} == {"APPLIED"}
    assert path(operation)[-2:] == ["PROVIDER_PENDING", "COMPLETED"]
    assert Notification.objects.count() == 1


@pytest.mark.failure("F022")
def test_a_refund_that_fails_after_it_succeeded_is_taken_back(operation, gateway):
    submit(operation, gateway)
    reference = reference_of(gateway, operation)
    gateway.set_status(reference, _S.FAILED, failure_reason="expired_or_canceled_card")
    apply(keep(event(operation, event_type="refund.failed", reference=reference)), gateway)
    stored, workflow = both(operation)
    assert (path(stored)[-2:], path(workflow)[-2:]) == (
        ["COMPLETED", "FAILED"],
        ["COMPLETED", "MANUAL_REVIEW"],
    )
    assert conservation_of(operation.payment_id).remaining == 4999
    told = Notification.objects.filter(logical_event_id=f"refund.returned:{operation.pk}").get()
    assert told.facts["operation_state"] == "FAILED"
    assert len(gateway.submissions) == 1


@pytest.mark.failure("F023")
@pytest.mark.parametrize(
    ("status", "state"),
    [
        (_S.SUCCEEDED, "COMPLETED"),
        (_S.PENDING, "PROVIDER_PENDING"),
        (_S.REQUIRES_ACTION, "PROVIDER_PENDING"),
        (_S.FAILED, "FAILED"),
        (_S.CANCELED, "FAILED"),
        (_S.UNRECOGNISED, "MANUAL_REVIEW"),
    ],
)
def test_every_status_of_the_object_has_its_state(operation, gateway, status, state):
    gateway.order(Ordered.PENDING)
    submit(operation, gateway)
    reference = reference_of(gateway, operation)
    gateway.set_status(reference, status)
    apply(keep(event(operation, reference=reference)), gateway)
    assert path(operation)[-1] == state
    free = {"FAILED": 4999}.get(state, 0)
    assert conservation_of(operation.payment_id).remaining == free


@pytest.mark.failure("F038")
@pytest.mark.parametrize(
    ("changed", "detail"),
    [
        ({"livemode": True}, "OTHER_MODE"),
        ({"account": "acct_of_a_clone"}, "NOT_OURS"),
        ({"event_type": "payment_intent.succeeded"}, "NOT_ABOUT_A_REFUND"),
        ({"about": {"id": None}}, "NO_OBJECT"),
        ({"about": {"metadata": {"refund_operation_id": "rfop_forged"}, "charge": "ch_else"}}, "NOT_OURS"),
    ],
)
def test_what_is_not_about_our_refunds_is_stored_and_has_no_effect(operation, gateway, changed, detail):
    submit(operation, gateway)
    before = RefundOperation.objects.values().get()
    webhook_id = keep(event(operation, **{"reference": "re_other"} | changed))
    stored = apply(webhook_id, gateway)
    assert (stored.outcome, stored.detail, stored.next_attempt_at) == ("IGNORED", detail, None)
    assert RefundOperation.objects.values().get() == before


@pytest.mark.failure("F033")
def test_an_event_whose_look_up_fails_is_tried_again_until_it_is_applied(operation, gateway):
    gateway.order(Ordered.BOOK_THEN_LOSE)
    submit(operation, gateway)
    webhook_id = keep(event(operation, reference=reference_of(gateway, operation)))
    gateway.lookups_fail = True
    stored = apply(webhook_id, gateway)
    assert (stored.outcome, stored.detail, stored.tries) == ("RECEIVED", "STILL_AMBIGUOUS", 0)
    due = stored.next_attempt_at
    assert recovery.find_unapplied_webhooks(now=due - timedelta(seconds=1)) == ()
    assert recovery.find_unapplied_webhooks(now=due) == (apply_webhook(webhook_id),)
    gateway.lookups_fail = False
    assert apply(webhook_id, gateway, now=due).outcome == "APPLIED"
    assert path(operation)[-1] == "COMPLETED"


def test_an_event_that_the_providers_own_books_never_show_is_given_up(operation, gateway):
    gateway.order(Ordered.NEVER_ARRIVE)
    submit(operation, gateway)
    webhook_id = keep(event(operation))
    now = NOW
    for _ in range(MAX_TRIES):
        stored = apply(webhook_id, gateway, now=now)
        now = stored.next_attempt_at or now
    assert (stored.outcome, stored.next_attempt_at) == ("GIVEN_UP", None)
    assert (path(operation)[-1], both(operation)[0].next_check_at) == ("STATUS_UNKNOWN", NOW)


def test_an_event_never_proves_absence(operation, gateway):
    """It says that there is a refund; a list without it is behind, or is of somebody else."""
    gateway.order(Ordered.NEVER_ARRIVE)
    submit(operation, gateway)
    stored = apply(keep(event(operation)), gateway, now=NOW + timedelta(hours=2))
    assert (stored.outcome, stored.detail) == ("RECEIVED", "NOT_FOUND_YET")
    assert path(operation)[-1] == "STATUS_UNKNOWN"


def test_an_applied_event_is_not_applied_again(operation, gateway):
    submit(operation, gateway)
    webhook_id = keep(event(operation, reference=reference_of(gateway, operation)))
    apply(webhook_id, gateway)
    with nothing_written():
        apply(webhook_id, gateway)


@pytest.mark.failure("F005")
def test_a_refund_made_in_the_dashboard_is_adopted_once_and_leaves_no_duplicate():
    made = make_duplicate_order(amount_minor_units=4999)
    make_policy(merchant=made.order.merchant)
    gateway, payment = FakeGateway(), made.refunded
    gateway.seed_payment(
        payment_reference=payment.processor_reference, amount_minor_units=4999, currency="USD"
    )
    gateway.submit_refund(
        RefundCommand(
            operation_id="rfop_of_the_dashboard",
            idempotency_key="theirs",
            account="",
            payment_reference=payment.processor_reference,
            amount_minor_units=4999,
            currency="USD",
            reason_code="DUPLICATE_CHARGE",
        )
    )
    (fact,) = gateway.refunds(payment.processor_reference)
    about = {"charge": payment.processor_reference}
    for number in range(2):
        what = event(None, reference=fact.processor_reference, id=f"evt_{number}", about=about)
        stored = apply(keep(what), gateway)
        assert (stored.outcome, stored.detail) == ("APPLIED", "ADOPTED")
    entry = LedgerEntry.objects.get(kind="REFUND")
    assert (entry.payment_id, entry.status, entry.amount_minor_units) == (payment.pk, "SUCCEEDED", 4999)
    assert conservation_of(payment.pk).remaining == 0
    assert conservation_of(made.kept.pk).remaining == 4999

    workflow = open_workflow(order=made.order, next_attempt_at=NOW)
    pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: NOW)
    assert path(workflow)[-1] == "NO_REFUND_DUE"
    assert not RefundOperation.objects.exists()
