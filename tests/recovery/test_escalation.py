"""A case that nobody looked at in time is told of once; rows without a due time are found all the same."""

from datetime import timedelta

import pytest

from approvals.cases import claim
from approvals.models import ReviewCase
from ledger.models import AuditOutbox
from refunds.models import RefundOperation, RefundWorkflow
from refunds.nudges import advance, reconcile, submit
from refunds.recovery import (
    adopt_forgotten,
    escalate_reviews,
    find_overdue_submissions,
    find_resumable_work,
)
from refunds.states import OperationState, WorkflowState
from tests.factories import (
    NOW,
    make_customer,
    open_without_order,
    operation_in_state,
    workflow_in_state,
)
from tests.stages.trail import nothing_written

pytestmark = pytest.mark.django_db
_O, _W = OperationState, WorkflowState
HOUR = timedelta(hours=1)


def case_due(at):
    workflow = workflow_in_state(_W.MANUAL_REVIEW)
    ReviewCase.objects.filter(subject_id=workflow.pk).update(due_at=at)
    return ReviewCase.objects.get(subject_id=workflow.pk)


def told():
    return list(AuditOutbox.objects.filter(topic="review.overdue").order_by("pk"))


class Log(list):
    def error(self, event, **fields):
        self.append((event, fields))


@pytest.fixture(autouse=True)
def log(monkeypatch):
    kept = Log()
    monkeypatch.setattr("approvals.escalation.logger", kept)
    monkeypatch.setattr("refunds.recovery.logger", kept)
    return kept


def test_an_overdue_case_is_told_of_once_as_evidence_and_in_the_log(log):
    case = case_due(NOW)
    assert escalate_reviews(now=NOW - timedelta(seconds=1)) == 0
    assert [escalate_reviews(now=NOW), escalate_reviews(now=NOW + HOUR)] == [1, 0]
    (event,) = told()
    assert event.subject == case.subject_id
    assert event.payload == {
        "case_id": case.pk, "ticket": case.ticket, "kind": case.kind, "subject": case.subject_id,
        "reason": "TEST", "due_at": NOW.isoformat(),
    }  # fmt: skip
    assert log == [("review.overdue", event.payload)]
    assert ReviewCase.objects.get().escalated_at == NOW


def test_a_case_that_somebody_holds_is_looked_at_until_the_lease_runs_out(log):
    case = case_due(NOW)
    claim(case, "user:1", now=NOW)
    assert escalate_reviews(now=NOW + timedelta(minutes=19)) == 0
    assert escalate_reviews(now=NOW + timedelta(minutes=21)) == 1


def test_closed_cases_and_those_without_a_promise_are_left_alone(log):
    closed, free = case_due(NOW), case_due(NOW)
    ReviewCase.objects.filter(pk=closed.pk).update(closed_at=NOW)
    ReviewCase.objects.filter(pk=free.pk).update(due_at=None)
    with nothing_written():
        assert escalate_reviews(now=NOW + HOUR) == 0


def test_the_longest_overdue_come_first_and_the_batch_is_bounded(log):
    cases = [case_due(NOW - timedelta(minutes=n)) for n in (1, 3, 2)]
    assert escalate_reviews(now=NOW, limit=2) == 2
    assert [event.payload["ticket"] for event in told()] == [cases[1].ticket, cases[2].ticket]
    assert escalate_reviews(now=NOW, limit=2) == 1


# -- rows that no scanner would find


@pytest.mark.parametrize("state", list(_O))
def test_an_operation_without_a_due_time_is_found_where_scanners_own_it(state, log):
    operation = operation_in_state(state)
    RefundWorkflow.objects.update(next_attempt_at=NOW)
    RefundOperation.objects.update(next_attempt_at=None, next_check_at=None)
    owned = state in {_O.CREATED, _O.CONFIRMED_ABSENT, _O.SUBMITTED, _O.STATUS_UNKNOWN, _O.PROVIDER_PENDING}

    assert adopt_forgotten(now=NOW) == int(owned)

    expected = [("recovery.forgotten", {"operations": [operation.pk], "workflows": []})] if owned else []
    assert log == expected
    assert adopt_forgotten(now=NOW) == 0


def test_what_was_forgotten_is_then_found_by_its_scanner(log):
    created, submitted = operation_in_state(_O.CREATED), operation_in_state(_O.SUBMITTED)
    RefundWorkflow.objects.update(next_attempt_at=None)
    assert find_resumable_work(now=NOW) == find_overdue_submissions(now=NOW) == ()
    assert adopt_forgotten(now=NOW) == 2
    assert find_resumable_work(now=NOW) == (submit(created.pk),)
    assert find_overdue_submissions(now=NOW) == (reconcile(submitted.pk),)


@pytest.mark.parametrize("state", list(_W))
def test_a_request_without_a_due_time_is_found_where_its_next_step_needs_nobody(state, log):
    workflow = workflow_in_state(state)
    RefundOperation.objects.update(next_attempt_at=NOW, next_check_at=NOW)
    RefundWorkflow.objects.update(next_attempt_at=None)
    owned = state in {
        *(_W.EVIDENCE_PENDING, _W.EVIDENCE_VERIFIED, _W.ACTION_PROPOSED, _W.PROPOSAL_VALIDATED, _W.APPROVED)
    }
    assert adopt_forgotten(now=NOW) == int(owned)
    found = find_resumable_work(now=NOW)
    assert (advance(workflow.pk) in found) is owned


def test_a_request_that_waits_for_its_customer_is_not_forgotten(log):
    open_without_order(customer=make_customer(), next_attempt_at=None)
    with nothing_written():
        assert adopt_forgotten(now=NOW) == 0
