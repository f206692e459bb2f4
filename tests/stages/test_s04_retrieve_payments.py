from datetime import timedelta

import pytest

from ledger.snapshot import EntryKind, LedgerSnapshot
from ledger.sources.port import OrderMissingError
from refunds import pipeline
from refunds.models import RefundWorkflow
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


def test_a_source_that_cannot_be_read_leaves_the_request_waiting(workflow, monkeypatch):
    with monkeypatch.context() as down:
        down.setattr(s04_retrieve_payments, "ledger_source", lambda: Source(DOWN))
        assert retrieve_payments(workflow=workflow, now=NOW) == DOWN
        pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: NOW)

    stored = RefundWorkflow.objects.get(pk=workflow.pk)
    assert path(stored) == ["EVIDENCE_PENDING"]
    assert (stored.finding, stored.snapshot, stored.person_required) == ("", None, False)
    assert stored.next_attempt_at == NOW + timedelta(seconds=30)

    pipeline.advance_workflow(workflow_id=workflow.pk, clock=lambda: NOW + timedelta(seconds=30))
    assert path(stored)[:2] == ["EVIDENCE_PENDING", "EVIDENCE_VERIFIED"]


def test_a_read_writes_nothing(workflow):
    with nothing_written():
        retrieve_payments(workflow=workflow, now=NOW)
