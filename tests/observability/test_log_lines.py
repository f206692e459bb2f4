"""What a line holds: the shape of a transition's event, and the ids that are bound around it."""

import logging
import smtplib
import sys
from datetime import timedelta

import psycopg
import pytest
import structlog
from django.db import OperationalError, ProgrammingError
from django.test import Client
from django.utils import timezone

from config.celery import app
from config.logs import logging_config
from config.telemetry import bind_task, forget_task
from ledger.ids import new_id
from ledger.models import AuditOutbox
from ledger.tracing import current_trace_id
from refunds import tasks
from refunds.models import RefundOperation
from refunds.states import OperationState
from tests.api.calls import ask, token_client
from tests.factories import make_duplicate_order, make_policy, open_workflow, operation_in_state

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_cache")]
TRACE = f"00-{'a' * 32}-{'b' * 16}-01"


@pytest.fixture
def committed(django_capture_on_commit_callbacks):
    return lambda: django_capture_on_commit_callbacks(execute=True)


@pytest.fixture
def unsent(monkeypatch):
    """No broker: what is enqueued is forgotten."""
    monkeypatch.setattr(app, "send_task", lambda *_, **__: None)


def test_a_transition_is_one_line_in_the_shape_of_its_event(log, committed):
    with committed():
        operation = operation_in_state(OperationState.SUBMITTED)
    (line,) = log.named("refund_operation.submitted")
    assert set(line) >= {"timestamp", "trace_id", "stage", "actor", "reason", "policy_version", "metadata"}
    assert line["workflow_id"] == operation.workflow_id
    assert line["refund_operation_id"] == line["subject"] == operation.pk
    assert line["transition"] == {"from": "CREATED", "to": "SUBMITTED"}
    assert line["actor"] == {"type": "SYSTEM", "id": "test"}
    assert line["system_version"]
    assert line["sequence"] == 2
    published = AuditOutbox.objects.get(topic="refund_operation.submitted").payload
    assert {name: line[name] for name in published if name != "trace_id"} == {
        name: value for name, value in published.items() if name != "trace_id"
    }


def test_a_line_is_written_only_once_the_change_is_committed(log, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=False):
        operation_in_state(OperationState.CREATED)
    assert log.text == ""


@pytest.mark.failure("F129")
def test_the_whole_story_is_found_by_the_workflow_alone(committed):
    operation = operation_in_state(OperationState.COMPLETED)
    told = AuditOutbox.objects.filter(payload__workflow_id=operation.workflow_id).order_by("pk")
    topics = list(told.values_list("topic", flat=True))
    assert topics[0] == "refund_workflow.evidence_pending"
    assert topics.index("approval.granted") < topics.index("refund_operation.created")
    assert {"refund_operation.submitted", "refund_operation.completed", "refund_workflow.completed"} <= set(
        topics
    )


@pytest.mark.django_db(transaction=True)
def test_a_request_binds_its_ids_to_every_line(log, unsent):
    order = make_duplicate_order(number="2841").order
    answer = ask(token_client(order.customer.user), order_number="2841", headers={"traceparent": TRACE})
    workflow_id = answer.json()["workflow_id"]
    (opened,) = log.named("refund_workflow.evidence_pending")
    (finished,) = log.named("request_finished")
    assert opened["workflow_id"] == finished["workflow_id"] == workflow_id
    assert opened["trace_id"] == finished["trace_id"] == "a" * 32
    assert finished["code"] == 201
    assert finished["user_id"] == order.customer.user_id
    request_ids = {line["request_id"] for line in log.lines}
    assert len(request_ids) == 1


def test_an_address_binds_the_id_in_it(log):
    order = make_duplicate_order().order
    workflow = open_workflow(order=order)
    token_client(order.customer.user).get(f"/api/v1/refund-requests/{workflow.pk}")
    token_client(order.customer.user).get("/api/v1/refund-requests/somebody@example.com")
    first, second = log.named("request_finished")
    assert (first["workflow_id"], first["code"]) == (workflow.pk, 200)
    assert ("workflow_id" in second, second["code"]) == (False, 404)


