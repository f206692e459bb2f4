from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pgtrigger
import pytest
from django.db import IntegrityError, connection

from approvals.models import ApprovalRequest, ReviewCase
from approvals.services import void
from ledger.models import LedgerEntry
from notifications.models import Notification
from refunds.evidence.remaining import conservation_of
from refunds.gateways.fake import Ordered
from refunds.gateways.port import AnswerClass, ProviderStatus
from refunds.gateways.registry import response_window
from refunds.models import GatewayAttempt, GatewayResponse, RefundOperation, RefundWorkflow
from refunds.stages import s10_submit_refund
from refunds.stages.s10_submit_refund import NotBegun, record_answer, submit_refund
from refunds.states import OperationState
from tests.factories import (
    NOW,
    add_attempt,
    latest_approval,
    make_duplicate_order,
    make_entry,
    make_policy,
    operation_in_state,
)
from tests.factories.commands import WHY
from tests.stages.gateways import ScriptedGateway, answered, booked, fake_gateway_for
from tests.stages.test_s04_retrieve_payments import DOWN, Source
from tests.stages.trail import last_move, nothing_written, path

pytestmark = pytest.mark.django_db
SOON = timedelta(seconds=30)
_A, _O = AnswerClass, OperationState


@pytest.fixture
def operation():
    return operation_in_state(_O.CREATED)


def submit(operation, gateway, *, now=NOW):
    return submit_refund(operation_id=operation.pk, gateway=gateway, clock=lambda: now)


def both(operation):
    """Return the stored operation and its stored workflow."""
    stored = RefundOperation.objects.select_related("workflow").get(pk=operation.pk)
    return stored, stored.workflow


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
        operation_id=operation.pk, gateway=fake_gateway_for(operation), now=NOW
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
    assert (stored.next_attempt_at, stored.next_check_at) == (NOW + SOON, None)

    assert submit(operation, gateway, now=NOW + SOON) is _A.ACCEPTED

    first, second = gateway.submissions
    assert first == second
    assert list(GatewayAttempt.objects.order_by("number").values_list("number", "idempotency_key")) == [
        (1, operation.idempotency_key),
        (2, operation.idempotency_key),
    ]
    assert len(gateway.refunds(operation.payment_reference)) == 1


# -- answers that arrive late


def late(operation, answer, attempt=None):
    attempt = attempt or operation.attempts.get()
    record_answer(
        operation_id=operation.pk, attempt_id=attempt.pk, answer=answer, now=NOW + timedelta(hours=1)
    )


@pytest.mark.parametrize("state", [_O.STATUS_UNKNOWN, _O.MANUAL_REVIEW, _O.CONFIRMED_ABSENT])
def test_a_late_object_of_ours_completes_an_operation_in_doubt(state):
    operation = operation_in_state(state)
    late(operation, answered(_A.ACCEPTED, refund=booked(operation)))
    stored, workflow = both(operation)
    assert (path(stored)[-1], path(workflow)[-1]) == ("COMPLETED", "COMPLETED")
    assert stored.processor_reference == "re_1"


@pytest.mark.parametrize("answer_class", [_A.REFUSED, _A.NOT_EXECUTED, _A.UNKNOWN])
def test_a_late_answer_without_an_object_is_recorded_and_moves_nothing(answer_class):
    operation = operation_in_state(_O.STATUS_UNKNOWN)
    before = path(operation)
    late(operation, answered(answer_class))
    assert path(operation) == before
    assert GatewayResponse.objects.get().answer_class == answer_class


@pytest.mark.parametrize("answer_class", [_A.ACCEPTED, _A.PENDING])
def test_an_answer_that_tells_nothing_new_is_recorded_and_moves_nothing(answer_class):
    operation = operation_in_state(_O.COMPLETED)
    before = path(operation), path(operation.workflow)
    late(operation, answered(answer_class, refund=booked(operation)), add_attempt(operation))
    assert (path(operation), path(operation.workflow)) == before
    assert operation.attempts.get(number=2).response.answer_class == answer_class


def test_a_refusal_does_not_count_while_an_earlier_attempt_may_have_executed():
    operation = operation_in_state(_O.SUBMITTED)
    late(operation, answered(_A.REFUSED), add_attempt(operation))
    assert path(operation)[-1] == "STATUS_UNKNOWN"


@pytest.mark.parametrize("state", [_O.REJECTED, _O.CANCELLED])
def test_an_object_of_ours_after_the_end_is_for_people_and_voids_the_approval(state):
    operation = operation_in_state(state)
    late(operation, answered(_A.ACCEPTED, refund=booked(operation)), add_attempt(operation))
    stored, workflow = both(operation)
    assert (path(stored)[-1], path(workflow)[-1]) == ("MANUAL_REVIEW", "MANUAL_REVIEW")
    assert stored.processor_reference == "re_1"
    assert path(latest_approval(workflow))[-1] == "VOIDED"


def test_one_attempt_has_one_answer():
    operation = operation_in_state(_O.STATUS_UNKNOWN)
    late(operation, answered(_A.UNKNOWN))
    with nothing_written(), pytest.raises(IntegrityError):
        late(operation, answered(_A.ACCEPTED, refund=booked(operation)))


# -- nothing is sent


@pytest.mark.parametrize("state", [state for state in _O if state is not _O.CREATED])
def test_only_an_executable_operation_is_sent(state):
    operation = operation_in_state(state)
    gateway = ScriptedGateway()
    with nothing_written():
        assert submit(operation, gateway) == NotBegun("NOT_EXECUTABLE")
    assert gateway.submissions == []


