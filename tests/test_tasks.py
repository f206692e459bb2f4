"""Tasks: ids in, one call down, nudges out; a broker that is down costs time and nothing else."""

import inspect
from datetime import UTC, datetime, timedelta

import pytest
from celery import current_app, signals
from django.db import OperationalError, transaction
from django.utils import timezone
from kombu import pools

from config.celery import ASSISTANT, DEFAULT, MAIL, MONEY, app
from ledger.models import AuditOutbox, AuditPublication, Heartbeat, Tally
from ledger.tracing import current_trace_id, start_trace
from notifications.channels.email import EmailChannel
from notifications.channels.fake import FakeChannel
from notifications.channels.port import Delivery, DeliveryOutcome
from notifications.models import Notification
from refunds import tasks
from refunds.gateways.fake import Ordered
from refunds.models import RefundOperation, RefundOperationEvent, RefundWorkflow
from refunds.nudges import DELIVER, advance, reconcile, submit
from refunds.recovery import find_resumable_work
from refunds.states import OperationState
from tests.factories import make_duplicate_order, make_policy, open_workflow, operation_in_state
from tests.stages.gateways import fake_gateway_for
from tests.stages.trail import nothing_written, path

pytestmark = pytest.mark.django_db
TRACE = f"00-{'a' * 32}-{'b' * 16}-01"
NAMES = {
    "refunds.advance_workflow": ["workflow_id"],
    "refunds.read_message": ["workflow_id"],
    "refunds.submit_operation": ["operation_id"],
    "refunds.reconcile_operation": ["operation_id", "cause", "seen_reference"],
    "refunds.resume_workflows": [],
    "refunds.recheck_evidence": [],
    "refunds.apply_webhook": ["webhook_id"],
    "refunds.apply_webhooks": [],
    "refunds.recover_submitted": [],
    "refunds.reconcile_unknown": [],
    "refunds.look_late": [],
    "refunds.escalate_reviews": [],
    "refunds.adopt_forgotten": [],
    "refunds.retry_notifications": [],
    "refunds.deliver_notifications": [],
    "refunds.relay_audit_outbox": [],
    "refunds.check_invariants": [],
    "refunds.compare_books": [],
    "refunds.count_fault": ["kind"],
    "refunds.heartbeat": [],
}


@pytest.fixture
def now():
    """Tasks read the wall clock, so their rows are as old as the test."""
    return timezone.now() - timedelta(seconds=1)


@pytest.fixture
def sent(monkeypatch):
    """What was handed to the broker: (task, kwargs without the trace)."""
    messages = []

    def send_task(name, *, kwargs):
        messages.append((name, {key: value for key, value in kwargs.items() if key != "traceparent"}))

    monkeypatch.setattr(app, "send_task", send_task)
    return messages


@pytest.fixture
def committed(django_capture_on_commit_callbacks):
    """Run what waits for a commit once the block ends."""
    return lambda: django_capture_on_commit_callbacks(execute=True)


@pytest.fixture
def operation(now, monkeypatch):
    """An executable operation, and the gateway of this worker with its payment in the book."""
    made = operation_in_state(OperationState.CREATED, now=now)
    gateway = fake_gateway_for(made)
    monkeypatch.setattr(tasks, "get_gateway", lambda: gateway)
    return made, gateway


def request(now):
    order = make_duplicate_order(now=now).order
    make_policy(merchant=order.merchant, effective_from=now - timedelta(days=60))
    return open_workflow(order=order, now=now, next_attempt_at=now)


# -- what a message may hold


def test_every_task_takes_ids_and_the_trace_and_nothing_else():
    ours = {name: task for name, task in current_app.tasks.items() if name.startswith("refunds.")}
    assert set(ours) == set(NAMES)
    for name, task in ours.items():
        parameters = inspect.signature(task.run).parameters.values()
        ids = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "traceparent"]
        assert ids == NAMES[name]
        assert [p.name for p in parameters if p.kind is p.VAR_KEYWORD] == ["_later"]


