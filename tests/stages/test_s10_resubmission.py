"""From CONFIRMED_ABSENT the same command goes out again, under the same key, while the key is safe to send."""

from datetime import timedelta

import pytest

from ledger.actors import Actor
from ledger.switches import GATEWAY_WRITES, turn
from refunds.evidence.remaining import conservation_of
from refunds.gateways.contract import STRIPE_V1, with_overrides
from refunds.gateways.fake import Ordered
from refunds.gateways.port import AnswerClass, RefundCommand
from refunds.models import GatewayAttempt, GatewayResponse, RefundOperation
from refunds.stages.s10_submit_refund import WAIT, NotBegun
from refunds.stages.s11_reconcile_outcome import reconcile_outcome
from refunds.states import CheckVerdict, OperationState
from refunds.verdicts import MAX_EXECUTIONS
from tests.factories import NOW, make_entry
from tests.stages.gateways import ScriptedGateway, fake_gateway_for, submit
from tests.stages.trail import both, last_move, path

pytestmark = pytest.mark.django_db
_A, _O, _V = AnswerClass, OperationState, CheckVerdict
SHORT = with_overrides(STRIPE_V1, {"in_flight_horizon_seconds": 60})
HORIZON = timedelta(seconds=60)
OPERATOR = Actor.system("test")


@pytest.fixture
def gateway(operation):
    return fake_gateway_for(operation)


def lose_then_prove_absent(operation, gateway, *, now=NOW):
    """Submit, lose the request on its way, and look it up once the horizon has passed."""
    gateway.order(Ordered.NEVER_ARRIVE)
    assert submit(operation, gateway, now=now) is _A.UNKNOWN
    later = now + HORIZON
    RefundOperation.objects.update(next_check_at=later)
    verdict = reconcile_outcome(operation_id=operation.pk, gateway=gateway, contract=SHORT, now=later)
    assert verdict is _V.CONFIRMED_ABSENT
    return later


@pytest.mark.failure("F008")
def test_what_never_arrived_goes_out_again_as_the_same_command_under_the_same_key(operation, gateway):
    later = lose_then_prove_absent(operation, gateway)
    assert submit(operation, gateway, now=later) is _A.ACCEPTED
    first, second = gateway.submissions
    assert first == second
    assert len(gateway.refunds(operation.payment_reference)) == 1
    bodies = set(GatewayAttempt.objects.values_list("idempotency_key", "request_body_sha256"))
    assert len(bodies) == 1
    assert path(operation) == [
        *("CREATED", "SUBMITTED", "STATUS_UNKNOWN", "CONFIRMED_ABSENT", "SUBMITTED", "COMPLETED")
    ]


def test_a_second_worker_finds_nothing_to_send(operation, gateway):
    later = lose_then_prove_absent(operation, gateway)
    submit(operation, gateway, now=later)
    assert submit(operation, ScriptedGateway(), now=later) == NotBegun("NOT_EXECUTABLE")


@pytest.mark.failure("F011")
def test_nothing_is_sent_again_while_absence_is_not_proven(operation, gateway):
    gateway.order(Ordered.NEVER_ARRIVE)
    submit(operation, gateway)
    for minutes in (1, 10, 600):
        assert submit(operation, gateway, now=NOW + timedelta(minutes=minutes)) == NotBegun("NOT_EXECUTABLE")
    assert len(gateway.submissions) == 1


@pytest.mark.parametrize(("seconds", "sent"), [(-1, True), (0, False)])
def test_when_the_safe_window_ends_people_decide(operation, gateway, seconds, sent):
    lose_then_prove_absent(operation, gateway)
    ends = NOW + timedelta(seconds=STRIPE_V1.safe_resend_seconds + seconds)
    operation.workflow.order.payments.update(refreshed_at=ends)
    outcome = submit(operation, gateway, now=ends)
    assert outcome == (_A.ACCEPTED if sent else NotBegun("SAFE_WINDOW_ENDED"))
    if not sent:
        stored, workflow = both(operation)
        assert (path(stored)[-1], path(workflow)[-1]) == ("MANUAL_REVIEW", "MANUAL_REVIEW")
        assert conservation_of(operation.payment_id).reserved == 4999
        assert len(gateway.submissions) == 1


