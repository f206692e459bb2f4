"""The operator's numbers: right, closed, and cheap."""

import re
from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from approvals.states import CaseKind
from ledger.models import ErasableText, Heartbeat, Tally
from refunds.gateways.port import AnswerClass
from refunds.metrics import collector
from refunds.metrics.collector import DeskCollector
from refunds.metrics.counters import NUDGES_LOST
from refunds.metrics.readings import OTHER, READINGS
from refunds.models import GatewayResponse, GatewayWebhook, Proposal
from refunds.proposers.breaker import BreakerState
from refunds.states import OperationState, WorkerFault, WorkflowState
from tests.factories import (
    NOW,
    add_attempt,
    move_operation,
    operation_in_state,
    qualify_model,
    workflow_in_state,
)

pytestmark = pytest.mark.django_db
QUERIES = (
    len(READINGS) + 5
)  # a savepoint and its release here, BEGIN and COMMIT in production; the timeout; heartbeats; models


def scrape():
    """Return every sample of ``/metrics``: (name, labels) -> value."""
    answer = Client().get("/metrics", HTTP_HOST="localhost")
    assert answer.status_code == 200
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.content.decode())
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def read(now=NOW):
    """Return the numbers as of ``now``: (name, label value) -> value."""
    return {
        (sample.name.removeprefix("refund_desk_"), *sample.labels.values()): sample.value
        for family in DeskCollector(clock=lambda: now).collect()
        for sample in family.samples
    }


def fill():
    """Make a row of every kind, in every state that waits."""
    for state in (OperationState.STATUS_UNKNOWN, OperationState.MANUAL_REVIEW, OperationState.COMPLETED):
        operation_in_state(state)
    for state in (
        WorkflowState.REQUIRES_HUMAN_APPROVAL,
        WorkflowState.MANUAL_REVIEW,
        WorkflowState.COMPLETED,
    ):
        workflow_in_state(state)
    Heartbeat.record("beat", now=NOW)


@pytest.mark.failure("F127")
def test_the_number_of_series_does_not_depend_on_the_number_of_orders():
    fill()
    few = scrape()
    for _ in range(12):
        fill()
    many = scrape()
    assert set(many) == set(few)
    assert many != few


@pytest.mark.failure("F127")
def test_no_label_is_an_id_a_mail_address_or_an_order_number():
    fill()
    closed = {OTHER, "2xx", "3xx", "4xx", "5xx"} | {str(value) for r in READINGS for value in r.values}
    values = {value for _, labels in scrape() for name, value in labels if name != "name"}
    assert values - closed == {"api", "support", "accounts", "admin", "webhooks", "static", "other"}
    assert all(re.fullmatch(r"[A-Za-z_]{1,40}|[2-5]xx", value) for value in values)
    names = {name for _, labels in scrape() for name, _ in labels}
    assert not names & {"workflow_id", "order", "order_number", "customer", "user", "trace_id", "merchant"}


def test_a_value_that_this_version_does_not_know_is_other_and_a_strange_job_is_left_out():
    attempt = add_attempt(operation_in_state(OperationState.SUBMITTED))
    GatewayResponse.objects.create(attempt=attempt, answer_class="ada@example.com", received_at=NOW)
    Heartbeat.record("wf_01K2ABCDEFGHJKMNPQRSTVWXYZ", now=NOW)
    numbers = read()
    assert numbers["gateway_answers_recent", OTHER] == 1
    assert [key for key in numbers if key[0] == "heartbeat_age_seconds"] == []


def test_a_scrape_asks_a_fixed_number_of_times(django_assert_num_queries):
    for _ in range(2):
        with django_assert_num_queries(QUERIES):
            Client().get("/metrics", HTTP_HOST="localhost")
        fill()


@pytest.mark.parametrize("reading", READINGS, ids=lambda reading: reading.numbers[0][0])
def test_no_query_reads_a_table_that_grows_from_end_to_end(reading):
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN {reading.sql}", [NOW for _ in reading.ago])
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "Limit" in plan or "Seq Scan" not in plan, plan


