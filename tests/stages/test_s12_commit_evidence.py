import re
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from approvals.cases import close_cases
from approvals.models import ApprovalRequest, ReviewCase
from ledger.models import AuditOutbox, LedgerEntry
from ledger.transitions import TransitionRefusedError, lock_row
from notifications.models import Notification
from refunds.evidence.remaining import conservation_of
from refunds.models import RefundOperation, RefundOperationEvent, RefundWorkflow
from refunds.stages import s12_commit_evidence
from refunds.stages.s12_commit_evidence import evidence_transaction
from refunds.states import OperationState, WorkflowState
from tests.factories import (
    NOW,
    latest_approval,
    make_entry,
    move_operation,
    move_workflow,
    operation_in_state,
    workflow_in_state,
)
from tests.factories.commands import WHY, create_operation
from tests.stages.rebuilt import approve_again
from tests.stages.trail import both, last_move, nothing_written, path, trail

pytestmark = pytest.mark.django_db
_W, _O = WorkflowState, OperationState


def opened(operation, **more):
    return evidence_transaction(workflow_id=operation.workflow_id, operation_id=operation.pk, now=NOW, **more)


def complete(operation, reference="re_1"):
    with opened(operation) as evidence:
        evidence.move_operation(_O.COMPLETED, WHY, processor_reference=reference)


# -- the transaction and its locks


def test_locks_are_taken_in_the_one_order():
    operation = operation_in_state(_O.CREATED)
    payments = [operation.workflow.kept_payment_id, operation.payment_id]
    with (
        CaptureQueriesContext(connection) as queries,
        opened(operation, payment_ids=payments[::-1]) as evidence,
    ):
        assert [payment.pk for payment in evidence.payments] == sorted(payments)
        evidence.move_operation(_O.CANCELLED, WHY)
    locked = [query["sql"] for query in queries if "FOR NO KEY UPDATE" in query["sql"]]
    assert [re.search(r'FROM "(\w+)"', sql).group(1) for sql in locked] == [
        "ledger_payments",
        "refund_workflows",
        "refund_operations",
        "approval_requests",
    ]
    assert 'ORDER BY "ledger_payments"."id" ASC' in locked[0]
    assert not [query for query in queries if "FOR UPDATE" in query["sql"]]


def test_the_time_is_read_again_once_the_locks_are_held():
    workflow, later = workflow_in_state(_W.EVIDENCE_PENDING), NOW + timedelta(seconds=9)
    with evidence_transaction(workflow_id=workflow.pk, now=NOW, clock=lambda: later) as evidence:
        evidence.move_workflow(_W.WITHDRAWN, WHY)
    assert last_move(workflow).at == later


def test_several_moves_share_one_transaction_and_each_leaves_its_event():
    workflow = workflow_in_state(_W.ACTION_PROPOSED)
    with evidence_transaction(workflow_id=workflow.pk, now=NOW) as evidence:
        evidence.move_workflow(_W.PROPOSAL_REJECTED, WHY)
        evidence.move_workflow(_W.MANUAL_REVIEW, WHY)
    assert path(workflow)[-2:] == ["PROPOSAL_REJECTED", "MANUAL_REVIEW"]
    assert len({event.state_sequence for event in trail(workflow)}) == 5


def test_it_is_the_outermost_transaction():
    workflow = workflow_in_state(_W.EVIDENCE_PENDING)
    with transaction.atomic(), pytest.raises(RuntimeError, match="durable"):
        evidence_transaction(workflow_id=workflow.pk, now=NOW).__enter__()


def test_without_a_locked_operation_none_is_moved():
    workflow = workflow_in_state(_W.EXECUTING)
    opened_without = evidence_transaction(workflow_id=workflow.pk, now=NOW)
    with nothing_written(), pytest.raises(RuntimeError, match="is locked"), opened_without as evidence:
        evidence.move_operation(_O.SUBMITTED, WHY)


# -- refusals and rollbacks


def test_a_refused_move_rolls_everything_back_and_is_kept_as_audit_evidence():
    workflow = workflow_in_state(_W.EVIDENCE_VERIFIED)
    before, outbox = path(workflow), set(AuditOutbox.objects.values_list("pk", flat=True))
    opened_here = evidence_transaction(workflow_id=workflow.pk, now=NOW)
    with pytest.raises(TransitionRefusedError), opened_here as evidence:
        evidence.move_workflow(_W.ACTION_PROPOSED, WHY)
        evidence.move_workflow(_W.EXECUTING, WHY)
    assert path(workflow) == before
    kept = AuditOutbox.objects.exclude(pk__in=outbox).get()
    assert (kept.topic, kept.subject, kept.at) == ("refund_workflow.transition_refused", workflow.pk, NOW)
    assert kept.payload == {
        "from": "ACTION_PROPOSED",
        "to": "EXECUTING",
        "stage": "TEST",
        "actor": {"type": "SYSTEM", "id": "test"},
        "reason": "TEST",
        "policy_version": "",
        "metadata": {},
    }


