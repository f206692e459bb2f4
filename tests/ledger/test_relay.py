"""The audit relay: at least once, in order, in one chain."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import rfc8785
from django.db import connection

from ledger import relay
from ledger.canonical import plain_json
from ledger.models import AuditOutbox, AuditPublication
from ledger.outbox import append_audit_event
from ledger.relay import as_event, relay_audit_events
from ledger.sinks import FileSink, LogSink, sink_for
from notifications.models import Notification
from refunds.states import OperationState
from tests.factories import NOW, move_operation, operation_in_state
from tests.stages.trail import path

pytestmark = pytest.mark.django_db
HUGE = 2**63 + 1


class Sink:
    """Keeps what it was given."""

    def __init__(self):
        self.events = []

    def write(self, events):
        self.events.extend(events)

    @property
    def numbers(self):
        return [event["payload"]["n"] for event in self.events]


class FullDisk(Sink):
    def write(self, _events):
        raise OSError("the disk is full")


def append(count, *, first=1):
    for number in range(first, first + count):
        append_audit_event(topic="test.event", subject="wf_1", payload={"n": number}, now=NOW)


def publish(sink, *, limit=100):
    return relay_audit_events(now=NOW, limit=limit, sink=sink)


def chain():
    """Return the events in the order of the chain, after computing every link anew."""
    prev, told = "0" * 64, []
    for number, link in enumerate(AuditPublication.objects.order_by("sequence").select_related("outbox"), 1):
        document = {"prev": prev, "sequence": number, "event": plain_json(as_event(link.outbox))}
        assert (link.sequence, link.prev_hash) == (number, prev)
        assert link.hash == hashlib.sha256(rfc8785.dumps(document)).hexdigest()
        prev = link.hash
        told.append(link.outbox.payload["n"])
    return told


def test_committed_events_are_published_once_in_order_and_chained():
    append(3)
    sink = Sink()
    assert publish(sink) == 3
    assert sink.numbers == chain() == [1, 2, 3]
    assert publish(sink) == 0
    assert len(sink.events) == 3


def test_consumers_see_ids_the_subject_and_the_payload():
    row = append_audit_event(topic="test.event", subject="wf_1", payload={"n": 1, "why": "ünïcode"}, now=NOW)
    sink = Sink()
    publish(sink)
    assert sink.events == [
        {
            "event_id": row.event_id,
            "topic": "test.event",
            "subject": "wf_1",
            "at": "2026-11-28T10:00:00+00:00",
            "payload": {"n": 1, "why": "ünïcode"},
        }
    ]


def test_a_run_is_bounded_and_the_chain_goes_on_where_it_stopped():
    append(5)
    sink = Sink()
    assert [publish(sink, limit=2) for _ in range(4)] == [2, 2, 1, 0]
    assert sink.numbers == chain() == [1, 2, 3, 4, 5]


def test_without_events_the_sink_is_not_touched():
    assert publish(FullDisk()) == 0


@pytest.mark.failure("F135")
def test_after_a_crash_between_sink_and_record_the_same_events_come_again_under_the_same_ids(monkeypatch):
    append(2)
    sink = Sink()

    with monkeypatch.context() as crashing, pytest.raises(KeyboardInterrupt):
        crashing.setattr(relay, "_record", crash)
        publish(sink)
    assert AuditPublication.objects.count() == 0
    append(1, first=3)

    assert publish(sink) == 3

    assert sink.numbers == [1, 2, 1, 2, 3]
    assert len({event["event_id"] for event in sink.events}) == 3
    assert chain() == [1, 2, 3]


def test_a_sink_that_refuses_leaves_the_events_waiting():
    append(2)
    with pytest.raises(OSError, match="disk"):
        publish(FullDisk())
    assert (AuditOutbox.objects.count(), AuditPublication.objects.count()) == (2, 0)
    assert publish(Sink()) == 2


@pytest.mark.failure("F135")
def test_a_consumer_that_drops_repeats_by_id_has_each_event_of_an_operation_once_and_in_order(
    monkeypatch, tmp_path
):
    operation = operation_in_state(OperationState.STATUS_UNKNOWN)
    sink, mails = FileSink(tmp_path / "audit.jsonl"), Notification.objects.count()
    for _ in range(2):  # published and not recorded, twice
        with monkeypatch.context() as crashing, pytest.raises(KeyboardInterrupt):
            crashing.setattr(relay, "_record", crash)
            publish(sink, limit=3)
    move_operation(operation, OperationState.MANUAL_REVIEW)
    while publish(sink, limit=4):
        pass

    lines = [json.loads(line) for line in sink.path.read_text().splitlines()]
    kept = {event["event_id"]: event for event in reversed(lines)}  # any of the copies will do
    assert len(lines) == len(kept) + 2 * 3
    assert set(kept) == set(AuditOutbox.objects.values_list("event_id", flat=True))
    once = list(dict.fromkeys(event["event_id"] for event in lines))
    for subject in (operation.pk, operation.workflow_id):
        told = [kept[event_id]["payload"] for event_id in once if kept[event_id]["subject"] == subject]
        states = [payload["transition"]["to"] for payload in told if payload.get("transition")]
        assert states == path(operation if subject == operation.pk else operation.workflow)
    assert Notification.objects.count() == mails


def crash(*_args):
    raise KeyboardInterrupt


@pytest.mark.django_db(transaction=True)
@pytest.mark.failure("F058")
def test_relays_at_once_never_fork_the_chain():
    append(12)
    together = Barrier(4)

    class Meeting(Sink):
        def write(self, events):
            super().write(events)
            together.wait(30)

    def run(_number):
        try:
            return publish(Meeting())
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        recorded = list(pool.map(run, range(4)))
    assert sorted(recorded) == [0, 0, 0, 12]
    assert chain() == list(range(1, 13))


def test_integers_beyond_what_json_numbers_can_hold_are_chained_and_kept_exactly(tmp_path):
    append_audit_event(topic="test.event", subject="wf_1", payload={"n": HUGE, "list": [-HUGE]}, now=NOW)
    path = tmp_path / "audit.jsonl"
    assert publish(FileSink(path)) == 1
    assert json.loads(path.read_text())["payload"] == {"n": HUGE, "list": [-HUGE]}
    assert chain() == [HUGE]


def test_the_file_holds_one_line_per_event_and_grows(tmp_path):
    path = tmp_path / "audit log.jsonl"
    sink = sink_for(f"file://{path.as_posix().replace(' ', '%20')}")
    append(2)
    publish(sink)
    append(1, first=3)
    publish(sink)
    lines = path.read_text().splitlines()
    assert [json.loads(line)["payload"]["n"] for line in lines] == [1, 2, 3]
    assert [json.loads(line)["event_id"] for line in lines] == list(
        AuditOutbox.objects.order_by("pk").values_list("event_id", flat=True)
    )


def test_a_file_that_cannot_be_written_leaves_the_events_waiting(tmp_path):
    append(1)
    with pytest.raises(OSError, match="No such file"):
        publish(FileSink(tmp_path / "missing" / "audit.jsonl"))
    assert AuditPublication.objects.count() == 0


def test_without_a_sink_of_its_own_it_writes_where_the_settings_say(settings, tmp_path):
    settings.AUDIT_SINK = f"file://{tmp_path}/audit.jsonl"
    append(1)
    assert relay_audit_events(now=NOW, limit=10) == 1
    assert (tmp_path / "audit.jsonl").read_text().count("\n") == 1
    assert isinstance(sink_for("log:"), LogSink)
