"""The guard on what is decided, in sessions that run at the same moment and with the code's own checks taken out."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import IntegrityError, connection, transaction

from ledger.models import Payment
from ledger.transitions import create_with_event
from refunds import pipeline
from refunds.evidence.remaining import conservation_of
from refunds.models import RefundOperation, RefundWorkflow
from refunds.stages import s09_create_operation, s10_submit_refund, s12_commit_evidence
from refunds.states import OperationState, WorkflowState
from tests.casework.staff import approve, charge_of, start
from tests.factories import (
    NOW,
    make_merchant,
    make_policy,
    make_staff,
    open_workflow,
    operation_in_state,
)
from tests.factories.commands import WHY
from tests.stages.gateways import fake_gateway_for

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.failure("F041")]
PATIENCE = 30


def in_a_session(call, *arguments):
    """Run one call in a thread with a connection of its own; return what it raised, or None."""
    try:
        call(*arguments)
    except IntegrityError as refused:
        return str(refused)
    finally:
        connection.close()
    return None


@pytest.fixture
def unchecked(monkeypatch):
    """The product without its locks on payments and without its checks of what is left and of what is frozen."""

    def unlocked(payment_ids):
        return tuple(Payment.objects.select_related("order").filter(pk__in=payment_ids).order_by("pk"))

    monkeypatch.setattr(s12_commit_evidence, "_lock_payments", unlocked)
    monkeypatch.setattr(s12_commit_evidence.Evidence, "is_frozen", False)
    for stage in (s09_create_operation, s10_submit_refund):
        monkeypatch.setattr(stage, "what_changed", lambda **_asked: None)


def test_of_twenty_approvals_used_at_once_no_more_become_operations_than_the_charge_bears(unchecked):
    merchant = make_merchant()
    make_policy(merchant=merchant)
    charge, starter, reviewer = (
        charge_of(merchant),
        make_staff(merchant=merchant),
        make_staff(merchant=merchant),
    )
    many = [start(charge, starter, client_token=f"form-{n}", amount_minor_units=600) for n in range(20)]
    for workflow in many:
        approve(workflow, reviewer)
    barrier = threading.Barrier(len(many))

    def use(workflow_id):
        barrier.wait(PATIENCE)
        pipeline.advance_workflow(workflow_id=workflow_id, clock=lambda: NOW)

    with ThreadPoolExecutor(len(many)) as pool:
        refused = list(pool.map(lambda w: in_a_session(use, w.pk), many))

    assert sum(text is None for text in refused) == RefundOperation.objects.count() == 16
    assert all("has 400 left" in text for text in refused if text)
    assert conservation_of(charge.pk).remaining == 400
    waiting = RefundWorkflow.objects.filter(state=WorkflowState.APPROVED)
    assert waiting.count() == 4  # nothing of what was refused was stored


def another(operation, workflow_id, number):
    """Return a second operation on the same payment, for another request, as it would be inserted."""
    return RefundOperation(
        id=f"rfop_other{number}",
        workflow_id=workflow_id,
        approval_id=f"apr_other{number}",
        merchant_id=operation.merchant_id,
        account=operation.account,
        payment_id=operation.payment_id,
        payment_reference=operation.payment_reference,
        amount_minor_units=operation.amount_minor_units,
        currency=operation.currency,
        reason_code=operation.reason_code,
        idempotency_key=f"refund:rfop_other{number}",
        request_fingerprint=f"other{number}",
        policy_version=operation.policy_version,
        policy_id=operation.policy_id,
        created_at=NOW,
    )


@pytest.fixture
def rivals():
    """Two operations, each for all that is left of one payment, of two requests."""
    first = operation_in_state(OperationState.CANCELLED)
    RefundWorkflow.objects.update(open_slot=None)
    workflows = []
    for _ in range(2):
        workflows.append(open_workflow(order=first.workflow.order))
        RefundWorkflow.objects.update(open_slot=None)
    return [another(first, workflow.pk, number) for number, workflow in enumerate(workflows)]


def blocked():
    """Wait until some session waits for a lock."""
    ends = time.monotonic() + PATIENCE
    with connection.cursor() as cursor:
        while time.monotonic() < ends:
            cursor.execute("SELECT pg_stat_clear_snapshot()")  # within a transaction one look would last
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE wait_event_type = 'Lock' AND datname = current_database()"
            )
            if cursor.fetchone()[0]:
                return
            time.sleep(0.01)
    raise AssertionError("nobody waits")


def insert(operation, isolation="READ COMMITTED"):
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(f"SET TRANSACTION ISOLATION LEVEL {isolation}")
            cursor.execute("SELECT count(*) FROM refund_operations")  # an early snapshot, where there is one
        create_with_event(operation, WHY, now=NOW)


def test_whoever_waited_for_the_lock_sees_what_its_holder_committed(rivals):
    first, second = rivals
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            create_with_event(first, WHY, now=NOW)
            waiting = pool.submit(in_a_session, insert, second)
            blocked()
        refused = waiting.result(PATIENCE)
    assert "has 0 left, and operation rfop_other1 is for 4999" in refused
    assert not RefundOperation.objects.filter(pk=second.pk).exists()


def test_a_transaction_whose_snapshot_never_renews_decides_nothing(rivals):
    first, _second = rivals
    assert "must be decided under READ COMMITTED" in in_a_session(insert, first, "REPEATABLE READ")
    assert in_a_session(insert, first, "SERIALIZABLE") is None


def test_a_refund_that_lands_while_a_submission_begins_stops_it(unchecked):
    """The dashboard's refund is committed between the checks of the code and the submission's first statement."""
    operation = operation_in_state(OperationState.CREATED)
    gateway = fake_gateway_for(operation)
    payment = operation.payment

    def overdraw():
        with transaction.atomic():
            payment.entries.create(
                merchant_id=payment.merchant_id, account=payment.account, processor_reference="re_dashboard",
                kind="REFUND", status="SUCCEEDED", amount_minor_units=1, currency="USD", occurred_at=NOW,
            )  # fmt: skip

    assert in_a_session(overdraw) is None
    with pytest.raises(IntegrityError, match="is frozen since"):
        s10_submit_refund.submit_refund(operation_id=operation.pk, gateway=gateway, clock=lambda: NOW)
    assert gateway.submissions == []
    assert not operation.attempts.exists()
