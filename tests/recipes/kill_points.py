"""Where workers are killed around the call: how operations are brought there, and what must follow."""

from collections.abc import Callable
from dataclasses import dataclass, field

import redis
from django.utils import timezone

from refunds.models import GatewayAttempt, GatewayResponse, RefundOperation, RefundWorkflow
from refunds.nudges import advance
from tests.journeys.desk import Desk
from tests.support.deployed import Deployed
from tests.support.owner_session import OwnerSession
from tests.support.workers import broker_url, send, wait_until

PATIENCE = 120.0


@dataclass
class Scene:
    """One round: the workers that will be killed, and the requests that they work on."""

    desk: Desk
    owner: OwnerSession
    workers: list[Deployed]
    merchant: object
    together: int
    requests: list[str] = field(default_factory=list)

    def ask(self, **columns):
        """Open one request each of as many new customers; nothing is done about them yet."""
        self.desk.now = timezone.now()
        for _ in range(self.together):
            made = self.desk.duplicate(self.desk.customer(self.merchant), **columns)
            self.requests.append(self.desk.ask(made.order, run=False))

    def commit_operations(self):
        """Take each request as far as its operation, which is not sent."""
        self.ask()
        for workflow_id in self.requests:
            self.desk.now = timezone.now()
            self.desk.run_one(advance(workflow_id))

    @property
    def operations(self):
        return list(RefundOperation.objects.filter(workflow_id__in=self.requests).order_by("pk"))

    def advance(self):
        """Ask the workers for every request."""
        for workflow_id in self.requests:
            send("advance_workflow", workflow_id=workflow_id)

    def submit(self, fault=None):
        """Ask the workers for every operation, each with a fault of its own at the provider."""
        for operation in self.operations:
            if fault is not None:
                self.desk.sim.arm(fault, idempotency_key=operation.idempotency_key)
            send("submit_operation", operation_id=operation.pk)

    def until_provider_has_them(self):
        """Return once all are there; on a machine so busy that some were answered before, the others are."""
        sim = self.desk.sim
        self.wait(
            lambda: sim.control("GET", "faults")["waiting"] + self.answered() >= self.together,
            "the provider's having every request",
        )

    def until_they_wait(self, what, *, or_there=lambda: 0):
        """Return once as many sessions wait for the owner, or were faster than the hold on a busy machine."""
        self.wait(lambda: self.owner.waiting() + or_there() >= self.together, what)

    def begun(self):
        return GatewayAttempt.objects.filter(operation__workflow_id__in=self.requests).count()

    def answered(self):
        return GatewayResponse.objects.filter(attempt__operation__workflow_id__in=self.requests).count()

    def in_state(self, *states):
        return RefundWorkflow.objects.filter(pk__in=self.requests, state__in=states).count()

    def hold_payments(self):
        self.owner.hold(operation.payment_id for operation in self.operations)

    def kill(self):
        """End every worker as a power cut would, at once."""
        for worker in self.workers:
            worker.kill()

    def wait(self, condition, what):
        wait_until(condition, seconds=PATIENCE, what=what)


@dataclass(frozen=True)
class KillPoint:
    """How to get there and what to mend after the kill; then what is found there, and what must follow.

    ``request`` and ``state`` are the states of a request and its operation at the point, "" for none yet; likewise
    ``attempts``, ``answers`` and ``booked`` (refunds at the provider). ``path`` is how the operation's story begins
    after recovery. ``posts`` are those that the provider read, if nothing else went wrong.
    """

    reach: Callable[[Scene], None]
    mend: Callable[[Scene], None]
    state: str
    attempts: int
    booked: int
    path: tuple[str, ...]
    posts: int
    request: str = "EXECUTING"
    answers: int = 0
    answer_lost: bool = (
        False  # on a busy machine its window may be over before the kill: that is the point as well
    )
    absence_proven: bool = False


def beat_a_waits(scene):
    scene.commit_operations()
    scene.hold_payments()
    scene.submit()
    scene.until_they_wait("beat A's wait for its rows", or_there=scene.begun)


def _sent_and_not_read(scene):
    scene.commit_operations()
    scene.submit("not_read")
    scene.until_provider_has_them()


def _read_and_not_booked(scene):
    scene.commit_operations()
    scene.submit("delay_before")
    scene.until_provider_has_them()


def booked_and_not_answered(scene):
    scene.commit_operations()
    scene.submit("hold")
    scene.until_provider_has_them()


def _beat_c_waits(scene):
    booked_and_not_answered(scene)
    scene.hold_payments()
    scene.desk.sim.release()
    # Where an answer came too late, its loss is recorded before the rows are held.
    scene.until_they_wait("beat C's wait for its rows", or_there=scene.answered)


def _committed_and_not_acknowledged(scene):
    """The parents, which acknowledge, are frozen while their children commit."""
    booked_and_not_answered(scene)
    for worker in scene.workers:
        worker.freeze_parent()
    scene.desk.sim.release()
    scene.wait(lambda: scene.answered() >= scene.together, "the commit of every answer")


def let_go(scene):
    scene.owner.let_go()


def close_what_waits(scene):
    scene.owner.let_go()
    scene.desk.sim.disarm()


def _forget_what_was_not_booked(scene):
    scene.desk.sim.kill()
    scene.desk.sim.start()


def _redeliver(scene):
    """Let the broker's patience with unacknowledged messages be over."""
    with redis.Redis.from_url(broker_url()) as client:
        unacknowledged = client.zrange("unacked_index", 0, -1)
        assert len(unacknowledged) >= scene.together
        client.zadd("unacked_index", dict.fromkeys(unacknowledged, 0))


LOST = ("CREATED", "SUBMITTED", "STATUS_UNKNOWN")
_ABSENT = (*LOST, "CONFIRMED_ABSENT", "SUBMITTED")
AROUND_THE_CALL = {
    "a-nothing-begun": KillPoint(
        beat_a_waits, let_go, "CREATED", 0, 0, ("CREATED", "SUBMITTED"), posts=1
    ),
    "a-not-read": KillPoint(
        _sent_and_not_read, close_what_waits, "SUBMITTED", 1, 0, _ABSENT, posts=1, absence_proven=True
    ),
    "b-not-booked": KillPoint(
        _read_and_not_booked, _forget_what_was_not_booked, "SUBMITTED", 1, 0, _ABSENT, posts=2,
        absence_proven=True,
    ),
    "c-not-answered": KillPoint(
        booked_and_not_answered, close_what_waits, "SUBMITTED", 1, 1, (*LOST, "COMPLETED"), posts=1
    ),
    "d-not-committed": KillPoint(
        _beat_c_waits, let_go, "SUBMITTED", 1, 1, (*LOST, "COMPLETED"), posts=1
    ),
    "e-not-acknowledged": KillPoint(
        _committed_and_not_acknowledged, _redeliver, "COMPLETED", 1, 1,
        ("CREATED", "SUBMITTED", "COMPLETED"), posts=1, request="COMPLETED", answers=1,
    ),
}  # fmt: skip
