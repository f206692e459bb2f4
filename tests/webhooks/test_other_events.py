"""Events that name no refund, or nothing but an id, and disputes: what each of them leads to."""

import json
from datetime import timedelta

import pytest

from ledger.models import AuditOutbox, LedgerEntry, Payment
from refunds import pipeline
from refunds.evidence.remaining import conservation_of
from refunds.evidence.webhooks import MAX_TRIES
from refunds.gateways.fake import FakeGateway, Ordered
from refunds.gateways.port import ProviderStatus, RefundCommand
from refunds.gateways.stripe_events import read_event
from refunds.models import GatewayWebhook, RefundOperation
from refunds.stages.s10_submit_refund import NotBegun
from refunds.states import OperationState, WorkflowState
from tests.casework.staff import states_of
from tests.factories import NOW, make_duplicate_order, operation_in_state, workflow_in_state
from tests.late_truth.test_what_is_learnt_later import apply, hear, submit
from tests.stages.gateways import fake_gateway_for
from tests.stages.trail import both, path
from tests.support.committed_facts import facts_committed
from tests.webhooks.signed import event

pytestmark = pytest.mark.django_db
_S = ProviderStatus


@pytest.fixture
def operation():
    return operation_in_state(OperationState.CREATED)


@pytest.fixture
def gateway(operation):
    return fake_gateway_for(operation)


def lose_answer(operation, gateway):
    gateway.order(Ordered.BOOK_THEN_LOSE)
    submit(operation, gateway)
    return gateway.refunds(operation.payment_reference)[0].processor_reference


def dashboard_refund(gateway, payment_reference, amount=1000):
    gateway.submit_refund(
        RefundCommand(
            operation_id="rfop_of_the_dashboard",
            idempotency_key=f"theirs-{amount}",
            account="",
            payment_reference=payment_reference,
            amount_minor_units=amount,
            currency="USD",
            reason_code="DUPLICATE_CHARGE",
        )
    )
    return gateway.refunds(payment_reference)[-1].processor_reference


def thin(reference, *, event_type="v1.refund.updated", key=None, **changed):
    """An event that names its object and says nothing of it."""
    return {
        "id": "evt_thin",
        "object": "v2.core.event",
        "type": event_type,
        "created": "2026-11-28T10:41:00.123Z",
        "livemode": False,
        "context": None,
        "related_object": {"id": reference, "type": "refund", "url": f"/v1/refunds/{reference}"},
        "reason": {"type": "request", "request": {"id": "req_1", "idempotency_key": key}},
    } | changed


def charge_event(payment_reference, *, key=None, **changed):
    """An event about a charge of which something was refunded."""
    charge = {"id": payment_reference, "object": "charge", "amount_refunded": 1000, "payment_intent": "pi_1"}
    return {
        "id": "evt_charge",
        "object": "event",
        "created": 1_700_000_000,
        "livemode": False,
        "type": "charge.refunded",
        "data": {"object": charge},
        "request": {"id": "req_1", "idempotency_key": key},
    } | changed


def dispute_event(payment_reference, *, kind="created", status="needs_response", **changed):
    dispute = {
        "id": "dp_1", "object": "dispute", "amount": 4999, "currency": "usd", "charge": payment_reference,
        "status": status, "created": 1_700_000_000,
    } | changed.pop("about", {})  # fmt: skip
    return {
        "id": f"evt_{kind}_{status}",
        "object": "event",
        "created": 1_700_000_000,
        "livemode": False,
        "type": f"charge.dispute.{kind}",
        "data": {"object": dispute},
    } | changed


# -- what an event says of itself


def test_the_fields_of_each_shape_of_event_are_read():
    refund = read_event(
        json.dumps(event(None, reference="re_1") | {"request": {"idempotency_key": "k"}}).encode()
    )
    assert (refund.object_id, refund.payment_references, refund.idempotency_key) == (
        "re_1",
        ("ch_unknown",),
        "k",
    )
    charge = read_event(json.dumps(charge_event("ch_1")).encode())
    assert (charge.object_id, charge.payment_references, charge.operation_id) == (
        "ch_1",
        ("ch_1", "pi_1"),
        "",
    )
    named = read_event(json.dumps(thin("re_1", key="refund:rfop_1", context="acct_9")).encode())
    assert (named.object_id, named.payment_references, named.account) == ("re_1", (), "acct_9")
    assert (named.idempotency_key, named.happened_at.isoformat()) == (
        "refund:rfop_1", "2026-11-28T10:41:00.123000+00:00",
    )  # fmt: skip


