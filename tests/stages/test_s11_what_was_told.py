"""What the provider told without being asked: stored events and settled rows. They say where to look, and that is all."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ledger.models import Settlement, SettlementFile
from ledger.settlements.rows import SettlementCategory, SettlementReport
from refunds.evidence.provider_facts import events_about, settlements_about
from refunds.evidence.webhooks import keep_event
from refunds.gateways.contract import STRIPE_V1
from refunds.gateways.port import AnswerClass
from refunds.gateways.stripe_events import read_event
from refunds.models import GatewayResponse, GatewayWebhook, ReconciliationCheck, RefundOperation
from refunds.stages.s11_reconcile_outcome import reconcile_outcome
from refunds.states import CheckCause, CheckVerdict, OperationState
from tests.factories import NOW, operation_in_state
from tests.stages.gateways import ScriptedGateway, booked, listed
from tests.stages.trail import both, path
from tests.webhooks.signed import event

pytestmark = pytest.mark.django_db
_O, _V = OperationState, CheckVerdict
AFTER_THE_HORIZON = NOW + timedelta(hours=1)


@pytest.fixture
def unknown():
    operation = operation_in_state(_O.STATUS_UNKNOWN)
    RefundOperation.objects.filter(pk=operation.pk).update(next_check_at=NOW)
    return RefundOperation.objects.get(pk=operation.pk)


def look(operation, *lookups, now=AFTER_THE_HORIZON, cause=CheckCause.SCHEDULED):
    gateway = ScriptedGateway(lookups=lookups)
    verdict = reconcile_outcome(
        operation_id=operation.pk, gateway=gateway, contract=STRIPE_V1, now=now, cause=cause
    )
    assert gateway.submissions == []
    return verdict, gateway.looked_up


def keep(operation, **changed):
    body = json.dumps(event(operation, **{"event_type": "refund.created"} | changed))
    keep_event(read_event(body.encode()), provider="stripe", body=body, now=NOW)


def settle(operation, **columns):
    file = SettlementFile.objects.create(
        merchant=operation.merchant, account=operation.account, report=SettlementReport.BALANCE_CHANGE,
        sha256="0" * 64, rows=1, imported_at=NOW,
    )  # fmt: skip
    values = {
        "merchant": operation.merchant, "file": file, "account": operation.account,
        "report": SettlementReport.BALANCE_CHANGE, "row_reference": "txn_1", "category": SettlementCategory.REFUND,
        "processor_reference": "re_1", "operation_id": operation.pk, "amount_minor_units": 4999, "currency": "USD",
        "settled_minor_units": 4999, "settled_currency": "USD", "booked_at": NOW, "imported_at": NOW,
    }  # fmt: skip
    Settlement.objects.create(**values | columns)


TOLD = [pytest.param(keep, "events", id="event"), pytest.param(settle, "settlement", id="settled row")]


@pytest.mark.parametrize(("tell", "surface"), TOLD)
def test_what_was_told_is_asked_for_by_its_own_id_and_the_object_completes_it(unknown, tell, surface):
    tell(unknown)
    fact = booked(unknown)
    verdict, asked = look(unknown, listed(fact), listed(fact))
    assert verdict is _V.CONFIRMED_COMPLETED
    assert asked == [unknown.payment_reference, "re_1"]
    assert path(unknown)[-1] == "COMPLETED"
    assert ReconciliationCheck.objects.get().sources[-1] == {
        "surface": surface, "complete": True, "refunds": ["re_1"], "http_status": None, "error_code": None,
        "attempts": 0,
    }  # fmt: skip


@pytest.mark.failure("F002")
@pytest.mark.parametrize(("tell", "surface"), TOLD)
def test_what_was_told_is_never_absent_and_completes_nothing_alone(unknown, tell, surface):
    tell(unknown)
    verdict, _ = look(unknown, listed(), listed(complete=False))
    assert verdict is _V.NOT_FOUND_YET
    stored, workflow = both(unknown)
    assert (path(stored)[-1], workflow.state) == ("STATUS_UNKNOWN", "EXECUTING")
    assert stored.processor_reference is None
    explanation = ReconciliationCheck.objects.get().explanation
    assert any("re_1" in line for line in explanation)
    assert explanation[-1] == "not listed, but the provider told of it; it is looked up again"


@pytest.mark.parametrize(("tell", "surface"), TOLD)
@pytest.mark.parametrize("lists", [True, False])
def test_what_was_proven_absent_and_is_told_of_after_all_is_not_sent_again(tell, surface, lists):
    operation = operation_in_state(_O.CONFIRMED_ABSENT)
    RefundOperation.objects.update(checks_made=operation.checks.count())
    tell(operation)
    look(operation, listed(complete=lists), listed(complete=False), cause=CheckCause.WEBHOOK)
    stored, workflow = both(operation)
    assert (path(stored)[-1], workflow.state) == ("PROVIDER_PENDING", "EXECUTING")
    assert stored.next_check_at is not None


@pytest.mark.parametrize("kind", sorted(STRIPE_V1.webhook.events.value))
def test_every_kind_of_event_about_a_refund_tells_of_it(unknown, kind):
    keep(unknown, event_type=kind)
    (told,) = events_about(unknown, STRIPE_V1)
    assert (told.event_type, told.processor_reference) == (kind, "re_1")


def copies(row, columns):
    """Return many more rows like this one, about other refunds."""
    values = {
        field.attname: getattr(row, field.attname)
        for field in row._meta.concrete_fields
        if field.attname != "id"
    }
    return [type(row)(**values | {name: f"{name}_{number}" for name in columns}) for number in range(3000)]


def test_both_are_found_among_many_by_an_index():
    operation = operation_in_state(_O.COMPLETED)
    keep(operation)
    settle(operation)
    GatewayWebhook.objects.bulk_create(
        copies(GatewayWebhook.objects.get(), ["event_id", "object_id", "operation_id"])
    )
    Settlement.objects.bulk_create(
        copies(Settlement.objects.get(), ["row_reference", "processor_reference", "operation_id"])
    )
    plans = []
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE gateway_webhooks, ledger_settlements")
        with CaptureQueriesContext(connection) as asked:
            assert len(events_about(operation, STRIPE_V1)) == len(settlements_about(operation)) == 1
        for query in list(asked):
            cursor.execute(f"EXPLAIN {query['sql']}")
            plans.append(" ".join(line for (line,) in cursor.fetchall()))
    events, settlements = plans
    assert "webhook_of_operation" in events
    assert "webhook_of_object" in events
    assert "settlement_of_operation" in settlements
    assert "settlement_of_refund" in settlements


@pytest.mark.parametrize(
    "strange",
    [
        {"account": "acct_2"},
        {"livemode": True},
        {"event_type": "charge.dispute.created"},
        {"about": {"metadata": {}}},
        {"about": {"metadata": {"refund_operation_id": "rfop_other"}}},
        {"about": {"id": None}},
    ],
)
def test_an_event_about_something_else_tells_nothing(unknown, strange):
    keep(unknown, **strange)
    assert events_about(unknown, STRIPE_V1) == ()
    verdict, asked = look(unknown, listed())
    assert (verdict, asked) == (_V.CONFIRMED_ABSENT, [unknown.payment_reference])


@pytest.mark.parametrize(
    "strange", [{"account": "acct_2"}, {"operation_id": "rfop_other"}, {"operation_id": ""}]
)
def test_a_settled_row_about_something_else_tells_nothing(unknown, strange):
    settle(unknown, **strange)
    assert settlements_about(unknown) == ()
    assert look(unknown, listed())[0] is _V.CONFIRMED_ABSENT


def test_what_is_known_by_its_reference_needs_no_id_of_ours():
    operation = operation_in_state(_O.COMPLETED)
    keep(operation, reference=operation.processor_reference, about={"metadata": {}})
    settle(operation, processor_reference=operation.processor_reference, operation_id="")
    assert [told.processor_reference for told in events_about(operation, STRIPE_V1)] == [
        operation.processor_reference
    ]
    assert len(settlements_about(operation)) == 1


def test_an_event_that_comes_while_the_provider_is_asked_keeps_absence_from_being_proven(unknown):
    class Meanwhile(ScriptedGateway):
        def list_refunds(self, **question):
            keep(unknown)
            return super().list_refunds(**question)

    gateway = Meanwhile(lookups=[listed()])
    verdict = reconcile_outcome(
        operation_id=unknown.pk, gateway=gateway, contract=STRIPE_V1, now=AFTER_THE_HORIZON
    )
    assert verdict is _V.NOT_FOUND_YET
    assert path(unknown)[-1] == "STATUS_UNKNOWN"


# -- answers after which waiting does not help


def answer(operation, **columns):
    GatewayResponse.objects.create(
        attempt=operation.attempts.get(), answer_class=AnswerClass.UNKNOWN, received_at=NOW, **columns
    )


@pytest.mark.failure("F016")
def test_a_key_that_was_used_with_another_request_is_for_people_at_once(unknown):
    answer(unknown, http_status=400, error_type="idempotency_error")
    verdict, _ = look(unknown, listed(), now=NOW)
    assert verdict is _V.STILL_AMBIGUOUS
    stored, workflow = both(unknown)
    assert (path(stored)[-1], path(workflow)[-1]) == ("MANUAL_REVIEW", "MANUAL_REVIEW")


def test_a_payment_that_the_provider_does_not_know_is_for_people_at_once(unknown):
    answer(unknown, http_status=404, error_type="invalid_request_error", error_code="resource_missing")
    nowhere = replace(listed(complete=False), http_status=404)
    verdict, _ = look(unknown, nowhere, now=NOW)
    assert verdict is _V.STILL_AMBIGUOUS
    assert path(unknown)[-1] == "MANUAL_REVIEW"
    assert ReconciliationCheck.objects.get().explanation[-1].endswith("people check both")
