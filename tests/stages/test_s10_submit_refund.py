from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from approvals.models import ReviewCase
from ledger.models import LedgerEntry
from notifications.models import Notification
from refunds.evidence.remaining import conservation_of
from refunds.gateways.fake import Ordered
from refunds.gateways.port import AnswerClass, ProviderStatus
from refunds.gateways.registry import response_window
from refunds.models import GatewayAttempt, GatewayResponse, RefundOperation
from refunds.stages import s10_submit_refund
from refunds.stages.s10_submit_refund import WAIT, NotBegun
from refunds.states import OperationState
from tests.factories import (
    NOW,
    make_duplicate_order,
    make_policy,
    operation_in_state,
)
from tests.stages.gateways import ScriptedGateway, answered, booked, fake_gateway_for, submit
from tests.stages.trail import both, last_move, nothing_written, path

pytestmark = pytest.mark.django_db
_A, _O = AnswerClass, OperationState


# -- the three beats


def test_one_call_completes_the_refund(operation):
    gateway = fake_gateway_for(operation)
    assert submit(operation, gateway) is _A.ACCEPTED

    (command,) = gateway.submissions
    assert (command.operation_id, command.idempotency_key) == (operation.pk, f"refund:{operation.pk}")
    assert (command.payment_reference, command.amount_minor_units, command.currency) == (
        operation.payment_reference,
        4999,
        "USD",
    )
    attempt = GatewayAttempt.objects.get()
    assert (attempt.number, attempt.idempotency_key, attempt.request_fingerprint) == (
        1,
        operation.idempotency_key,
        operation.request_fingerprint,
    )
    assert attempt.request_body_sha256 == gateway.request_body_sha256(command)
    (refund,) = gateway.refunds(operation.payment_reference)
    assert (attempt.response.answer_class, attempt.response.processor_reference) == (
        "ACCEPTED",
        refund.processor_reference,
    )
    stored, workflow = both(operation)
    assert path(stored) == ["CREATED", "SUBMITTED", "COMPLETED"]
    assert path(workflow)[-2:] == ["EXECUTING", "COMPLETED"]
    assert (stored.processor_reference, stored.next_attempt_at, stored.next_check_at) == (
        refund.processor_reference,
        None,
        None,
    )
    assert last_move(stored).evidence == {
        "gateway_attempt_id": attempt.pk,
        "answer_class": "ACCEPTED",
        "http_status": 200,
        "error_code": None,
        "processor_reference": refund.processor_reference,
        "provider_words": "succeeded",
        "replayed": False,
    }
    entry = LedgerEntry.objects.get(kind="REFUND")
    assert (entry.payment_id, entry.processor_reference, entry.amount_minor_units, entry.status) == (
        operation.payment_id,
        refund.processor_reference,
        4999,
        "SUCCEEDED",
    )
    assert Notification.objects.get().logical_event_id == f"refund.completed:{operation.pk}"


class WatchedGateway(ScriptedGateway):
    """Looks at the database from another connection while the call is under way."""

    def submit_refund(self, command):
        with ThreadPoolExecutor(1) as elsewhere:
            self.seen = elsewhere.submit(self._look, command.operation_id).result()
        return super().submit_refund(command)

    def _look(self, operation_id):
        try:
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                    " AND state LIKE 'idle in transaction%'"
                )
                (waiting,) = cursor.fetchone()
            operation = RefundOperation.objects.get(pk=operation_id)
            return operation.state, operation.attempts.count(), waiting
        finally:
            connection.close()


@pytest.mark.failure("F067")
@pytest.mark.django_db(transaction=True)
def test_the_attempt_is_committed_before_the_call_and_no_transaction_waits_for_it(operation):
    gateway = WatchedGateway(answered(_A.ACCEPTED, refund=booked(operation), http_status=200))
    submit(operation, gateway)
    assert gateway.seen == ("SUBMITTED", 1, 0)
    assert both(operation)[0].state == "COMPLETED"


def test_while_the_call_runs_recovery_knows_when_its_answer_is_overdue(operation):
    begun = s10_submit_refund.begin_attempt(
        found=operation, gateway=fake_gateway_for(operation), clock=lambda: NOW
    )
    stored, workflow = both(operation)
    assert path(stored) == ["CREATED", "SUBMITTED"]
    assert last_move(stored).evidence == {"gateway_attempt_id": begun.attempt_id}
    assert (stored.next_attempt_at, stored.next_check_at) == (None, NOW + response_window())
    assert workflow.state == "EXECUTING"