@pytest.mark.django_db(transaction=True)
def test_a_task_binds_its_own_ids_and_leaves_none_behind(log, unsent):
    now = timezone.now()
    order = make_duplicate_order(now=now).order
    make_policy(merchant=order.merchant, effective_from=now - timedelta(days=60))
    workflow = open_workflow(order=order, now=now)
    log.forget()
    tasks.advance_workflow.apply(kwargs={"workflow_id": workflow.pk, "traceparent": TRACE}, task_id="t-1")
    moved = [line for line in log.lines if line["logger"] == "transitions"]
    assert moved
    assert {line["workflow_id"] for line in moved} == {workflow.pk}
    assert {line["task_id"] for line in moved} == {"t-1"}
    assert {line["trace_id"] for line in moved} == {"a" * 32}
    assert structlog.contextvars.get_contextvars() == {}
    assert current_trace_id() == ""


def test_only_ids_are_bound_from_a_message():
    workflow_id, operation_id = new_id("wf"), new_id("rfop")
    sender = {"request_id": "123e4567-e89b-42d3-a456-426614174000", "user_agent": "x", "workflow_id": "other"}
    try:
        bind_task(task_id="1", name="t", kwargs={"operation_id": operation_id, "note": "x"}, sender=sender)
        bound = structlog.contextvars.get_contextvars()
        assert set(bound) == {"task_id", "task", "refund_operation_id", "request_id"}
        bind_task(task_id="2", name="t", kwargs={"workflow_id": f"{workflow_id} and words"}, sender={})
        assert set(structlog.contextvars.get_contextvars()) == {"task_id", "task"}
        assert len(current_trace_id()) == 32
    finally:
        forget_task()


@pytest.mark.parametrize("log_format", ["json", "text"])
def test_a_traceback_shows_where_and_not_what(log_format, capsys):
    config = logging_config(log_format)
    formatter = config["formatters"]["line"]
    built = formatter["()"](
        processors=formatter["processors"], foreign_pre_chain=formatter["foreign_pre_chain"]
    )
    try:
        try:
            int("my card and my street")
        except ValueError as error:
            raise KeyError("ada@example.com") from error
    except KeyError:
        record = logging.LogRecord(
            "any", logging.ERROR, __file__, 1, "failed: %s", ("ada@example.com",), sys.exc_info()
        )
    line = built.format(record)
    assert "test_log_lines.py" in line
    assert "builtins.ValueError: (" in line
    assert "builtins.KeyError: (" in line
    for words in ("my street", "ada@example.com"):
        assert words not in line.replace('int("my card and my street")', "").replace(
            'raise KeyError("ada@example.com")', ""
        ).replace('int(\\"my card and my street\\")', "").replace('KeyError(\\"ada@example.com\\")', "")


def test_words_about_the_program_stay_without_their_secrets():
    from config.tracebacks import format_exception  # noqa: PLC0415

    for error, shown in (
        (
            ConnectionRefusedError("cannot reach redis://:pw@127.0.0.1"),
            "cannot reach redis://[REDACTED]@127.0.0.1",
        ),
        (RefundOperation.DoesNotExist("no row"), "(6 characters"),
        (ValueError("SOURCE_DOWN"), "SOURCE_DOWN"),
        (ValueError(""), "builtins.ValueError: "),
    ):
        assert shown in format_exception((type(error), error, None))


def test_a_made_up_method_is_a_dash(log):
    Client().generic("CANARYMETHOD", "/support/")
    assert "CANARYMETHOD" not in log.text
    assert log.named("request_finished")


def test_a_refused_mail_is_told_without_its_addresses_and_words():
    from config.tracebacks import format_exception  # noqa: PLC0415

    for error in (
        smtplib.SMTPRecipientsRefused({"jane": (550, b"no such person")}),
        smtplib.SMTPDataError(554, b"your text about my street"),
    ):
        shown = format_exception((type(error), error, None))
        assert f"smtplib.{type(error).__name__}: (" in shown
        assert "sha256" in shown
        for words in ("jane", "person", "street"):
            assert words not in shown


@pytest.mark.parametrize("kind", [ProgrammingError, OperationalError, psycopg.OperationalError])
def test_of_a_database_error_only_the_first_line_is_told(kind):
    from config.tracebacks import format_exception  # noqa: PLC0415

    error = kind("column \"x\" does not exist\nLINE 1: SELECT x WHERE body = 'my street'")
    shown = format_exception((kind, error, None))
    assert shown.endswith('column "x" does not exist')
