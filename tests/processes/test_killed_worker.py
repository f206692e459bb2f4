"""kill -9 of a real worker, with the provider's simulator as the witness."""

from datetime import timedelta

import pytest
from django.utils import timezone

from ledger.models import AuditOutbox
from refunds.models import GatewayAttempt, GatewayResponse
from tests.support.workers import Worker, purge, send, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def workers(desk, tmp_path):
    """Start workers; whatever still runs at the end is stopped."""
    purge()
    started = []

    def start(**options):
        worker = Worker(
            gateway_url=desk.sim.url, api_key=desk.sim.api_key, log=tmp_path / "worker.log", **options
        )
        started.append(worker)
        return worker

    yield start
    desk.sim.disarm()
    for worker in started:
        worker.stop()


@pytest.mark.failure("F054")
@pytest.mark.failure("F006")
@pytest.mark.failure("F129")
def test_killed_after_the_provider_booked_and_before_the_outcome_was_committed(desk, workers):
    desk.now = timezone.now() - timedelta(seconds=1)
    made = desk.duplicate(desk.customer())
    desk.sim.arm(kind="hold", count=1)
    first = workers(beat=False)
    workflow_id = desk.ask(made.order, run=False)
    send("advance_workflow", workflow_id=workflow_id)

    desk.sim.wait_until_waiting(seconds=90)
    assert len(desk.sim.refunds()) == 1
    assert desk.operation(workflow_id).state == "SUBMITTED"
    first.kill()
    desk.sim.release()
    assert (GatewayAttempt.objects.count(), GatewayResponse.objects.count()) == (1, 0)

    workers()
    wait_until(
        lambda: desk.workflow(workflow_id).state == "COMPLETED", seconds=90, what="recovery to COMPLETED"
    )
    assert desk.story(workflow_id)[1] == ["CREATED", "SUBMITTED", "STATUS_UNKNOWN", "COMPLETED"]
    assert (len(desk.posts()), len(desk.sim.refunds())) == (1, 1)
    assert desk.operation(workflow_id).checks.get().verdict == "CONFIRMED_COMPLETED"
    assert desk.messages() == [f"refund.completed:{desk.operation(workflow_id).pk}"]
    desk.assert_books_agree()
    told_by_the_rows(desk, workflow_id)


def told_by_the_rows(desk, workflow_id):
    """The id of the request is enough: who did what, in which order, with what the killed process had begun."""
    told = list(AuditOutbox.objects.filter(payload__workflow_id=workflow_id).order_by("pk"))
    workflow, operation = desk.story(workflow_id)
    moved = {
        subject: [event.payload["transition"]["to"] for event in told if event.subject == subject]
        for subject in (workflow_id, desk.operation(workflow_id).pk)
    }
    assert list(moved.values()) == [workflow, operation]
    assert [event.topic for event in told if event.topic.startswith("approval.")] == [
        "approval.pending", "approval.granted", "approval.consumed",
    ]  # fmt: skip
    begun = next(event for event in told if event.topic == "refund_operation.submitted")
    (attempt,) = GatewayAttempt.objects.filter(operation__workflow_id=workflow_id)
    assert begun.payload["metadata"]["gateway_attempt_id"] == attempt.pk
    found = next(event for event in told if event.topic == "refund_operation.completed")
    assert found.payload["metadata"]["processor_reference"] == desk.sim.refunds()[0]["id"]
    assert {bool(event.payload["actor"]["id"] and event.payload["timestamp"]) for event in told} == {True}
    assert begun.payload["trace_id"] != found.payload["trace_id"]  # no single trace tells both
