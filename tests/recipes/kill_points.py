"""Where the worker is killed: how operations are brought there, what is mended after, and what must follow."""

from collections.abc import Callable
from dataclasses import dataclass

import redis

from refunds.models import GatewayAttempt, GatewayResponse, RefundOperation
from tests.journeys.desk import Desk
from tests.support.deployed import Deployed
from tests.support.owner_session import OwnerSession
from tests.support.workers import broker_url, send, wait_until

PATIENCE = 120.0


@dataclass
class Scene:
    """One round: the worker that will be killed, and the operations that it is asked to submit."""

    desk: Desk
    owner: OwnerSession
    worker: Deployed
    operations: list[RefundOperation]

    def submit(self, fault=None):
        """Ask the worker for every operation, each with a fault of its own at the provider."""
        for operation in self.operations:
            if fault is not None:
                self.desk.sim.arm(fault, idempotency_key=operation.idempotency_key)
            send("submit_operation", operation_id=operation.pk)

    def until_provider_has_them(self):
        """Return once all are there; on a machine so busy that some were answered before, the others are."""
        sim = self.desk.sim
        self.wait(
            lambda: sim.control("GET", "faults")["waiting"] + self.answered() >= len(self.operations),
            "the provider's having every request",
        )

    def begun(self):
        return GatewayAttempt.objects.filter(operation__in=self.operations).count()

    def answered(self):
        return GatewayResponse.objects.filter(attempt__operation__in=self.operations).count()

    def hold_rows(self):
        self.owner.hold(operation.payment_id for operation in self.operations)

    def wait(self, condition, what):
        wait_until(condition, seconds=PATIENCE, what=what)


@dataclass(frozen=True)
class KillPoint:
    """How to get there and what to mend after the kill; then what is found there, and what must follow.

    ``state``, ``attempts`` and ``booked`` (refunds at the provider) are an operation's at the point. ``path`` is how
    its story begins after recovery. ``posts`` are those that the provider read, if nothing else went wrong.
    """

    reach: Callable[[Scene], None]
    mend: Callable[[Scene], None]
    state: str
    attempts: int
    booked: int
    path: tuple[str, ...]
    posts: int
    absence_proven: bool = False


def _beat_a_waits(scene):
    scene.hold_rows()
    scene.submit()
    # On a machine so busy that a scanner was there first, some had begun before the rows were held.
    scene.wait(
        lambda: scene.owner.waiting() + scene.begun() >= len(scene.operations), "beat A's wait for its rows"
    )


def _sent_and_not_read(scene):
    scene.submit("not_read")
    scene.until_provider_has_them()


def _read_and_not_booked(scene):
    scene.submit("delay_before")
    scene.until_provider_has_them()


def _booked_and_not_answered(scene):
    scene.submit("hold")
    scene.until_provider_has_them()


def _beat_c_waits(scene):
    _booked_and_not_answered(scene)
    scene.hold_rows()
    scene.desk.sim.release()
    # On a machine so busy that an answer came too late, its loss is recorded before the rows are held.
    scene.wait(
        lambda: scene.owner.waiting() + scene.answered() >= len(scene.operations),
        "beat C's wait for its rows",
    )


def _committed_and_not_acknowledged(scene):
    """The parent, which acknowledges, is frozen while its children commit."""
    _booked_and_not_answered(scene)
    scene.worker.freeze_parent()
    scene.desk.sim.release()
    scene.wait(lambda: scene.answered() >= len(scene.operations), "the commit of every answer")


def _let_go(scene):
    scene.owner.let_go()


def _close_what_waits(scene):
    scene.desk.sim.disarm()


def _forget_what_was_not_booked(scene):
    scene.desk.sim.kill()
    scene.desk.sim.start()


def _redeliver(scene):
    """Let the broker's patience with unacknowledged messages be over."""
    with redis.Redis.from_url(broker_url()) as client:
        unacknowledged = client.zrange("unacked_index", 0, -1)
        assert len(unacknowledged) >= len(scene.operations)
        client.zadd("unacked_index", dict.fromkeys(unacknowledged, 0))


_LOST = ("CREATED", "SUBMITTED", "STATUS_UNKNOWN")
_ABSENT = (*_LOST, "CONFIRMED_ABSENT", "SUBMITTED")
POINTS = {
    "a-nothing-begun": KillPoint(
        _beat_a_waits, _let_go, "CREATED", 0, 0, ("CREATED", "SUBMITTED"), posts=1
    ),
    "a-not-read": KillPoint(
        _sent_and_not_read, _close_what_waits, "SUBMITTED", 1, 0, _ABSENT, posts=1, absence_proven=True
    ),
    "b-not-booked": KillPoint(
        _read_and_not_booked, _forget_what_was_not_booked, "SUBMITTED", 1, 0, _ABSENT, posts=2,
        absence_proven=True,
    ),
    "c-not-answered": KillPoint(
        _booked_and_not_answered, _close_what_waits, "SUBMITTED", 1, 1, (*_LOST, "COMPLETED"), posts=1
    ),
    "d-not-committed": KillPoint(
        _beat_c_waits, _let_go, "SUBMITTED", 1, 1, (*_LOST, "COMPLETED"), posts=1
    ),
    "e-not-acknowledged": KillPoint(
        _committed_and_not_acknowledged, _redeliver, "COMPLETED", 1, 1,
        ("CREATED", "SUBMITTED", "COMPLETED"), posts=1,
    ),
}  # fmt: skip