@pytest.mark.parametrize("created", ["yesterday", "2026-11-28T10:41:00", 1e400, None, True, "9" * 400])
def test_a_thin_event_without_a_time_is_no_event(created):
    assert read_event(json.dumps(thin("re_1", created=created)).encode()) is None


@pytest.mark.parametrize("key", ["", "x" * 256, "a b", "é", 7, None, ["k"]])
def test_a_key_that_no_request_could_carry_is_none(key):
    found = read_event(json.dumps(event(None) | {"request": {"idempotency_key": key}}).encode())
    assert found.idempotency_key == ""


# -- our key in an event (conformance 52)


def test_an_event_of_our_own_request_leads_to_the_look_up_though_it_names_nothing_else(operation, gateway):
    reference = lose_answer(operation, gateway)
    what = event(None, event_type="refund.created", reference=reference, about={"charge": "ch_else"})
    stored = hear(what | {"request": {"id": "req_1", "idempotency_key": operation.idempotency_key}}, gateway)
    assert (stored.operation_id, stored.outcome) == (operation.pk, "APPLIED")
    assert path(operation)[-1] == "COMPLETED"
    assert len(gateway.submissions) == 1


@pytest.mark.parametrize("key", ["refund:rfop_none", "theirs", "refund:"])
def test_the_key_of_somebody_elses_request_is_none_of_ours(operation, gateway, key):
    lose_answer(operation, gateway)
    what = event(None, reference="re_other", about={"charge": "ch_else"})
    stored = hear(what | {"request": {"id": "req_1", "idempotency_key": key}}, gateway)
    assert (stored.outcome, stored.detail) == ("IGNORED", "NOT_OURS")
    assert path(operation)[-1] == "STATUS_UNKNOWN"


# -- a charge of which something was refunded (conformance 65)


@pytest.mark.parametrize("keyed", [True, False])
def test_a_charge_that_was_refunded_leads_to_our_refund_by_the_list(operation, gateway, keyed):
    reference = lose_answer(operation, gateway)
    key = operation.idempotency_key if keyed else None
    stored = hear(charge_event(operation.payment_reference, key=key), gateway)
    assert (stored.outcome, stored.detail) == ("APPLIED", "CONFIRMED_COMPLETED")
    assert both(operation)[0].processor_reference == reference
    assert path(operation)[-1] == "COMPLETED"


def test_a_charge_refunded_in_the_dashboard_is_adopted_and_our_doubt_stays(operation, gateway):
    gateway.order(Ordered.NEVER_ARRIVE)
    submit(operation, gateway)
    dashboard_refund(gateway, operation.payment_reference)
    stored = hear(charge_event(operation.payment_reference), gateway)
    assert (stored.outcome, stored.detail) == ("APPLIED", "LISTED")
    assert path(operation)[-1] == "STATUS_UNKNOWN"
    money = conservation_of(operation.payment_id)
    assert (money.refunded, money.reserved) == (1000, 4999)
    again = hear(charge_event(operation.payment_reference) | {"id": "evt_again"}, gateway)
    assert (again.outcome, LedgerEntry.objects.filter(kind="REFUND").count()) == ("APPLIED", 1)


def test_a_charge_whose_refund_is_not_listed_yet_is_asked_again_and_then_given_up(operation, gateway):
    stored = hear(charge_event(operation.payment_reference), gateway)
    assert (stored.outcome, stored.detail) == ("RECEIVED", "NOT_LISTED_YET")
    gateway.lookups_fail = True
    assert apply(stored.pk, gateway, now=stored.next_attempt_at).tries == 1
    gateway.lookups_fail = False
    for _ in range(MAX_TRIES - 1):
        stored = apply(stored.pk, gateway, now=NOW)
    assert (stored.outcome, stored.detail) == ("GIVEN_UP", "NOT_LISTED_YET")


def test_an_event_of_our_own_request_waits_for_our_refund_and_not_for_another_one(operation, gateway):
    gateway.order(Ordered.NEVER_ARRIVE)
    submit(operation, gateway)
    dashboard_refund(gateway, operation.payment_reference)
    stored = hear(charge_event(operation.payment_reference, key=operation.idempotency_key), gateway)
    assert (stored.outcome, stored.detail) == ("RECEIVED", "NOT_FOUND_YET")
    assert path(operation)[-1] == "STATUS_UNKNOWN"


