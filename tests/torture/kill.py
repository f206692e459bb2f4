"""Looks for the schedule that kills a wrong design; a design that nothing kills has survived."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from tests.torture import chaos
from tests.torture.database import Observer
from tests.torture.oracles import Watch
from tests.torture.oracles.money import BELIEFS
from tests.torture.run import Habits
from tests.torture.scenarios import SCENARIOS
from tests.torture.schedule import Result, play
from tests.torture.sweep import Planned, fly
from tests.torture.wrong_designs import WrongDesign

RACES = 40  # seeds that a design gets which needs two workers
_MOST = 60  # schedules of its own stories, and as many of chaos


@dataclass(frozen=True, slots=True)
class Killed:
    """Which schedule killed a design, and by which invariant; None if it survived."""

    design: str
    schedule: str
    invariant: str | None
    tried: int


def kill(observer: Observer, design: WrongDesign) -> Killed:
    """Try a design's own stories, and then random worlds, until one of its killers speaks."""
    shapes, tried = dict(Watch.shapes), 0
    BELIEFS.clear()
    try:
        with design.apply():
            for result in _tries(observer, design):
                tried += 1
                named = next((name for name, _ in result.violations if name in design.killers), None)
                if named is not None:
                    return Killed(design.name, result.name, named, tried)
    finally:
        BELIEFS.clear()
        Watch.shapes.clear()  # what a wrong design tells is no example
        Watch.shapes.update(shapes)
    return Killed(design.name, "", None, tried)


def _tries(observer: Observer, design: WrongDesign) -> Iterator[Result]:
    for name in design.stories:
        story = SCENARIOS[name]
        if design.races:
            for seed in range(RACES):
                yield play(observer, story, name=f"race-{name}-{seed}", habits=racing(seed), seed=seed)
            continue
        good = play(observer, story, name=f"clean-{name}")
        yield good
        for kind, fault in design.faults:
            for point in [one for one in good.points if one.kind is kind][:_MOST]:
                yield fly(observer, Planned(name, point.number, fault, point.cell), {name: good})
    for seed in range(_MOST):
        yield chaos.fly(observer, seed)


def racing(seed: int) -> Habits:
    """Return a world in which every two messages are worked on at once, and many come twice."""
    chance = random.Random(f"race {seed}")
    return Habits(pairs=lambda: True, doubles=lambda _message: chance.random() < 0.4)