def test_money_the_model_and_mail_have_queues_of_their_own():
    queues = {name: app.amqp.router.route({}, name)["queue"].name for name in NAMES}
    assert queues["refunds.submit_operation"] == queues["refunds.reconcile_operation"] == MONEY == "money"
    assert queues["refunds.apply_webhook"] == queues["refunds.compare_books"] == MONEY
    assert queues["refunds.advance_workflow"] == queues["refunds.read_message"] == ASSISTANT == "assistant"
    assert queues["refunds.retry_notifications"] == MAIL == "mail"
    mail = {"refunds.retry_notifications", "refunds.deliver_notifications"}
    assert {queues[name] for name in mail} == {MAIL}
    others = {name for name, ids in NAMES.items() if not ids} - mail - {"refunds.compare_books"}
    assert {queues[name] for name in others} == {DEFAULT}


def test_money_is_never_retried_by_the_broker():
    assert app.tasks["refunds.submit_operation"].max_retries == 0
    assert app.tasks["refunds.reconcile_operation"].max_retries == 0
    assert app.tasks["refunds.read_message"].max_retries == 0
    assert app.conf.task_acks_late
    assert not app.conf.task_publish_retry


def test_every_scanner_stands_in_the_beat_table():
    scheduled = {entry["task"] for entry in app.conf.beat_schedule.values()}
    nudged = {"refunds.deliver_notifications"}
    assert scheduled == {name for name, ids in NAMES.items() if not ids} - nudged


# -- nudges


@pytest.mark.failure("F055")
def test_a_nudge_leaves_after_the_commit(sent, committed):
    with committed() as waiting:
        with transaction.atomic():
            tasks.send_nudges([advance("wf_1"), submit("rfop_1"), reconcile("rfop_2"), DELIVER])
        assert sent == []
    assert len(waiting) == 4
    assert sent == [
        ("refunds.advance_workflow", {"workflow_id": "wf_1"}),
        ("refunds.submit_operation", {"operation_id": "rfop_1"}),
        ("refunds.reconcile_operation", {"operation_id": "rfop_2"}),
        ("refunds.deliver_notifications", {}),
    ]


@pytest.mark.failure("F055")
def test_a_rolled_back_nudge_never_leaves(sent, committed):
    with committed(), pytest.raises(ZeroDivisionError), transaction.atomic():
        tasks.send_nudges([advance("wf_1")])
        raise ZeroDivisionError
    assert sent == []


def test_a_nudge_carries_the_trace_of_the_one_who_sent_it(monkeypatch, committed):
    kept = []
    monkeypatch.setattr(app, "send_task", lambda _name, *, kwargs: kept.append(kwargs["traceparent"]))
    trace_id = start_trace()
    with committed():
        tasks.send_nudges([DELIVER])
    assert kept[0].split("-")[1] == trace_id


@pytest.fixture
def broker_down():
    """Point the app at an address where nobody listens, with no connection kept from before."""
    url = app.conf.broker_url
    pools.reset()  # a pool that is merely closed stays closed for every other test of this process
    app.conf.broker_url = "redis://127.0.0.1:1"
    app._pool = app.amqp._producer_pool = None
    yield
    app.conf.broker_url = url
    pools.reset()
    app._pool = app.amqp._producer_pool = None


class Warnings(list):
    def warning(self, event, **fields):
        self.append((event, fields))


def test_a_broker_that_is_down_fails_nothing_and_the_scanner_finds_the_work(
    broker_down, now, committed, monkeypatch
):
    workflow, warned = request(now), Warnings()
    monkeypatch.setattr(tasks, "logger", warned)
    with committed():
        tasks.send_nudges([advance(workflow.pk)])
    assert warned == [("nudge.lost", {"task": "advance_workflow"})]
    assert find_resumable_work(now=now) == (advance(workflow.pk),)


def test_a_pool_that_is_closed_already_costs_a_nudge_and_no_request(committed, monkeypatch):
    def closed(*_args, **_kwargs):
        raise RuntimeError("Acquire on closed pool")

    warned = Warnings()
    monkeypatch.setattr(app, "send_task", closed)
    monkeypatch.setattr(tasks, "logger", warned)
    with committed():
        tasks.send_nudges([DELIVER])
    assert warned == [("nudge.lost", {"task": "deliver_notifications"})]


# -- one call down


def test_advancing_a_request_leads_to_its_submission(now, sent, committed):
    workflow = request(now)
    with committed():
        tasks.advance_workflow(workflow_id=workflow.pk, traceparent=TRACE)
    created = RefundOperation.objects.get()
    assert path(workflow)[-1] == "EXECUTING"
    assert sent == [("refunds.submit_operation", {"operation_id": created.pk})]
    assert RefundOperationEvent.objects.get().trace_id == current_trace_id() == "a" * 32