def test_a_charge_of_nobody_here_has_no_effect(operation, gateway):
    stored = hear(charge_event("ch_else", data={"object": {"id": "ch_else"}}), gateway)
    assert (stored.outcome, stored.detail) == ("IGNORED", "NOT_OURS")


# -- thin events (conformance 66)


def test_a_thin_event_is_fetched_and_its_object_is_newer_than_its_type(operation, gateway):
    reference = lose_answer(operation, gateway)
    gateway.set_status(reference, _S.FAILED, failure_reason="declined")
    stored = hear(thin(reference, event_type="v1.refund.created"), gateway)
    assert (stored.outcome, stored.detail) == ("APPLIED", "CONFIRMED_FAILED")
    assert path(operation)[-1] == "FAILED"


def test_a_thin_event_of_the_dashboard_is_adopted(gateway, operation):
    reference = dashboard_refund(gateway, operation.payment_reference)
    stored = hear(thin(reference), gateway)
    assert (stored.outcome, stored.detail) == ("APPLIED", "ADOPTED")
    assert LedgerEntry.objects.get(kind="REFUND").amount_minor_units == 1000


def test_a_thin_event_whose_object_cannot_be_read_is_tried_again(operation, gateway):
    reference = lose_answer(operation, gateway)
    gateway.lookups_fail = True
    stored = hear(thin(reference), gateway)
    assert (stored.outcome, stored.detail, stored.tries) == ("RECEIVED", "OBJECT_NOT_READABLE", 0)
    gateway.lookups_fail = False
    assert apply(stored.pk, gateway, now=stored.next_attempt_at).outcome == "APPLIED"
    assert path(operation)[-1] == "COMPLETED"


@pytest.mark.parametrize(
    ("changed", "detail"),
    [({"livemode": True}, "OTHER_MODE"), ({"type": "v1.customer.created"}, "NOT_ABOUT_A_REFUND")],
)
def test_a_thin_event_of_the_other_mode_or_about_something_else_is_ignored(
    operation, gateway, changed, detail
):
    stored = hear(thin(lose_answer(operation, gateway)) | changed, gateway)
    assert (stored.outcome, stored.detail) == ("IGNORED", detail)


# -- order (conformance 57 to 59)


@pytest.mark.failure("F032")
def test_a_failure_that_is_told_before_the_creation_stays_the_last_word(operation, gateway):
    reference = lose_answer(operation, gateway)
    gateway.set_status(reference, _S.FAILED, failure_reason="declined")
    for number, kind in enumerate(["refund.failed", "refund.created", "refund.created"]):
        about = {"status": "failed" if kind.endswith("failed") else "succeeded"}
        what = event(operation, event_type=kind, reference=reference, id=f"evt_{number}", about=about)
        assert hear(what, gateway).outcome == "APPLIED"
    assert path(operation)[-2:] == ["STATUS_UNKNOWN", "FAILED"]


@pytest.mark.failure("F032")
@pytest.mark.parametrize("order", [("pending", "succeeded"), ("succeeded", "pending")])
def test_of_two_events_in_one_second_the_object_says_which_is_later(operation, gateway, order):
    gateway.order(Ordered.PENDING)
    submit(operation, gateway)
    (refund,) = gateway.refunds(operation.payment_reference)
    gateway.set_status(refund.processor_reference, _S.SUCCEEDED)
    for number, status in enumerate(order):
        what = event(
            operation, reference=refund.processor_reference, id=f"evt_{number}", about={"status": status}
        )
        hear(what, gateway, now=NOW + timedelta(minutes=number))
    assert len(set(GatewayWebhook.objects.values_list("happened_at", flat=True))) == 1
    assert path(operation)[-2:] == ["PROVIDER_PENDING", "COMPLETED"]


# -- disputes


@pytest.mark.failure("F027")
@pytest.mark.parametrize("state", [OperationState.CREATED, OperationState.CONFIRMED_ABSENT])
def test_a_dispute_between_approval_and_submission_stops_it(state):
    operation = operation_in_state(state)
    gateway = fake_gateway_for(operation)
    stored = hear(dispute_event(operation.payment_reference), gateway)
    assert (stored.outcome, stored.detail) == ("APPLIED", "DISPUTE_OPEN")
    outcome = submit(operation, gateway, now=NOW + timedelta(minutes=1))
    assert isinstance(outcome, NotBegun)
    assert "DISPUTE_OPEN" in outcome.reason
    assert gateway.submissions == []
    assert states_of(operation)[-1] == {"CREATED": "CANCELLED"}.get(state, "MANUAL_REVIEW")