@pytest.mark.failure("F120")
@pytest.mark.failure("F134")
@pytest.mark.parametrize("broken", ["queue_notification", "stated_facts"])
def test_an_error_after_the_move_leaves_no_state_no_event_no_entry_and_no_message(monkeypatch, broken):
    operation = operation_in_state(_O.SUBMITTED)

    def fails(*_args, **_facts):
        raise OSError("the disk is full")

    monkeypatch.setattr(s12_commit_evidence, broken, fails)
    with nothing_written(), pytest.raises(OSError, match="disk"):
        complete(operation)


@pytest.mark.failure("F069")
def test_after_a_rollback_the_rows_are_read_again():
    operation = operation_in_state(_O.SUBMITTED)
    with pytest.raises(ZeroDivisionError), opened(operation) as evidence:
        evidence.move_operation(_O.STATUS_UNKNOWN, WHY)
        raise ZeroDivisionError
    with opened(operation) as evidence:
        assert evidence.operation.state == "SUBMITTED"
        evidence.move_operation(_O.STATUS_UNKNOWN, WHY)
    assert path(operation) == ["CREATED", "SUBMITTED", "STATUS_UNKNOWN"]


# -- what follows from a move


def test_completing_an_operation_completes_its_request_books_it_and_owes_one_message():
    operation = operation_in_state(_O.STATUS_UNKNOWN)
    complete(operation)
    assert (path(operation)[-1], path(operation.workflow)[-1]) == ("COMPLETED", "COMPLETED")
    entry = LedgerEntry.objects.get(kind="REFUND")
    assert (entry.payment_id, entry.merchant_id, entry.processor_reference) == (
        operation.payment_id,
        operation.merchant_id,
        "re_1",
    )
    assert (entry.amount_minor_units, entry.currency, entry.status, entry.occurred_at) == (
        4999,
        "USD",
        "SUCCEEDED",
        NOW,
    )
    owed = Notification.objects.get()
    assert (owed.logical_event_id, owed.subject_id) == (
        f"refund.completed:{operation.pk}",
        operation.workflow_id,
    )
    assert (owed.facts["processor_reference"], owed.facts["operation_state"]) == ("re_1", "COMPLETED")


@pytest.mark.failure("F066")
def test_an_entry_and_a_message_that_are_there_already_spoil_no_transaction():
    operation = operation_in_state(_O.STATUS_UNKNOWN)
    make_entry(payment=operation.payment, processor_reference="re_1", kind="REFUND")
    Notification.objects.create(
        logical_event_id=f"refund.completed:{operation.pk}", customer_id=operation.workflow.customer_id,
        subject_id=operation.workflow_id, facts={}, created_at=NOW,
    )  # fmt: skip
    complete(operation)
    assert path(operation)[-1] == "COMPLETED"
    assert (LedgerEntry.objects.filter(kind="REFUND").count(), Notification.objects.count()) == (1, 1)


@pytest.mark.failure("F050")
def test_an_entry_of_that_reference_about_other_money_is_left_alone_and_the_disagreement_is_kept():
    operation = operation_in_state(_O.STATUS_UNKNOWN)
    other = make_entry(
        payment=operation.workflow.kept_payment, processor_reference="re_1", kind="REFUND", status="FAILED"
    )
    complete(operation)
    assert LedgerEntry.objects.filter(kind="REFUND").values().get() == {
        name: getattr(other, name) for name in LedgerEntry.objects.values().first()
    }
    assert conservation_of(operation.payment_id).reserved == 4999
    kept = AuditOutbox.objects.get(topic="refund_operation.entry_disagrees")
    assert (kept.subject, kept.payload["ledger_entry"]) == (operation.pk, other.pk)


def test_completed_without_the_providers_reference_is_refused():
    operation = operation_in_state(_O.STATUS_UNKNOWN)
    with nothing_written(), pytest.raises(Exception, match=r"reference"):
        complete(operation, None)


def test_a_completion_beside_another_standing_operation_is_for_people():
    first = operation_in_state(_O.CREATED)
    workflow = approve_again(first)
    with transaction.atomic():
        create_operation(lock_row(RefundWorkflow, workflow.pk), NOW)
    move_workflow(workflow, _W.EXECUTING)
    second = RefundOperation.objects.exclude(pk=first.pk).get()
    move_operation(second, _O.SUBMITTED)  # afterwards the guard would refuse it: nothing is left for both
    move_operation(first, _O.MANUAL_REVIEW)
    assert path(workflow)[-1] == "MANUAL_REVIEW"
    complete(second)
    assert (path(second)[-1], path(workflow)[-1]) == ("COMPLETED", "MANUAL_REVIEW")


