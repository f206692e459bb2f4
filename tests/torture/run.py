"""One run: the product's own tasks, views and services, driven step by step over a real database.

A nudge is a message that may be lost, doubled or reordered; the beat is a list of scanners that run when time has
passed. Every step is a process of its own, which a fault may end. After each step everything is asked that must hold.
"""

import hashlib
import hmac
import json
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from unittest.mock import patch

from django.db import DatabaseError, connection
from django.test import RequestFactory, override_settings
from kombu.exceptions import OperationalError as BrokerError

from ledger.one_statement import RowGoneError
from ledger.transitions import TransitionRefusedError
from notifications.channels.port import Delivery, DeliveryOutcome
from refunds import tasks, webhooks
from refunds.evidence.policy import policy_of
from tests.torture import clock as clocks
from tests.torture.beat import DUE, DUE_LATE, SCANNERS, Due
from tests.torture.database import Observer, Rows
from tests.torture.injector import Chooser, Injector, commits_cross, no_fault
from tests.torture.oracles import Watch, is_a_fact, violations_of
from tests.torture.points import CrashError, Fault, Kind
from tests.torture.provider.book import Provider
from tests.torture.provider.wire import Wire, carried_by, gateway
from tests.torture.workers import Workers

SECRET = "whsec_torture"
_ROUNDS = 400  # of recovery; more than any schedule needs, also one that hears nothing for days
_LATE_LOOKS = 2
_TAKEN = 200
_DEADLOCK = "40P01"
_SLOW = timedelta(minutes=3)  # longer than any response window
# What ends a task in production too: the error is logged, the row is found again.
TASK_ERRORS = (DatabaseError, RowGoneError, TransitionRefusedError)


class StuckError(AssertionError):
    """If you see this, recovery went on for ever: something is due that no scanner finishes."""


@dataclass(slots=True)
class Message:
    """A nudge on its way."""

    task: str
    kwargs: dict[str, str]

    def __str__(self) -> str:
        return self.task


@dataclass
class Habits:
    """How the world outside treats messages and events; the defaults are a good day."""

    loses: Callable[[Message], bool] = lambda _message: False
    doubles: Callable[[Message], bool] = lambda _message: False
    picks: Callable[[int], int] = lambda _waiting: 0
    broker_is_down: Callable[[], bool] = lambda: False
    pairs: Callable[[], bool] = lambda: False  # two messages are worked on at once
    interrupts: Callable[[], tuple[str, dict[str, Any]] | None] = lambda: None  # what people do meanwhile
    delivers_events: bool = False