def test_submitting_an_operation_leads_to_its_message(operation, sent, committed):
    made, gateway = operation
    with committed():
        tasks.submit_operation(operation_id=made.pk)
    assert path(made)[-1] == "COMPLETED"
    assert len(gateway.submissions) == 1
    assert sent == [("refunds.deliver_notifications", {})]


def test_a_lost_answer_leads_to_a_look_and_the_look_to_the_end(operation, sent, committed):
    made, gateway = operation
    gateway.order(Ordered.BOOK_THEN_LOSE)
    with committed():
        tasks.submit_operation(operation_id=made.pk)
    assert sent == [("refunds.reconcile_operation", {"operation_id": made.pk})]
    with committed():
        tasks.reconcile_operation(operation_id=made.pk)
    assert path(made) == ["CREATED", "SUBMITTED", "STATUS_UNKNOWN", "COMPLETED"]
    assert (len(gateway.submissions), len(gateway.refunds(made.payment_reference))) == (1, 1)


@pytest.mark.failure("F062")
def test_a_message_of_a_newer_release_is_understood(operation, sent, committed):
    made, _ = operation
    with committed():
        tasks.submit_operation(operation_id=made.pk, traceparent="not a trace", priority="high")
        tasks.heartbeat(reason="deploy")
    assert path(made)[-1] == "COMPLETED"


@pytest.mark.failure("F062")
def test_a_message_of_an_unknown_shape_loses_nothing(operation, sent, committed):
    made, gateway = operation
    with nothing_written(), pytest.raises(TypeError):
        tasks.submit_operation(refund=made.pk)
    RefundOperation.objects.update(next_attempt_at=timezone.now())
    with committed():
        tasks.resume_workflows()
    assert sent == [("refunds.submit_operation", {"operation_id": made.pk})]
    assert gateway.submissions == []


def test_twenty_equal_messages_are_one_submission(operation, sent, committed):
    made, gateway = operation
    with committed():
        for _ in range(20):
            tasks.submit_operation(operation_id=made.pk)
    assert (path(made)[-1], len(gateway.submissions), made.attempts.count()) == ("COMPLETED", 1, 1)


# -- scanners


@pytest.mark.parametrize(
    ("name", "state", "task"),
    [
        ("resume_workflows", OperationState.CREATED, "submit_operation"),
        ("recover_submitted", OperationState.SUBMITTED, "reconcile_operation"),
        ("reconcile_unknown", OperationState.STATUS_UNKNOWN, "reconcile_operation"),
        ("reconcile_unknown", OperationState.PROVIDER_PENDING, "reconcile_operation"),
        ("look_late", OperationState.MANUAL_REVIEW, "reconcile_operation"),
    ],
)
def test_a_scan_sends_what_it_found_and_leaves_a_sign_of_life(now, sent, committed, name, state, task):
    found = operation_in_state(state, now=now)
    RefundOperation.objects.update(next_attempt_at=now, next_check_at=now)
    with committed():
        getattr(tasks, name)()
    cause = {"cause": "LATE"} if name == "look_late" else {}
    assert sent == [(f"refunds.{task}", {"operation_id": found.pk} | cause)]
    beat = Heartbeat.objects.get(pk=name)
    assert beat.summary == {"found": 1}
    assert beat.beat_at >= now


@pytest.mark.parametrize(
    "name",
    [
        *("resume_workflows", "recover_submitted", "reconcile_unknown", "look_late"),
        *("escalate_reviews", "adopt_forgotten", "heartbeat"),
    ],
)
def test_without_work_a_sign_of_life_is_all_there_is(sent, committed, name):
    with committed():
        getattr(tasks, name)()
    assert sent == []
    assert [row.name for row in Heartbeat.objects.all()] == ["beat" if name == "heartbeat" else name]


@pytest.fixture
def channel(monkeypatch):
    """A mail server that refuses the first message for now and takes the others."""
    channel = FakeChannel([Delivery(DeliveryOutcome.TRANSIENT, "SMTP_421")])
    monkeypatch.setattr(EmailChannel, "from_settings", lambda: channel)
    return channel