def test_five_attempts_that_may_have_executed_are_the_last(operation, gateway):
    now = NOW
    for _ in range(MAX_EXECUTIONS - 1):
        now = lose_then_prove_absent(operation, gateway, now=now)
    gateway.order(Ordered.NEVER_ARRIVE)
    submit(operation, gateway, now=now)
    now += HORIZON
    RefundOperation.objects.update(next_check_at=now)
    reconcile_outcome(operation_id=operation.pk, gateway=gateway, contract=SHORT, now=now)
    stored, workflow = both(operation)
    assert (path(stored)[-1], path(workflow)[-1]) == ("MANUAL_REVIEW", "MANUAL_REVIEW")
    assert len(gateway.submissions) == MAX_EXECUTIONS
    assert submit(operation, gateway, now=now + HORIZON) == NotBegun("NOT_EXECUTABLE")


def test_an_attempt_that_reached_nobody_leaves_the_operation_in_doubt_and_counts_for_nothing(
    operation, gateway
):
    later = lose_then_prove_absent(operation, gateway)
    gateway.order(Ordered.NOT_EXECUTED)
    assert submit(operation, gateway, now=later) is _A.NOT_EXECUTED
    assert path(operation)[-1] == "STATUS_UNKNOWN"
    verdict = reconcile_outcome(operation_id=operation.pk, gateway=gateway, contract=SHORT, now=later)
    assert verdict is _V.CONFIRMED_ABSENT


@pytest.mark.failure("F027")
def test_a_dispute_before_the_second_attempt_stops_it_for_people(operation, gateway):
    later = lose_then_prove_absent(operation, gateway)
    make_entry(payment=operation.payment, kind="DISPUTE", status="OPEN")
    assert submit(operation, gateway, now=later) == NotBegun("FINDING_CHANGED:DISPUTE_OPEN")
    stored, workflow = both(operation)
    assert (path(stored)[-1], path(workflow)[-1]) == ("MANUAL_REVIEW", "MANUAL_REVIEW")
    assert len(gateway.submissions) == 1


@pytest.mark.failure("F007")
def test_too_much_after_a_lost_answer_leads_to_the_refund_that_was_made(operation, gateway):
    gateway.order(Ordered.BOOK_THEN_LOSE)
    submit(operation, gateway)
    reconcile_outcome(operation_id=operation.pk, gateway=gateway, contract=SHORT, now=NOW)
    assert path(operation)[-1] == "COMPLETED"
    assert GatewayResponse.objects.get().answer_class == "UNKNOWN"
    assert len(gateway.submissions) == 1


@pytest.mark.failure("F021")
def test_a_payment_that_was_refunded_elsewhere_is_looked_into_before_anything_is_called_rejected(
    operation, gateway
):
    gateway.submit_refund(
        RefundCommand(
            operation_id="rfop_of_somebody_else",
            idempotency_key="their key",
            account=operation.account,
            payment_reference=operation.payment_reference,
            amount_minor_units=operation.amount_minor_units,
            currency=operation.currency,
            reason_code=operation.reason_code,
        )
    )
    assert submit(operation, gateway) is _A.REFUSED
    assert path(operation)[-1] == "STATUS_UNKNOWN"
    verdict = reconcile_outcome(operation_id=operation.pk, gateway=gateway, contract=STRIPE_V1, now=NOW)
    assert verdict is _V.CONFIRMED_REJECTED
    stored, workflow = both(operation)
    assert (path(stored)[-1], last_move(stored).reason) == ("REJECTED", "REFUNDED_ELSEWHERE")
    assert path(workflow)[-1] == "MANUAL_REVIEW"
    assert conservation_of(operation.payment_id).remaining == 0


@pytest.mark.parametrize("state", ["CREATED", "CONFIRMED_ABSENT"])
def test_with_gateway_writes_off_it_waits_and_goes_on_when_they_are_on_again(operation, gateway, state):
    now = lose_then_prove_absent(operation, gateway) if state == "CONFIRMED_ABSENT" else NOW
    sent = len(gateway.submissions)
    turn(GATEWAY_WRITES, on=False, reason="drill", actor=OPERATOR, now=now)
    assert submit(operation, gateway, now=now) == NotBegun("GATEWAY_WRITES_OFF")
    stored, workflow = both(operation)
    assert (path(stored)[-1], workflow.state, stored.next_attempt_at) == (state, "EXECUTING", now + WAIT)
    assert len(gateway.submissions) == sent
    turn(GATEWAY_WRITES, on=True, reason="", actor=OPERATOR, now=now)
    assert submit(operation, gateway, now=now + WAIT) is _A.ACCEPTED
