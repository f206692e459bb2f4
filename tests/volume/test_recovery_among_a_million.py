"""Ten thousand stuck operations among a million finished ones: each scan reads only what it claims.

The same rows are stuck each time, and ten thousand, then a hundred thousand, then a million finished ones lie beside
them. What a scan reads and what it needs in memory must not know the difference.
"""

import time
import tracemalloc
from datetime import timedelta
from unittest.mock import Mock

import pytest
from django.db import connection

from approvals.models import ReviewCase
from notifications.models import Notification
from notifications.services import claim_due_notifications
from refunds.evidence.webhooks import keep_event
from refunds.gateways.contract import STRIPE_V1
from refunds.gateways.stripe_events import ProviderEvent
from refunds.models import GatewayWebhook, RefundOperation, RefundWorkflow
from refunds.pipeline import reconcile_operation
from refunds.recovery import BATCH, SCANS, adopt_forgotten, escalate_reviews
from refunds.states import OperationState, WorkflowState
from tests.factories import NOW, operation_in_state, workflow_in_state
from tests.stages.gateways import fake_gateway_for
from tests.volume.many_rows import analyze, copy_rows, resume_triggers, suspend_triggers
from tests.volume.plans import explain, selects_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.timeout(1200)]
STUCK = {
    OperationState.CREATED: 2_000,
    OperationState.CONFIRMED_ABSENT: 1_000,
    OperationState.SUBMITTED: 2_000,
    OperationState.STATUS_UNKNOWN: 2_000,
    OperationState.PROVIDER_PENDING: 1_000,
    OperationState.MANUAL_REVIEW: 2_000,
}
LEVELS = (10_000, 100_000, 1_000_000)
LEFT_ALONE = 10_000_000  # numbers from here on are the stuck rows
TABLES = (RefundOperation, RefundWorkflow, GatewayWebhook, Notification, ReviewCase)
INDEXES = {
    "operation_to_submit": STUCK[OperationState.CREATED] + STUCK[OperationState.CONFIRMED_ABSENT],
    "operation_overdue": STUCK[OperationState.SUBMITTED],
    "operation_in_doubt": STUCK[OperationState.STATUS_UNKNOWN] + STUCK[OperationState.PROVIDER_PENDING],
    "operation_with_people": STUCK[OperationState.MANUAL_REVIEW],
    "operation_forgotten": 0,
    "workflow_to_advance": 2_000,
    "workflow_unread": 1_000,
    "workflow_forgotten": 0,
    "webhook_to_apply": 1_000,
    "notification_due": 1_000,
    "case_to_escalate": 1_000,
}
MOST_PAGES = 4 * BATCH  # a million rows of one table are some sixty thousand
MEMORY = 8 * 2**20  # bytes that claiming everything may need at once
_KEY = "lpad(n::text, 26, '0')"
OPERATION_KEYS = {
    "id": f"'rfop_' || {_KEY}",
    "workflow_id": f"'wf_' || {_KEY}",
    "payment_id": "n",
    "approval_id": f"'appr_' || {_KEY}",
    "idempotency_key": f"'refund:rfop_' || {_KEY}",
    "request_fingerprint": "lpad(n::text, 64, '0')",
}
WORKFLOW_KEYS = {
    "id": f"'wf_' || {_KEY}",
    "reference": "'X' || n",
    "order_id": "n",
    "open_slot": "NULL",
    "client_token": "''",
}


def due(seconds="n %% 86400"):
    """Return an expression for a due time in the past, spread over a day."""
    return f"timestamptz '{NOW.isoformat()}' - make_interval(secs => {seconds})"


def a_webhook():
    event = ProviderEvent(
        event_id="evt_1", event_type="refund.updated", account="", livemode=False, object_id="re_1",
        payment_references=("ch_1",), operation_id="", happened_at=NOW,
    )  # fmt: skip
    pk, _ = keep_event(event, provider="stripe", body="{}", now=NOW)
    return GatewayWebhook.objects.get(pk=pk)