@pytest.mark.parametrize("state", [_O.REJECTED, _O.FAILED, _O.CANCELLED])
def test_a_contradicted_end_voids_the_approval_and_brings_people_in(state):
    operation = operation_in_state(state)
    with opened(operation) as evidence:
        evidence.move_operation(_O.MANUAL_REVIEW, WHY)
    assert (path(operation)[-1], path(operation.workflow)[-1]) == ("MANUAL_REVIEW", "MANUAL_REVIEW")
    assert path(ApprovalRequest.objects.get(pk=operation.approval_id))[-1] == "VOIDED"
    assert ReviewCase.objects.filter(subject_id=operation.workflow_id, closed_at=None).count() == 1


@pytest.mark.parametrize(
    ("state", "to", "kind"),
    [
        (_W.PROPOSAL_VALIDATED, _W.REQUIRES_HUMAN_APPROVAL, "APPROVAL"),
        (_W.ACTION_PROPOSED, _W.MANUAL_REVIEW, "INVESTIGATION"),
    ],
)
def test_a_state_that_people_own_opens_its_case_and_leaving_it_closes_it(state, to, kind):
    workflow = workflow_in_state(state)
    with evidence_transaction(workflow_id=workflow.pk, now=NOW) as evidence:
        evidence.move_workflow(to, WHY)
    case = ReviewCase.objects.get(subject_id=workflow.pk)
    assert (case.kind, case.merchant_id, case.opened_at, case.closed_at) == (
        kind,
        workflow.merchant_id,
        NOW,
        None,
    )
    with evidence_transaction(workflow_id=workflow.pk, now=NOW) as evidence:
        evidence.move_workflow(_W.REJECTED, WHY)
    case.refresh_from_db()
    assert (case.closed_at, case.closed_because) == (NOW, "TEST")
    assert close_cases(subject_id=workflow.pk, because="X", now=NOW) == 0


@pytest.mark.parametrize("to", [_W.MANUAL_REVIEW, _W.EVIDENCE_PENDING])
def test_what_was_inconclusive_once_is_never_automatic_again(to):
    workflow = workflow_in_state(_W.APPROVED)
    assert not workflow.person_required
    with evidence_transaction(workflow_id=workflow.pk, now=NOW) as evidence:
        evidence.move_workflow(to, WHY)
    assert RefundWorkflow.objects.get(pk=workflow.pk).person_required
    assert path(latest_approval(workflow))[-1] == "GRANTED"


@pytest.mark.parametrize("to", [_W.NO_REFUND_DUE, _W.REJECTED, _W.WITHDRAWN])
def test_an_end_frees_the_order_and_reopening_does_not_take_it_again(to):
    workflow = workflow_in_state(_W.MANUAL_REVIEW)
    for state, slot in ((to, None), (_W.MANUAL_REVIEW, None)):
        with evidence_transaction(workflow_id=workflow.pk, now=NOW) as evidence:
            evidence.move_workflow(state, WHY)
        assert RefundWorkflow.objects.get(pk=workflow.pk).open_slot is slot


@pytest.mark.parametrize("to", [_W.EXECUTING, _W.MANUAL_REVIEW, _W.WITHDRAWN])
def test_a_request_that_no_scanner_may_advance_is_not_due(to):
    workflow = workflow_in_state(_W.APPROVED)
    RefundWorkflow.objects.update(next_attempt_at=NOW)
    with evidence_transaction(workflow_id=workflow.pk, now=NOW) as evidence:
        evidence.move_workflow(to, WHY)
    assert RefundWorkflow.objects.get().next_attempt_at is None


@pytest.mark.parametrize("to", [_O.FAILED, _O.COMPLETED])
def test_an_operation_that_is_resolved_is_not_due(to):
    operation = operation_in_state(_O.STATUS_UNKNOWN)
    RefundOperation.objects.update(next_attempt_at=NOW, next_check_at=NOW)
    with opened(operation) as evidence:
        evidence.move_operation(to, WHY, processor_reference="re_1")
    stored, _ = both(operation)
    assert (stored.next_attempt_at, stored.next_check_at) == (None, None)


def test_every_operation_event_is_written_by_the_one_writer():
    operation = operation_in_state(_O.STATUS_UNKNOWN)
    complete(operation)
    events = RefundOperationEvent.objects.filter(operation=operation)
    assert events.count() == AuditOutbox.objects.filter(subject=operation.pk).count() == 4
