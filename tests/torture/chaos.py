"""Random schedules: a story told in a bad world. Everything is drawn from the seed, so the seed tells it again.

Two faults where the seed puts them, messages that are lost, doubled and reordered, events that come early, late,
twice or never, a broker that is down, money that comes back later, and two workers at once.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from tests.torture.database import Observer
from tests.torture.points import FAULTS, Fault, Kind, Point
from tests.torture.run import Habits, Message, Run
from tests.torture.scenarios import SCENARIOS, Scenario
from tests.torture.schedule import Result, play

# What people may do while the machines work, and how often each is drawn.
_ACTS: tuple[tuple[str, dict[str, object]], ...] = (
    ("ask_person", {}),
    ("withdraw", {}),
    ("decide", {"by": 1}),
    ("decide", {"by": 2}),
    ("decide", {"decision": "reject", "by": 2}),
    ("work", {"what": "read_evidence_again"}),
    ("work", {"what": "rebuild_command", "by": 2}),
    ("work", {"what": "close_without_refund", "outcome": "REJECTED"}),
    ("look_up", {}),
    ("switch", {"on": False}),
    ("switch", {"on": True}),
    ("dispute", {}),
    ("refund_in_dashboard", {"amount": 1_000}),
    ("ask", {}),
)
_ONCE = frozenset({"dispute", "refund_in_dashboard"})
_SPREAD = 260  # faults fall among the first boundaries of a run
_OUTSIDE = frozenset({Kind.POST, Kind.GET})


@dataclass
class World:
    """One seed's world."""

    seed: int
    chance: random.Random = field(init=False)
    places: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(f"world {self.seed}")
        self.places = sorted(self.chance.sample(range(1, _SPREAD), self.chance.choice((1, 2, 2, 2, 3))))
        self._at_provider = self.chance.random() < 0.5
        self._acted: set[str] = set()

    def choose(self, point: Point) -> Fault | None:
        """Let the next boundary after each drawn place meet a fault of its kind; half of the worlds wait for a call."""
        if not self.places or point.number < self.places[0]:
            return None
        if self._at_provider and len(self.places) > 1 and point.kind not in _OUTSIDE:
            return None
        self.places.pop(0)
        self._at_provider = False
        return self.chance.choice(FAULTS[point.kind])

    def habits(self) -> Habits:
        """Return how messages and events fare in this world."""
        loss, doubling, pairing = (self.chance.choice((0.0, 0.1, 0.4)) for _ in range(3))
        down = self.chance.choice((0.0, 0.0, 0.2))
        reorders = self.chance.random() < 0.5
        busy = self.chance.choice((0.0, 0.0, 0.15, 0.4))
        return Habits(
            loses=lambda _message: self.chance.random() < loss,
            doubles=lambda message: _may_double(message) and self.chance.random() < doubling,
            picks=lambda waiting: self.chance.randrange(waiting) if reorders else 0,
            broker_is_down=lambda: self.chance.random() < down,
            pairs=lambda: self.chance.random() < pairing,
            interrupts=lambda: self._act() if self.chance.random() < busy else None,
            delivers_events=self.chance.random() < 0.6,
        )

    def _act(self) -> tuple[str, dict[str, object]] | None:
        what, how = self.chance.choice(_ACTS)
        if what in self._acted & _ONCE:
            return None
        self._acted.add(what)
        return what, how

    def told(self, scenario: Scenario) -> Scenario:
        """Return the story with what this world does to it on the way and at its end."""
        late = self.chance.choice((None, None, "failed", "canceled", "pending"))
        early = self.chance.random() < 0.3
        again = self.chance.random() < 0.3

        def tell(run: Run) -> None:
            if early:
                run.wire.before_answering = lambda: _events_now(run, again=again)
            scenario.tell(run)
            if late is not None and run.provider.refunds:
                run.clock.advance(timedelta(days=self.chance.choice((1, 9))))
                _change_late(run, late)
                run.habits.delivers_events = True
                run.settle()
            if "switch" in self._acted:
                run.people.switch(on=True)
            run.habits.interrupts = lambda: None
            run.full_round()

        return Scenario(f"{scenario.name}*", tell)


def _may_double(message: Message) -> bool:
    return message.task != "deliver_notifications"


def _events_now(run: Run, *, again: bool) -> None:
    """Let the provider's events arrive, and be applied, while the call that caused them is under way."""
    events = [*run.provider.events]
    if not again:
        run.provider.events.clear()
    for event in events:
        run.deliver(event)
    waiting, run.messages = run.messages, []
    _apply(run)
    run.messages = [*waiting, *run.messages]


def _apply(run: Run) -> None:
    habits, run.habits = run.habits, Habits()
    try:
        run.drain()
    finally:
        run.habits = habits


def _change_late(run: Run, status: str) -> None:
    for refund in run.provider.refunds:
        if refund.operation_id is not None and refund.live and refund.status == "succeeded":
            run.provider.change(refund.reference, status)
            if status == "pending":
                run.provider.later(
                    timedelta(hours=2), "", lambda one=refund: run.provider.change(one.reference, "succeeded")
                )


def fly(observer: Observer, seed: int) -> Result:
    """Play the schedule of one seed."""
    world = World(seed)
    scenario = SCENARIOS[world.chance.choice(sorted(SCENARIOS))]
    told: Callable[[Run], None] = world.told(scenario).tell
    return play(
        observer,
        Scenario(scenario.name, told),
        name=f"chaos-{seed}",
        choose=world.choose,
        habits=world.habits(),
        seed=seed,
    )