def test_what_waits_is_counted_with_its_age():
    operation_in_state(OperationState.STATUS_UNKNOWN, now=NOW - timedelta(hours=2))
    operation_in_state(OperationState.STATUS_UNKNOWN, now=NOW - timedelta(minutes=1))
    operation_in_state(OperationState.COMPLETED, now=NOW - timedelta(days=400))
    numbers = read()
    assert numbers["operations", "STATUS_UNKNOWN"] == 2
    assert numbers["operations_oldest_seconds", "STATUS_UNKNOWN"] == 7200
    assert numbers["operations_waiting_long", "STATUS_UNKNOWN"] == 1
    assert numbers["workflows", "EXECUTING"] == 2
    assert ("operations", "COMPLETED") not in numbers


@pytest.mark.failure("F038")
def test_events_of_the_provider_are_counted_by_what_became_of_them():
    for number, outcome in enumerate(["IGNORED", "IGNORED", "APPLIED", "RECEIVED"]):
        text = ErasableText.keep("{}", now=NOW)
        GatewayWebhook.objects.create(
            provider="stripe", event_id=f"evt_{number}", event_type="refund.updated", livemode=True,
            happened_at=NOW, body=text, body_sha256=text.sha256, received_at=NOW - timedelta(minutes=20),
            outcome=outcome, next_attempt_at=NOW if outcome == "RECEIVED" else None,
        )  # fmt: skip
    numbers = read()
    assert numbers["webhooks_recent", "IGNORED"] == 2
    assert numbers["webhooks_recent", "APPLIED"] == 1
    assert (numbers["webhooks_waiting",], numbers["webhooks_waiting_oldest_seconds",]) == (1, 1200)


@pytest.mark.failure("F050")
def test_violated_invariants_are_a_number_that_pages():
    Heartbeat.record("check_invariants", now=NOW, found=0)
    assert read()["invariants_violated",] == 0
    Heartbeat.record("check_invariants", now=NOW, found=2)
    assert read()["invariants_violated",] == 2


def test_cases_are_counted_by_whom_they_wait_for():
    workflow_in_state(WorkflowState.REQUIRES_HUMAN_APPROVAL, now=NOW - timedelta(days=3))
    numbers = read()
    assert (
        numbers["review_cases", CaseKind.APPROVAL]
        == numbers["review_cases_unclaimed", CaseKind.APPROVAL]
        == 1
    )
    assert numbers["review_cases_oldest_seconds", CaseKind.APPROVAL] == 3 * 86400
    assert numbers["review_cases", CaseKind.FINANCE] == 0


def test_what_happened_is_counted_within_its_window():
    for minutes, answer_class, status in ((1, "UNKNOWN", 409), (5, "ACCEPTED", 200), (16, "UNKNOWN", 500)):
        attempt = add_attempt(operation_in_state(OperationState.SUBMITTED))
        at = NOW - timedelta(minutes=minutes)
        GatewayResponse.objects.create(
            attempt=attempt, answer_class=answer_class, http_status=status, received_at=at
        )
    numbers = read()
    assert (numbers["gateway_answers_recent", "UNKNOWN"], numbers["gateway_answers_recent", "ACCEPTED"]) == (
        1,
        1,
    )
    assert numbers["gateway_conflicts_recent", "CONFLICT"] == 1
    assert {str(kind) for kind in AnswerClass} | {OTHER} == {
        key[1] for key in numbers if key[0] == "gateway_answers_recent"
    }


def test_the_outbox_and_signs_of_life_show_their_age():
    operation_in_state(OperationState.COMPLETED, now=NOW - timedelta(minutes=10))
    Heartbeat.record("beat", now=NOW - timedelta(seconds=90))
    numbers = read()
    assert numbers["audit_outbox_unpublished",] > 5
    assert numbers["audit_outbox_lag_seconds",] == 600
    assert numbers["heartbeat_age_seconds", "beat"] == 90
    assert numbers["scrape_complete",] == 1


def test_an_empty_desk_has_every_number():
    numbers = read()
    assert numbers["operations", "STATUS_UNKNOWN"] == numbers["audit_outbox_lag_seconds",] == 0