@dataclass
class Run:
    """Everything about one run; ``violations`` are the names of what did not hold, with the evidence."""

    observer: Observer
    seed: int = 0
    choose: Chooser = no_fault
    habits: Habits = field(default_factory=Habits)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.clock = clocks.Clock()
        self.injector = Injector(self.choose)
        self.provider = Provider(lambda: self.clock.at)
        self.wire = Wire(self.provider, self.injector)
        self.wire.before_sending = self._check_sending
        self.wire.waste_time = lambda: self.clock.advance(_SLOW)
        self.messages: list[Message] = []
        self.trace: list[str] = []
        self.violations: list[tuple[str, str]] = []
        self.sometimes: set[str] = set()
        self.watch = Watch()
        self.ended: list[str] = []  # how steps ended that a fault hit
        self.mail: list[str] = []
        self.people: Any = None
        self.rows = Rows()
        self._outside: object = None

    # -- the frame
    @contextmanager
    def started(self) -> Iterator["Run"]:
        """Empty the database, put the run's clock, ids, provider and broker in place, and take them away again."""
        self.observer.empty()
        policy_of.cache_clear()
        random.seed(self.seed)
        with ExitStack() as stack:
            stack.enter_context(clocks.followed(self.clock, self.seed))
            stack.enter_context(carried_by(self.wire))
            stack.enter_context(commits_cross(self.injector))
            stack.enter_context(override_settings(STRIPE_WEBHOOK_SECRETS=(SECRET,)))
            stack.enter_context(patch("refunds.tasks.current_app", self))
            stack.enter_context(patch("refunds.tasks.get_gateway", gateway))
            stack.enter_context(patch("notifications.delivery.EmailChannel.from_settings", lambda: self))
            yield self

    # -- what the product calls
    name = "run"

    def send_task(self, name: str, kwargs: dict[str, str]) -> None:
        """Take a message, as the broker; every handle on the way is the run's."""
        if self.habits.broker_is_down():
            raise BrokerError("ordered by the test")
        kept = {key: value for key, value in kwargs.items() if key != "traceparent"}
        self.messages.append(Message(name.removeprefix("refunds."), kept))

    def send(self, message: Any) -> Delivery:
        """Take a mail, as the mail server."""
        fault = self.injector.cross(Kind.MAIL, "MAIL")
        if fault is Fault.NOT_DELIVERED:
            return Delivery(DeliveryOutcome.TRANSIENT, "SMTP_451")
        self.mail.append(message.message_id)
        if fault is Fault.CRASH_AFTER:
            self.injector.die()
        return Delivery(DeliveryOutcome.DELIVERED)

    # -- steps
    def step(self, label: str, act: Callable[[], Any]) -> Any:
        """Run one step as a process of its own and look at what is committed after it.

        Return what it returned; None after a fault ended it. Refusals of the product are its answers: they pass.
        """
        began = len(self.injector.points)
        outcome, result = self._live(label, act)
        fired = [f"{fault}@{point.place}" for point, fault in self.injector.fired if point.number > began]
        self.trace.append(f"{label} {outcome} {' '.join(fired)} {len(self.injector.points) - began}")
        self.look(label)
        return result

    def race(self, acts: list[tuple[str, Callable[[], Any]]]) -> None:
        """Run steps at once, one boundary at a time, in an order that the seed gives."""
        began, outcomes = len(self.injector.points), [""] * len(acts)

        def live(number: int) -> None:
            outcomes[number] = self._live(*acts[number])[0]

        workers = Workers(self.injector, self.observer, self.chance)
        workers.run([lambda number=number: live(number) for number in range(len(acts))])
        if workers.was_blocked:
            self.sometimes.add("a worker waited for a row that another held")
        told = " | ".join(f"{label} {outcome}" for (label, _), outcome in zip(acts, outcomes, strict=True))
        order = "".join(map(str, workers.order))
        self.trace.append(f"race {told} {order} {len(self.injector.points) - began}")
        self.sometimes.add("two workers were interleaved")
        self.look("race")

    def _live(self, label: str, act: Callable[[], Any]) -> tuple[str, Any]:
        """Run one process to its end; return how it ended and what it returned."""
        outcome, result = "done", None
        with self.injector.step(label):
            try:
                result = act()
            except CrashError:
                outcome = "crashed"
            except TASK_ERRORS as error:
                outcome = "crashed" if self.injector.crashed else f"failed {type(error).__name__}"
                if getattr(error.__cause__, "sqlstate", None) == _DEADLOCK:
                    self.violations.append(("ONE_LOCK_ORDER", f"{label}: {error}"))
            except Exception as error:  # noqa: BLE001 - whatever it is, the product did not foresee it
                outcome = f"raised {type(error).__name__}"
                if not self.injector.crashed:
                    self.violations.append(("UNFORESEEN_ERROR", f"{label}: {error!r}"[:300]))
        if outcome != "done":
            self.ended.append(f"{label}: {outcome}")
            policy_of.cache_clear()
        if connection.in_atomic_block:
            self.violations.append(("CONNECTION_LEFT_OPEN", label))
            connection.close()
        return outcome, result

    def look(self, label: str) -> None:
        """Ask everything that must hold, of what is committed now."""
        with self.injector.quiet():
            self.provider.catch_up()
            rows, outside = self.observer.rows(), self.provider.fingerprint()
            if (rows, outside) == (self.rows, self._outside):
                return  # nothing moved, so nothing can have broken
            self.rows, self._outside = rows, outside
            broken = [one for one in self.observer.broken() if not is_a_fact(one[0], self.watch)]
            found = [*broken, *violations_of(rows, self.provider, self.watch, self)]
        for name, detail in found:
            if (name, detail) not in self.violations:
                self.violations.append((name, detail))
        states = [row["state"] for row in (*self.rows.workflows, *self.rows.operations)]
        self.trace.append(f"{label} -> {' '.join(states)}")

    def _check_sending(self, key: str, body: str) -> None:
        """Ask, from another session, whether the call that is about to be made was committed before."""
        sha256 = hashlib.sha256(body.encode()).hexdigest()
        sent = sum(one.key == key for one in self.provider.submissions)
        known = self.observer.all(
            "SELECT request_body_sha256 FROM gateway_attempts WHERE idempotency_key = %s", key
        )
        if len(known) <= sent or (sha256,) not in known:
            self.violations.append(("ATTEMPT_BEFORE_CALL", f"{key}: call {sent + 1}, {len(known)} attempts"))

    # -- messages and scanners
    def drain(self) -> None:
        """Carry every message until none is left, and the provider's events if they arrive on this day."""
        while True:
            while self.messages:
                message = self.messages.pop(self.habits.picks(len(self.messages)))
                if self.habits.loses(message):
                    self.trace.append(f"{message} lost")
                    continue
                if self.habits.doubles(message):
                    self.messages.append(message)
                self._carry_in(message)
            if not (self.habits.delivers_events and self.provider.events):
                return
            event = self.provider.events[self.habits.picks(len(self.provider.events))]
            taken = self.deliver(event) == _TAKEN
            self.provider.events.remove(event)
            if not taken:
                self.provider.events.append(event)  # what was not answered is sent again

    def _carry_in(self, message: Message) -> None:
        """Carry a message in a world where people act meanwhile, and other workers too."""
        act = self.habits.interrupts() if self.people is not None else None
        if act is not None and self.habits.pairs():
            self.race([*self.people.acts_of(act[0], **act[1])[:1], self.working(message)])
            return
        if act is not None:
            getattr(self.people, act[0])(**act[1])
        if self.messages and self.habits.pairs():
            other = self.messages.pop(self.habits.picks(len(self.messages)))
            self.race([self.working(message), self.working(other)])
        else:
            self.carry(message)

    def carry(self, message: Message) -> None:
        """Run the task of one message."""
        self.step(*self.working(message))

    def working(self, message: Message) -> tuple[str, Callable[[], Any]]:
        """Return the step of one message, undone."""
        task = getattr(tasks, message.task)
        return self._label(message), lambda: task(**message.kwargs)

    def _label(self, message: Message) -> str:
        """Name a task with the states of what it is about: the same code runs otherwise in another state."""
        ids = set(message.kwargs.values())
        found = [row["state"] for row in (*self.rows.workflows, *self.rows.operations) if row["id"] in ids]
        return f"{message.task}[{','.join(found)}]"

    def beat(self, names: list[str]) -> None:
        """Run scanners, each as the beat does, and what they find."""
        for name in names:
            self.step(name, getattr(tasks, name))
            self.drain()

    def settle(self) -> None:
        """Let recovery run until nothing is due, however much time that takes.

        Only scanners that have something to find run here, which is what makes hundreds of runs a minute possible;
        ``full_round`` runs all of them.
        """
        self.drain()
        late = 0
        for _ in range(_ROUNDS):
            due, names = self.next_due(DUE)
            if due is None:
                due, names = self.next_due(DUE_LATE)
                late += 1
                if due is None or late > _LATE_LOOKS:
                    return
            self.clock.reach(due)
            self.provider.catch_up()
            self.beat(names)
        raise StuckError(f"{_ROUNDS} rounds of recovery, and still due: {self.next_due(DUE)}")

    def full_round(self) -> None:
        """Run every scanner of the beat table once, and what follows from it."""
        self.beat(SCANNERS)
        self.settle()

    def next_due(self, looked_at: tuple[Due, ...]) -> tuple[datetime | None, list[str]]:
        """Return when the next row is due or the provider next acts, and the scanners that look at such rows."""
        found = [(at, names) for sql, names in looked_at if (at := self.observer.one(sql)) is not None]
        if (act := self.provider.next_act()) is not None:
            found.append((act, ()))
        if not found:
            return None, []
        first = min(at for at, _ in found)
        wanted = {name for at, names in found if at <= first for name in names}
        return first, [name for name in SCANNERS if name in wanted]

    # -- the provider's events
    def deliver(
        self, event: dict[str, object], *, secret: str = SECRET, late: timedelta = timedelta()
    ) -> int:
        """Let one event of the provider arrive; return the status that it is answered with (0: none)."""
        body = json.dumps(event).encode()
        at = int((self.clock.at - late).timestamp())
        mark = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
        request = RequestFactory().post(
            "/webhooks/stripe",
            body,
            content_type="application/json",
            headers={"Stripe-Signature": f"t={at},v1={mark}"},
        )
        answer = self.step("webhook", lambda: webhooks.stripe(request))
        return answer.status_code if answer is not None else 0