class World:
    """One row of each kind to copy from, the stuck copies, and as many finished ones as were asked for."""

    def __init__(self):
        self.completed = operation_in_state(OperationState.COMPLETED)
        self.request = RefundWorkflow.objects.get(pk=self.completed.workflow_id)
        self.webhook = a_webhook()
        self.case = ReviewCase.objects.get(subject_id=workflow_in_state(WorkflowState.MANUAL_REVIEW).pk)
        self.message = Notification.objects.create(
            logical_event_id="refund.completed:x", customer_id=1, subject_id="x", facts={},
            created_at=NOW, delivered_at=NOW,
        )  # fmt: skip
        RefundWorkflow.objects.update(next_attempt_at=None)
        RefundOperation.objects.update(next_attempt_at=None, next_check_at=None)
        GatewayWebhook.objects.update(outcome="APPLIED", next_attempt_at=None)
        ReviewCase.objects.update(closed_at=NOW)
        self.finished = 0
        self._make_stuck()

    def _make_stuck(self):
        number = LEFT_ALONE
        for state, count in STUCK.items():
            submits = state in {OperationState.CREATED, OperationState.CONFIRMED_ABSENT}
            column = "next_attempt_at" if submits else "next_check_at"
            columns = {"state": f"'{state}'", column: due(), "processor_reference": "NULL"}
            copy_rows(self.completed, first=number, count=count, columns=OPERATION_KEYS | columns)
            number += count
        for failures, count in ((0, 2_000), (1, 1_000)):
            columns = {
                "state": "'EVIDENCE_PENDING'",
                "next_attempt_at": due(),
                "source_failures": str(failures),
            }
            copy_rows(self.request, first=number, count=count, columns=WORKFLOW_KEYS | columns)
            number += count
        copy_rows(
            self.webhook, first=number, count=1_000,
            columns={"event_id": "'evt_s' || n", "outcome": "'RECEIVED'", "next_attempt_at": due()},
        )  # fmt: skip
        copy_rows(
            self.message, first=number, count=1_000,
            columns={"logical_event_id": "'s' || n", "next_attempt_at": due(), "delivered_at": "NULL"},
        )  # fmt: skip
        copy_rows(
            self.case, first=number, count=1_000,
            columns={"id": f"'case_' || {_KEY}", "ticket": "20000000 + n", "subject_id": f"'wf_' || {_KEY}",
                     "closed_at": "NULL", "due_at": due()},
        )  # fmt: skip

    def finish(self, total):
        """Let there be ``total`` finished rows of each kind."""
        first, count = self.finished + 1, total - self.finished
        more = {"processor_reference": "'re_v' || n"}
        copy_rows(self.completed, first=first, count=count, columns=OPERATION_KEYS | more)
        copy_rows(self.request, first=first, count=count, columns=WORKFLOW_KEYS)
        copy_rows(self.webhook, first=first, count=count, columns={"event_id": "'evt_v' || n"})
        copy_rows(self.message, first=first, count=count, columns={"logical_event_id": "'v' || n"})
        copy_rows(
            self.case, first=first, count=count,
            columns={"id": f"'case_' || {_KEY}", "ticket": "20000000 + n", "subject_id": f"'wf_' || {_KEY}"},
        )  # fmt: skip
        self.finished = total
        analyze(*TABLES)


SCANNERS = {
    **{scan.name: scan.find for scan in SCANS},
    "retry_notifications": claim_due_notifications,
    "escalate_reviews": escalate_reviews,
    "adopt_forgotten": adopt_forgotten,
}


def plans():
    """Return the plan of every query by which a scanner finds its rows."""
    found = {}
    for name, find in SCANNERS.items():
        sqls = [
            sql for sql in selects_of(lambda find=find: find(now=NOW, limit=BATCH)) if "SKIP LOCKED" in sql
        ]
        assert sqls, name
        found |= {f"{name} {number}": explain(sql) for number, sql in enumerate(sqls, 1)}
    return found