def test_a_database_that_is_away_costs_the_numbers_and_no_error(monkeypatch):
    def away(_now):
        raise OperationalError("gone")

    monkeypatch.setattr(collector, "_read", away)
    samples = scrape()
    assert samples["refund_desk_scrape_complete", ()] == 0
    assert ("refund_desk_nudges_lost_total", ()) in samples


def test_answers_and_lost_nudges_are_counted_in_this_process(client):
    def answered(status):
        return scrape()["refund_desk_http_responses_total", (("status", status), ("surface", "support"))]

    before = answered("3xx")
    client.get("/support/?next=secret")
    assert answered("3xx") == before + 1
    NUDGES_LOST.inc()
    assert scrape()["refund_desk_nudges_lost_total", ()] >= 1


@pytest.mark.failure("F062")
def test_messages_that_no_worker_can_do_are_counted_by_kind_for_every_process():
    numbers = read()
    assert {key[1]: value for key, value in numbers.items() if key[0] == "worker_faults"} == dict.fromkeys(
        [*WorkerFault, OTHER], 0
    )
    for fault in (
        WorkerFault.TASK_UNKNOWN,
        WorkerFault.TASK_UNKNOWN,
        WorkerFault.TASK_FAILED,
        "SOMETHING_ELSE",
    ):
        Tally.add(fault)
    numbers = read()
    assert [numbers["worker_faults", fault] for fault in WorkerFault] == [2, 0, 1]
    assert numbers["worker_faults", OTHER] == 0


@pytest.mark.failure("F022")
def test_a_refund_that_shows_up_after_its_operation_had_ended_is_a_number_that_pages():
    for state in (OperationState.CANCELLED, OperationState.FAILED, OperationState.STATUS_UNKNOWN):
        move_operation(operation_in_state(state), OperationState.MANUAL_REVIEW)
    numbers = read()
    told = {key[1]: value for key, value in numbers.items() if key[0] == "operations_contradicted_recent"}
    assert (told["CANCELLED"], told["FAILED"], told["REJECTED"], told[OTHER]) == (1, 1, 0, 0)
    assert told["NONE"] > 3


def test_proposals_are_counted_by_how_the_model_declined_and_by_who_made_them():
    for detail, proposer in (("", "deterministic"), ("CONTENT_FILTER", "m"), ("FORBIDDEN_KEY", "m")):
        workflow = workflow_in_state(WorkflowState.EVIDENCE_VERIFIED)
        Proposal.objects.create(
            workflow=workflow,
            command_number=1,
            proposer=proposer,
            model_snapshot="any/1",
            output_class="REJECT" if detail else "VALID",
            detail=detail,
            at=NOW,
        )
    numbers = read(NOW + timedelta(minutes=1))
    assert numbers["proposals_declined_recent", "CONTENT_FILTER"] == 1
    assert numbers["proposals_declined_recent", "NONE"] == 2
    assert numbers["proposals_declined_recent", "TOOL_CALL"] == 0
    assert numbers["proposals_by_proposer_recent", "RULES"] == 1
    assert numbers["proposals_by_proposer_recent", "MODEL"] == 2


def breakers():
    return {key[1]: value for key, value in read().items() if key[0] == "model_breaker_state"}


def test_a_model_is_shown_with_its_breaker_once_an_operator_had_it_evaluated(monkeypatch):
    assert breakers() == {}
    url = "https://models.example.com/v1"
    qualify_model(base_url=url, model="first")
    qualify_model(base_url=url, model="second", passed=False)
    qualify_model(base_url=url, model="a name with spaces")
    states = {"first": BreakerState.OPEN, "second": BreakerState.HALF_OPEN}
    monkeypatch.setattr(collector, "breaker_state", lambda **asked: states[asked["model"]])
    assert breakers() == {"first": 2, "second": 1}


def test_without_redis_no_breaker_is_shown_and_the_other_numbers_are(monkeypatch):
    qualify_model(base_url="https://models.example.com/v1", model="first")
    monkeypatch.setattr(collector, "breaker_state", lambda **_asked: None)
    assert breakers() == {}
    assert read()["scrape_complete",] == 1