@pytest.mark.failure("F027")
def test_a_dispute_before_the_decision_is_found_by_it():
    made = make_duplicate_order()
    workflow = workflow_in_state(WorkflowState.APPROVED, order=made.order)
    hear(dispute_event(made.refunded.processor_reference), FakeGateway())
    pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: NOW)
    assert not RefundOperation.objects.exists()
    assert states_of(workflow)[-1] == "EVIDENCE_PENDING"


@pytest.mark.failure("F027")
def test_a_dispute_after_the_refund_lands_and_freezes_the_payment(operation, gateway):
    submit(operation, gateway)
    hear(dispute_event(operation.payment_reference), gateway)
    assert conservation_of(operation.payment_id).remaining == -4999
    facts_committed()
    assert Payment.objects.get(pk=operation.payment_id).frozen_at is not None
    assert path(operation)[-1] == "COMPLETED"


@pytest.mark.parametrize(
    ("statuses", "ends"),
    [
        (["needs_response"], "OPEN"),
        (["warning_needs_response"], "OPEN"),
        (["needs_response", "won"], "WON"),
        (["won", "needs_response"], "WON"),
        (["warning_closed", "needs_response"], "WON"),
        (["won", "lost"], "LOST"),
        (["lost", "won"], "LOST"),
        (["a_word_of_next_year"], "OPEN"),
    ],
)
def test_a_dispute_gets_further_whatever_the_order_of_its_events(operation, gateway, statuses, ends):
    for status in statuses:
        kind = "closed" if status in {"won", "lost", "warning_closed"} else "updated"
        hear(dispute_event(operation.payment_reference, kind=kind, status=status), gateway)
    entry = LedgerEntry.objects.get(kind="DISPUTE")
    assert (entry.status, entry.amount_minor_units, entry.processor_reference) == (ends, 4999, "dp_1")
    landed = AuditOutbox.objects.filter(topic="ledger.dispute_landed", subject=str(entry.pk)).order_by("pk")
    assert [row.payload["status"] for row in landed][-1] == ends


def test_a_dispute_is_found_by_the_payment_intent_as_well():
    made = make_duplicate_order()
    Payment.objects.filter(pk=made.kept.pk).update(processor_reference="pi_kept")
    hear(dispute_event("ch_kept", about={"payment_intent": "pi_kept"}), FakeGateway())
    assert conservation_of(made.kept.pk).disputed == 4999


@pytest.mark.parametrize(
    ("changed", "detail"),
    [
        ({"livemode": True}, "OTHER_MODE"),
        ({"account": "acct_of_a_clone"}, "NOT_OURS"),
        ({"about": {"charge": "ch_else"}}, "NOT_OURS"),
        ({"about": {"id": None}}, "NO_OBJECT"),
    ],
)
def test_a_dispute_that_is_not_ours_has_no_effect(operation, gateway, changed, detail):
    stored = hear(dispute_event(operation.payment_reference, **changed), gateway)
    assert (stored.outcome, stored.detail) == ("IGNORED", detail)
    assert not LedgerEntry.objects.filter(kind="DISPUTE").exists()


@pytest.mark.parametrize(
    "about", [{"amount": "4999"}, {"amount": 0}, {"currency": None}, {"currency": "ugx"}]
)
def test_a_dispute_whose_money_cannot_be_read_is_given_up_and_somebody_is_told(operation, gateway, about):
    given_up(hear(dispute_event(operation.payment_reference, about=about), gateway), gateway)


@pytest.mark.parametrize("kind", ["created", "updated", "closed", "funds_withdrawn", "funds_reinstated"])
def test_a_dispute_of_which_a_thin_event_says_nothing_is_not_taken_for_somebody_elses(gateway, kind):
    about = {"id": "dp_1", "type": "dispute", "url": "/v1/disputes/dp_1"}
    what = thin("dp_1", event_type=f"v1.charge.dispute.{kind}", related_object=about)
    given_up(hear(what, gateway), gateway)


def given_up(stored, gateway):
    """Assert that a dispute waits, is tried again and again, and is then given up, which alerts."""
    assert (stored.outcome, stored.detail) == ("RECEIVED", "DISPUTE_NOT_READABLE")
    for _ in range(MAX_TRIES):
        stored = apply(stored.pk, gateway, now=NOW)
    assert stored.outcome == "GIVEN_UP"