def rows_in_indexes():
    """Count the rows that each index holds, by its own predicate, and what it takes on disk, in kB."""
    rows, kilobytes = {}, {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, indrelid::regclass::text, pg_get_expr(indpred, indrelid), pg_relation_size(oid) / 1024"
            " FROM pg_index JOIN pg_class ON oid = indexrelid WHERE relname = ANY(%s)",
            [list(INDEXES)],
        )
        for name, table, predicate, size in cursor.fetchall():
            cursor.execute(f"SELECT count(*) FROM {table} WHERE {predicate}")
            rows[name], kilobytes[name] = cursor.fetchone()[0], size
    return rows, kilobytes


def claim_everything():
    """Claim batch after batch until nothing is due; return how many rows that were."""
    claimed = 0
    for scan in SCANS:
        while nudges := scan.find(now=NOW, limit=BATCH):
            claimed += len(nudges)
    return claimed


def most_memory(call):
    """Return the most bytes that a call held at once."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def free_everything():
    for model in (RefundOperation, RefundWorkflow, GatewayWebhook):
        model.objects.filter(claimed_until__isnull=False).update(claimed_until=None)


@pytest.fixture
def world(monkeypatch):
    monkeypatch.setattr("approvals.escalation.logger", Mock())  # a thousand lines that nobody reads here
    suspend_triggers()
    yield World()
    resume_triggers()


def test_what_a_scan_reads_does_not_grow_with_what_is_finished(world):
    seen, memory = {}, {}
    for total in LEVELS:
        began = time.monotonic()
        world.finish(total)
        made = time.monotonic() - began
        rows, kilobytes = rows_in_indexes()
        assert rows == INDEXES, "an index holds rows that are finished"
        assert max(kilobytes.values()) < 1024, kilobytes
        seen[total] = plans()
        began = time.monotonic()
        claimed = claim_everything()
        took = time.monotonic() - began
        free_everything()
        memory[total] = most_memory(claim_everything)
        free_everything()
        print(f"{total} finished of each kind (made in {made:.0f} s): {claimed} due rows claimed, "
              f"{claimed / took:.0f} a second, at most {memory[total] / 2**20:.1f} MB")  # fmt: skip
        assert claimed == sum(STUCK.values()) + 4_000
    for name in seen[LEVELS[0]]:
        for total in LEVELS:
            print(f"{name}, {total}: {seen[total][name]}")
        check(name, [seen[total][name] for total in LEVELS])
    assert max(memory.values()) < MEMORY
    assert max(memory.values()) < 1.5 * min(memory.values())


def check(name, by_level):
    """Every level: one partial index, nothing read in vain, and few pages, however many rows are finished.

    In the index's order or, where the planner takes a handful of rows for cheaper to sort, all of what is stuck.
    """
    for plan in by_level:
        assert set(plan.indexes) <= set(INDEXES), f"{name}: {plan}"
        assert plan.indexes, f"{name}: {plan}"
        assert "Seq Scan" not in plan.nodes, f"{name}: {plan}"
        assert plan.removed == 0, f"{name}: {plan}"
    pages = [plan.buffers for plan in by_level]
    assert max(pages) <= MOST_PAGES, f"{name}: {pages}"
    assert max(pages) <= 3 * min(pages) + 10, f"{name}: {pages}"


RECOVERED = 200


def test_how_fast_what_was_claimed_is_recovered():
    """Look-ups against a provider in memory: what the desk itself costs for each lost answer."""
    operations = [operation_in_state(OperationState.STATUS_UNKNOWN) for _ in range(RECOVERED)]
    RefundOperation.objects.update(next_check_at=NOW)
    gateways = {operation.pk: fake_gateway_for(operation) for operation in operations}
    scan = next(scan for scan in SCANS if scan.name == "reconcile_unknown")
    began, looked = time.monotonic(), 0
    while nudges := scan.find(now=NOW, limit=BATCH):
        for nudge in nudges:
            pk = nudge.kwargs["operation_id"]
            reconcile_operation(operation_id=pk, gateway=gateways[pk], contract=STRIPE_V1, now=NOW)
            looked += 1
    took = time.monotonic() - began
    print(f"{looked} looked up and recorded, {looked / took:.0f} a second")
    assert looked == RECOVERED
    assert not RefundOperation.objects.filter(next_check_at__lte=NOW + timedelta(seconds=1)).exists()
