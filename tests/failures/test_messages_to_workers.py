"""A real worker under floods of messages, repeated ones and such as no release sends."""

import time
from datetime import timedelta

import pytest
import redis
from celery import Celery
from django.utils import timezone
from knox.models import AuthToken

from config.celery import app as configured
from ledger.models import Tally
from refunds.models import GatewayAttempt
from tests.api.calls import URL
from tests.support.workers import Worker, broker_url, purge, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.timeout(900)]
PAGE_SECONDS = 10  # one page of a busy machine
QUEUES = ("assistant", "money", "mail", "default")


@pytest.fixture
def worker(desk, tmp_path):
    """A function that starts the worker, with or without its beat; it is stopped at the end."""
    purge()
    started = []

    def start(*, beat):
        log = tmp_path / "worker.log"
        started.append(Worker(gateway_url=desk.sim.url, api_key=desk.sim.api_key, log=log, beat=beat))
        return log

    yield start
    for running in started:
        running.stop()
    purge()


class Customer:
    """Reads their request over and over while the workers are busy."""

    def __init__(self, web, workflow):
        _, token = AuthToken.objects.create(user=workflow.customer.user)
        self._read = lambda: web.call(
            "GET", f"{URL}/{workflow.pk}", headers={"Authorization": f"Token {token}"}
        )
        self.statuses, self.seconds, self._last = [], [], 0.0

    def reads(self):
        """Read once a second; true, so that it stands beside what is waited for."""
        began = time.monotonic()
        if began - self._last >= 1:
            self.statuses.append(self._read()[0])
            self._last = time.monotonic()
            self.seconds.append(self._last - began)
        return True


def publish(*messages):
    """Put (task, kwargs) on the broker as given, whatever they hold."""
    app = Celery("tests", broker=broker_url(), set_as_current=False)
    app.conf.update(
        task_routes=configured.conf.task_routes, task_default_queue="default", task_ignore_result=True
    )
    with app.connection_for_write() as connection, app.amqp.Producer(connection) as producer:
        for task, kwargs in messages:
            app.send_task(task, kwargs=kwargs, producer=producer)


def waiting():
    with redis.Redis.from_url(broker_url()) as client:
        return sum(client.llen(queue) for queue in QUEUES)


def lost_refund(desk):
    """Return a request whose only call will be booked and never answered."""
    desk.now = timezone.now() - timedelta(seconds=1)
    made = desk.duplicate(desk.customer())
    desk.sim.arm("drop_after")
    return desk.ask(made.order, run=False)


@pytest.mark.failure("F053")
@pytest.mark.failure("F059")
def test_a_thousand_scans_and_repeated_messages_send_once_and_the_queues_drain(desk, worker, web):
    workflow_id = lost_refund(desk)
    publish(
        *[("refunds.advance_workflow", {"workflow_id": workflow_id})] * 50,
        *[
            ("refunds.resume_workflows", {}),
            ("refunds.recover_submitted", {}),
            ("refunds.reconcile_unknown", {}),
        ]
        * 333,
    )
    assert waiting() == 50 + 999
    customer = Customer(web, desk.workflow(workflow_id))

    worker(beat=False)
    wait_until(
        lambda: customer.reads() and desk.workflow(workflow_id).state == "COMPLETED",
        seconds=240,
        what="COMPLETED",
    )
    operation = desk.operation(workflow_id)
    publish(
        *[("refunds.submit_operation", {"operation_id": operation.pk})] * 50,
        *[("refunds.reconcile_operation", {"operation_id": operation.pk})] * 50,
    )
    wait_until(lambda: customer.reads() and waiting() == 0, seconds=480, what="empty queues")

    assert set(customer.statuses) == {200}
    assert len(customer.statuses) > 3
    assert max(customer.seconds) < PAGE_SECONDS
    assert (len(desk.posts()), len(desk.sim.refunds()), GatewayAttempt.objects.count()) == (1, 1, 1)
    assert len(desk.sim.log(method="GET")) <= operation.checks.count() <= 3
    assert desk.messages() == [f"refund.completed:{operation.pk}"]
    desk.assert_books_agree()


@pytest.mark.failure("F062")
def test_messages_of_another_release_lose_no_work(desk, worker):
    desk.now = timezone.now() - timedelta(seconds=1)
    made = desk.duplicate(desk.customer())
    workflow_id = desk.ask(made.order, run=False)
    publish(
        ("refunds.advance_workflow", {}),
        ("refunds.advance_workflow", {"workflow": workflow_id}),
        ("refunds.advance_workflow", {"workflow_id": "wf_of_nobody"}),
        ("refunds.task_of_the_next_release", {"workflow_id": workflow_id}),
        ("refunds.resume_workflows", {"since": "yesterday"}),
    )

    log = worker(beat=True)
    wait_until(lambda: desk.workflow(workflow_id).state == "COMPLETED", seconds=240, what="COMPLETED")

    assert "task_of_the_next_release" in log.read_text()
    wait_until(
        lambda: dict(Tally.objects.values_list("name", "total")).get("TASK_UNKNOWN") == 1,
        seconds=60,
        what="a count",
    )
    assert Tally.objects.get(name="TASK_FAILED").total >= 3
    assert (len(desk.posts()), len(desk.sim.refunds())) == (1, 1)
    desk.assert_books_agree()