@pytest.mark.failure("F121")
def test_a_message_that_fails_does_not_stop_the_next(now, sent, committed, channel, monkeypatch):
    monkeypatch.setattr(tasks, "MAIL_BATCH", 2)
    for _ in range(3):
        made = operation_in_state(OperationState.CREATED, now=now)
        monkeypatch.setattr(tasks, "get_gateway", lambda made=made: fake_gateway_for(made))
        tasks.submit_operation(operation_id=made.pk)
    with committed():
        tasks.retry_notifications()
    assert len(channel.sent) == 3
    assert Notification.objects.filter(delivered_at=None).count() == 1
    assert set(RefundWorkflow.objects.values_list("state", flat=True)) == {"COMPLETED"}
    assert Heartbeat.objects.get().summary == {"found": 3}


def test_the_outbox_is_published_to_the_sink_of_the_settings(now, settings, tmp_path):
    settings.AUDIT_SINK = f"file://{tmp_path}/audit.jsonl"
    open_workflow(order=make_duplicate_order(now=now).order, now=now)
    waiting = AuditOutbox.objects.count()
    tasks.relay_audit_outbox()
    assert AuditPublication.objects.count() == waiting == 1
    assert len((tmp_path / "audit.jsonl").read_text().splitlines()) == waiting
    assert Heartbeat.objects.get().summary == {"found": waiting}


def tallies():
    return dict(Tally.objects.values_list("name", "total"))


@pytest.mark.failure("F062")
def test_a_message_of_another_release_is_counted_by_a_task_of_its_own(sent, committed):
    with committed():
        signals.task_unknown.send(
            sender=None, name="refunds.task_of_the_next_release", id="1", message=None, exc=None
        )
        signals.task_rejected.send(sender=None, message=None, exc=None)
    assert sent == [
        ("refunds.count_fault", {"kind": "TASK_UNKNOWN"}),
        ("refunds.count_fault", {"kind": "MESSAGE_UNREADABLE"}),
    ]
    for _, kwargs in sent:
        tasks.count_fault(**kwargs)
    assert tallies() == {"TASK_UNKNOWN": 1, "MESSAGE_UNREADABLE": 1}


def test_an_older_worker_that_cannot_count_starts_no_chain_of_messages(sent, committed):
    with committed():
        signals.task_unknown.send(sender=None, name="refunds.count_fault", id="1", message=None, exc=None)
    assert sent == []


@pytest.mark.failure("F062")
@pytest.mark.parametrize("kwargs", [{}, {"operation": "rfop_1"}, {"operation_id": "rfop_none"}])
def test_a_task_that_fails_is_counted_where_it_failed(kwargs, monkeypatch):
    monkeypatch.setattr(tasks, "get_gateway", lambda: None)
    result = tasks.submit_operation.apply(kwargs=kwargs)
    assert result.failed()
    assert tallies() == {"TASK_FAILED": 1}


def test_a_database_that_is_away_costs_the_count_and_no_second_error(monkeypatch):
    def away(_name):
        raise OperationalError("gone")

    monkeypatch.setattr(tasks.Tally, "add", away)
    assert tasks.submit_operation.apply(kwargs={}).failed()


@pytest.mark.parametrize(
    ("took_ms", "seconds", "asked"),
    [
        (0, 0, True),
        (3_000, 59, False),
        (3_000, 60, True),
        (10_000_000, 479, False),
        (10_000_000, 480, True),
        (3_000, -1, True),  # the clock was put back: nobody waits for the old one
    ],
)
def test_the_check_of_the_invariants_rests_in_proportion_to_what_it_took(
    monkeypatch, took_ms, seconds, asked
):
    last = datetime(2026, 11, 30, 12, tzinfo=UTC)
    Heartbeat.record("check_invariants", now=last, found=0, took_ms=took_ms)
    monkeypatch.setattr(tasks, "now_utc", lambda: last + timedelta(seconds=seconds))
    tasks.check_invariants()
    beat = Heartbeat.objects.get(pk="check_invariants")
    assert (beat.beat_at == last + timedelta(seconds=seconds)) is asked
    assert beat.summary["found"] == 0
    if asked:  # and was told anew
        assert 0 <= beat.summary["took_ms"] < 10_000