def test_while_another_refund_of_the_payment_is_under_way_it_waits():
    first = operation_in_state(_O.SUBMITTED)
    RefundWorkflow.objects.update(open_slot=None)
    second = operation_in_state(_O.CREATED, order=first.workflow.order)
    gateway = ScriptedGateway()
    assert submit(second, gateway) == NotBegun("ANOTHER_SUBMITTED")
    stored, workflow = both(second)
    assert (path(stored), workflow.state) == (["CREATED"], "EXECUTING")
    assert stored.next_attempt_at == NOW + SOON
    assert (gateway.submissions, stored.attempts.count()) == ([], 0)


@pytest.mark.parametrize(("seconds", "reads"), [(900, False), (901, True)])
def test_old_evidence_is_read_again_and_waits_while_the_source_is_down(
    operation, monkeypatch, seconds, reads
):
    monkeypatch.setattr(s10_submit_refund, "ledger_source", lambda: Source(DOWN))
    now = NOW + timedelta(seconds=seconds)
    gateway = fake_gateway_for(operation)
    outcome = submit(operation, gateway, now=now)
    if not reads:
        assert outcome is _A.ACCEPTED
        return
    assert outcome == NotBegun("SOURCE_UNAVAILABLE")
    stored, _ = both(operation)
    assert (path(stored), stored.next_attempt_at) == (["CREATED"], now + SOON)
    assert gateway.submissions == []


def voided(operation):
    void(approval_id=operation.approval_id, why=WHY, now=NOW)


def disputed(operation):
    make_entry(payment=operation.workflow.kept_payment, kind="DISPUTE", status="OPEN")


def refunded_by_staff(operation):
    make_entry(payment=operation.payment, kind="REFUND", amount_minor_units=1)


def not_confirmed_lately(operation):
    operation.workflow.order.payments.update(refreshed_at=NOW - timedelta(seconds=901))


def policy_ended(operation):
    with pgtrigger.ignore("policies.PolicyVersion:append_only"), connection.cursor() as cursor:
        cursor.execute("UPDATE policy_versions SET effective_to = %s", [NOW])


def expired(operation):
    ApprovalRequest.objects.update(expires_at=NOW)


def fingerprint_of_another_command(operation):
    with pgtrigger.ignore("approvals.ApprovalRequest:command_is_fixed"):
        ApprovalRequest.objects.update(request_fingerprint="0" * 64)


def already_refunded(operation):
    RefundWorkflow.objects.update(open_slot=None)
    operation_in_state(_O.COMPLETED, order=operation.workflow.order)


CHANGES = [
    (voided, "APPROVAL_NOT_STANDING"),
    pytest.param(expired, "APPROVAL_EXPIRED", marks=pytest.mark.failure("F106")),
    pytest.param(fingerprint_of_another_command, "FINGERPRINT_CHANGED", marks=pytest.mark.failure("F016")),
    (policy_ended, "POLICY_NOT_IN_FORCE"),
    pytest.param(disputed, "FINDING_CHANGED:DISPUTE_OPEN", marks=pytest.mark.failure("F027")),
    (refunded_by_staff, "FINDING_CHANGED:EARLIER_PARTIAL_REFUND"),
    (not_confirmed_lately, "FINDING_CHANGED:STALE_SNAPSHOT"),
    (already_refunded, "NOT_ENOUGH_REMAINING"),
]


@pytest.mark.parametrize(("change", "code"), CHANGES)
def test_a_changed_fact_cancels_the_operation_and_voids_its_approval(operation, change, code):
    change(operation)
    gateway = ScriptedGateway()
    assert submit(operation, gateway) == NotBegun(code)
    stored, workflow = both(operation)
    assert path(stored) == ["CREATED", "CANCELLED"]
    assert (last_move(stored).stage, last_move(stored).reason) == ("SUBMIT_REFUND", code)
    assert path(workflow)[-2:] == ["EXECUTING", "EVIDENCE_PENDING"]
    assert (workflow.person_required, workflow.next_attempt_at) == (True, NOW)
    assert path(ApprovalRequest.objects.get(pk=operation.approval_id))[-1] == "VOIDED"
    assert (gateway.submissions, stored.attempts.count()) == ([], 0)


@pytest.mark.failure("F016")
@pytest.mark.parametrize(("change", "code"), CHANGES[2:5:2])
def test_a_changed_fact_after_attempts_that_reached_nobody_cancels_it_as_well(operation, change, code):
    gateway = fake_gateway_for(operation)
    gateway.order(Ordered.NOT_EXECUTED)
    submit(operation, gateway)
    change(operation)
    assert submit(operation, gateway, now=NOW + SOON) == NotBegun(code)
    assert path(operation)[-2:] == ["CREATED", "CANCELLED"]
    assert len(gateway.submissions) == 1


def test_a_changed_fact_after_an_attempt_that_may_have_executed_is_for_people(operation):
    add_attempt(operation)
    disputed(operation)
    gateway = ScriptedGateway()
    submit(operation, gateway)
    stored, workflow = both(operation)
    assert (path(stored)[-1], path(workflow)[-1]) == ("MANUAL_REVIEW", "MANUAL_REVIEW")
    assert ReviewCase.objects.get(subject_id=workflow.pk, closed_at=None).kind == "FINANCE"
    assert path(latest_approval(workflow))[-1] == "CONSUMED"
    assert conservation_of(operation.payment_id).reserved == 4999
    assert gateway.submissions == []