# -- what the call taught


@pytest.mark.parametrize(
    ("answer_class", "status", "states", "next_check_at"),
    [
        (_A.PENDING, ProviderStatus.PENDING, ("PROVIDER_PENDING", "EXECUTING"), NOW),
        (_A.FAILED, ProviderStatus.FAILED, ("FAILED", "MANUAL_REVIEW"), None),
    ],
)
def test_an_object_that_is_not_finished_or_failed(operation, answer_class, status, states, next_check_at):
    submit(
        operation, ScriptedGateway(answered(answer_class, refund=booked(operation, status), http_status=200))
    )
    stored, workflow = both(operation)
    assert (path(stored)[-1], path(workflow)[-1]) == states
    assert (stored.processor_reference, stored.next_check_at) == ("re_1", next_check_at)
    assert not Notification.objects.exists()
    remaining = conservation_of(operation.payment_id).remaining
    assert remaining == (4999 if answer_class is _A.FAILED else 0)


@pytest.mark.failure("F013")
@pytest.mark.parametrize(
    ("http_status", "code"),
    [
        (None, "ANSWER_TIMED_OUT"),
        pytest.param(409, "idempotency_key_in_use", marks=pytest.mark.failure("F020")),
        (500, None),
    ],
)
def test_a_lost_answer_is_unknown_and_never_sent_again(operation, http_status, code):
    gateway = ScriptedGateway(answered(_A.UNKNOWN, http_status=http_status, code=code))
    assert submit(operation, gateway) is _A.UNKNOWN
    stored, workflow = both(operation)
    assert (path(stored)[-1], path(workflow)[-1]) == ("STATUS_UNKNOWN", "EXECUTING")
    assert (stored.next_check_at, stored.next_attempt_at) == (NOW, None)
    assert (last_move(stored).reason, last_move(stored).evidence["http_status"]) == (
        "ANSWER_UNKNOWN",
        http_status,
    )
    with nothing_written():
        assert submit(operation, gateway) == NotBegun("NOT_EXECUTABLE")
    assert len(gateway.submissions) == 1
    assert conservation_of(operation.payment_id).reserved == 4999


@pytest.mark.parametrize(
    ("closes", "states", "told"),
    [(False, ("REJECTED", "MANUAL_REVIEW"), False), (True, ("REJECTED", "REJECTED"), True)],
)
def test_a_definite_refusal_is_for_people_or_closes_where_the_policy_says_so(closes, states, told):
    order = make_duplicate_order().order
    make_policy(merchant=order.merchant, rules={"closes_on_gateway_rejection": closes})
    operation = operation_in_state(_O.CREATED, order=order)
    gateway = fake_gateway_for(operation)
    gateway.order(Ordered.REFUSE)
    submit(operation, gateway)
    stored, workflow = both(operation)
    assert (path(stored)[-1], path(workflow)[-1]) == states
    assert GatewayResponse.objects.get().error_code == "charge_disputed"
    assert conservation_of(operation.payment_id).remaining == 4999
    assert Notification.objects.filter(logical_event_id=f"refund.rejected:{operation.pk}").exists() is told
    assert ReviewCase.objects.filter(kind="FINANCE", closed_at=None).exists() is not told


@pytest.mark.failure("F017")
def test_what_never_reached_the_provider_goes_again_later_with_the_same_key(operation):
    gateway = fake_gateway_for(operation)
    gateway.order(Ordered.NOT_EXECUTED)
    assert submit(operation, gateway) is _A.NOT_EXECUTED
    stored, workflow = both(operation)
    assert (path(stored), workflow.state) == (["CREATED", "SUBMITTED", "CREATED"], "EXECUTING")
    assert (stored.next_attempt_at, stored.next_check_at) == (NOW + WAIT, None)

    assert submit(operation, gateway, now=NOW + WAIT) is _A.ACCEPTED

    first, second = gateway.submissions
    assert first == second
    assert list(GatewayAttempt.objects.order_by("number").values_list("number", "idempotency_key")) == [
        (1, operation.idempotency_key),
        (2, operation.idempotency_key),
    ]
    assert len(gateway.refunds(operation.payment_reference)) == 1
