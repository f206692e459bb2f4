"""When stage 10 sends nothing: it waits, or it voids what was approved because a fact changed."""

from datetime import timedelta

import pgtrigger
import pytest
from django.db import connection

from approvals.models import ApprovalRequest, ReviewCase
from approvals.services import void
from refunds.evidence.policy import policy_of
from refunds.evidence.remaining import conservation_of
from refunds.evidence.standing import STALE
from refunds.gateways.fake import FakeGateway, Ordered
from refunds.gateways.port import AnswerClass
from refunds.models import RefundOperation, RefundWorkflow
from refunds.stages import s10_submit_refund
from refunds.stages.s10_submit_refund import WAIT, NotBegun
from refunds.states import OperationState
from tests.factories import NOW, add_attempt, latest_approval, make_entry, operation_in_state
from tests.factories.commands import WHY
from tests.stages.gateways import ScriptedGateway, fake_gateway_for, submit
from tests.stages.sources import DOWN, Source
from tests.stages.trail import both, last_move, nothing_written, path
from tests.support.unguarded import unguarded

pytestmark = pytest.mark.django_db
_A, _O = AnswerClass, OperationState


@pytest.mark.parametrize("state", [state for state in _O if state not in {_O.CREATED, _O.CONFIRMED_ABSENT}])
def test_only_an_executable_operation_is_sent(state):
    operation = operation_in_state(state)
    gateway = ScriptedGateway()
    with nothing_written():
        assert submit(operation, gateway) == NotBegun("NOT_EXECUTABLE")
    assert gateway.submissions == []


def test_while_another_refund_of_the_payment_is_under_way_it_waits():
    first = operation_in_state(_O.SUBMITTED)
    RefundWorkflow.objects.update(open_slot=None)
    with unguarded():
        second = operation_in_state(_O.CREATED, order=first.workflow.order)
    gateway = ScriptedGateway()
    assert submit(second, gateway) == NotBegun("ANOTHER_SUBMITTED")
    stored, workflow = both(second)
    assert (path(stored), workflow.state) == (["CREATED"], "EXECUTING")
    assert stored.next_attempt_at == NOW + WAIT
    assert (gateway.submissions, stored.attempts.count()) == ([], 0)


@pytest.mark.parametrize(("seconds", "reads"), [(900, False), (901, True)])
def test_old_evidence_is_read_again_and_waits_while_the_source_is_down(
    operation, monkeypatch, seconds, reads
):
    monkeypatch.setattr(s10_submit_refund, "ledger_source", lambda: Source(DOWN))
    now = NOW + timedelta(seconds=seconds)
    operation.workflow.order.payments.update(refreshed_at=NOW)
    gateway = fake_gateway_for(operation)
    outcome = submit(operation, gateway, now=now)
    if not reads:
        assert outcome is _A.ACCEPTED
        return
    assert outcome == NotBegun("SOURCE_UNAVAILABLE")
    stored, _ = both(operation)
    assert (path(stored), stored.next_attempt_at) == (["CREATED"], now + WAIT)
    assert gateway.submissions == []


def test_facts_that_are_too_old_to_tell_void_nothing_and_wait(operation):
    operation.workflow.order.payments.update(refreshed_at=NOW - timedelta(seconds=901))
    gateway = ScriptedGateway()
    assert submit(operation, gateway) == NotBegun(STALE)
    stored, workflow = both(operation)
    assert (path(stored), workflow.state, stored.next_attempt_at) == (["CREATED"], "EXECUTING", NOW + WAIT)
    assert path(latest_approval(workflow))[-1] == "CONSUMED"
    assert (gateway.submissions, stored.attempts.count()) == ([], 0)


@pytest.mark.parametrize(("seconds", "sent"), [(-1, False), (0, True), (1, True)])
def test_a_nudge_does_not_hurry_an_operation_that_waits(operation, seconds, sent):
    RefundOperation.objects.update(next_attempt_at=NOW)
    gateway = fake_gateway_for(operation)
    outcome = submit(operation, gateway, now=NOW + timedelta(seconds=seconds))
    assert outcome == (_A.ACCEPTED if sent else NotBegun("NOT_DUE"))
    assert len(gateway.submissions) == int(sent)


class AnotherBody(FakeGateway):
    """An adapter that would write the same command in another way, as another version of it might."""

    def request_body_sha256(self, _command):
        return "f" * 64


@pytest.mark.failure("F016")
def test_one_key_never_carries_two_bodies(operation):
    first, second = fake_gateway_for(operation), AnotherBody()
    first.order(Ordered.NOT_EXECUTED)
    submit(operation, first)
    assert submit(operation, second, now=NOW + WAIT) == NotBegun("REQUEST_BODY_CHANGED")
    stored, workflow = both(operation)
    assert (path(stored)[-1], path(workflow)[-1]) == ("MANUAL_REVIEW", "MANUAL_REVIEW")
    assert last_move(stored).evidence == {"body_sha256": "f" * 64}
    assert (second.submissions, stored.attempts.count()) == ([], 1)


def voided(operation):
    void(approval_id=operation.approval_id, why=WHY, now=NOW)


def disputed(operation):
    make_entry(payment=operation.workflow.kept_payment, kind="DISPUTE", status="OPEN")


def refunded_by_staff(operation):
    make_entry(payment=operation.payment, kind="REFUND", amount_minor_units=1)


def policy_ended(operation):
    with pgtrigger.ignore("policies.PolicyVersion:append_only"), connection.cursor() as cursor:
        cursor.execute("UPDATE policy_versions SET effective_to = %s", [NOW])
    policy_of.cache_clear()


def expired(operation):
    with pgtrigger.ignore("approvals.ApprovalRequest:expiry_is_fixed"):
        ApprovalRequest.objects.update(expires_at=NOW)


def fingerprint_of_another_command(operation):
    with pgtrigger.ignore("approvals.ApprovalRequest:command_is_fixed"):
        ApprovalRequest.objects.update(request_fingerprint="0" * 64)


def already_refunded(operation):
    RefundWorkflow.objects.update(open_slot=None)
    with unguarded():
        operation_in_state(_O.COMPLETED, order=operation.workflow.order)


CHANGES = [
    (voided, "APPROVAL_NOT_STANDING"),
    pytest.param(expired, "APPROVAL_EXPIRED", marks=pytest.mark.failure("F106")),
    pytest.param(fingerprint_of_another_command, "FINGERPRINT_CHANGED", marks=pytest.mark.failure("F016")),
    (policy_ended, "POLICY_NOT_IN_FORCE"),
    pytest.param(disputed, "FINDING_CHANGED:DISPUTE_OPEN", marks=pytest.mark.failure("F027")),
    (refunded_by_staff, "FINDING_CHANGED:EARLIER_PARTIAL_REFUND"),
    (already_refunded, "FINDING_CHANGED:OPEN_OPERATION"),
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
    assert submit(operation, gateway, now=NOW + WAIT) == NotBegun(code)
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
