from datetime import timedelta

import pytest

from approvals.models import ReviewCase
from ledger.snapshot import EntryKind, LedgerSnapshot
from ledger.sources.port import OrderMissingError
from refunds import nudges, pipeline
from refunds.models import RefundWorkflow
from refunds.recovery import find_unread_evidence
from refunds.stages import s04_retrieve_payments
from refunds.stages.s04_retrieve_payments import retrieve_payments
from tests.factories import (
    NOW,
    make_customer,
    make_duplicate_order,
    make_entry,
    make_policy,
    open_workflow,
)
from tests.stages.sources import DOWN, Source
from tests.stages.trail import nothing_written, path

pytestmark = pytest.mark.django_db


@pytest.fixture
def made():
    return make_duplicate_order(amount_minor_units=4999)


@pytest.fixture
def workflow(made):
    make_policy(merchant=made.order.merchant)
    return open_workflow(order=made.order, next_attempt_at=NOW)


def test_the_snapshot_is_the_orders_money_in_minor_units(made, workflow):
    make_entry(payment=made.refunded, kind=EntryKind.REFUND, amount_minor_units=100)
    snapshot = retrieve_payments(workflow=workflow, now=NOW)
    assert isinstance(snapshot, LedgerSnapshot)
    assert (snapshot.source, snapshot.taken_at) == ("local_tables", NOW)
    assert (snapshot.order.order_id, snapshot.order.total_minor_units) == (made.order.pk, 4999)
    assert [
        (payment.processor_reference, [(entry.kind, entry.amount_minor_units) for entry in payment.entries])
        for payment in snapshot.order.payments
    ] == [
        (made.kept.processor_reference, [("CAPTURE", 4999)]),
        (made.refunded.processor_reference, [("CAPTURE", 4999), ("REFUND", 100)]),
    ]


def test_equal_facts_have_an_equal_digest_whenever_they_are_read(workflow):
    first = retrieve_payments(workflow=workflow, now=NOW)
    later = retrieve_payments(workflow=workflow, now=NOW + timedelta(days=1))
    assert first.facts_sha256() == later.facts_sha256()


def test_an_order_of_somebody_else_is_not_read(workflow):
    workflow.customer = make_customer(merchant=workflow.merchant)
    with pytest.raises(OrderMissingError):
        retrieve_payments(workflow=workflow, now=NOW)


@pytest.fixture
def advance(workflow, monkeypatch):
    """Advance the workflow once, with the source up or down."""

    def once(*, now, up=False):
        with monkeypatch.context() as patched:
            if not up:
                patched.setattr(s04_retrieve_payments, "ledger_source", lambda: Source(DOWN))
            pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: now)
        return RefundWorkflow.objects.get(pk=workflow.pk)

    return once


def test_a_source_that_cannot_be_read_leaves_the_request_waiting_with_a_case(workflow, advance):
    stored = advance(now=NOW)
    assert path(stored) == ["EVIDENCE_PENDING"]
    assert (stored.finding, stored.snapshot, stored.person_required) == ("", None, False)
    assert (stored.source_failures, stored.next_attempt_at) == (1, NOW + timedelta(seconds=30))
    case = ReviewCase.objects.get()
    assert (case.kind, case.subject_id, case.reason, case.closed_at) == (
        "VERIFICATION",
        workflow.pk,
        "SOURCE_UNREADABLE",
        None,
    )
    record = workflow.events.get(kind="RECORD")
    assert (record.reason, record.state_sequence) == ("SOURCE_UNREADABLE", None)
    assert record.evidence == {
        "failure": "TIMEOUT",
        "detail": "no answer",
        "attempts": 3,
        "policy_version": record.policy_version,
        "ticket": case.ticket,
    }


def test_the_waits_grow_and_one_case_and_one_record_tell_of_all_failures(workflow, advance):
    now, waits = NOW, []
    for _ in range(8):
        stored = advance(now=now)
        waits.append(stored.next_attempt_at - now)
        now = stored.next_attempt_at
    assert [wait.total_seconds() for wait in waits] == [30, 60, 120, 240, 480, 900, 900, 900]
    assert ReviewCase.objects.count() == workflow.events.filter(kind="RECORD").count() == 1
    assert find_unread_evidence(now=now) == (nudges.advance(workflow.pk),)


def test_once_the_source_is_back_the_case_closes_and_the_request_goes_on(workflow, advance):
    advance(now=NOW)
    stored = advance(now=NOW + timedelta(seconds=30), up=True)
    assert path(stored)[:2] == ["EVIDENCE_PENDING", "EVIDENCE_VERIFIED"]
    assert (stored.source_failures, stored.person_required) == (0, False)
    case = ReviewCase.objects.get(kind="VERIFICATION")
    assert (case.closed_at, case.closed_because) == (
        NOW + timedelta(seconds=30),
        "TWO_CAPTURES_OF_ONE_PURCHASE",
    )


def test_a_case_that_is_late_is_for_people_under_the_same_ticket(workflow, advance):
    advance(now=NOW)
    late = NOW + timedelta(hours=1)
    ReviewCase.objects.update(due_at=late)
    assert path(advance(now=late - timedelta(seconds=1))) == ["EVIDENCE_PENDING"]
    stored = advance(now=late)
    assert (path(stored)[-1], stored.person_required) == ("MANUAL_REVIEW", True)
    case = ReviewCase.objects.get()
    assert (case.kind, case.closed_at) == ("VERIFICATION", None)
    assert stored.next_attempt_at is None


def test_a_read_writes_nothing(workflow):
    with nothing_written():
        retrieve_payments(workflow=workflow, now=NOW)
