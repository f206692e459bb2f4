"""One process's share of a campaign: the good days, its part of the sweep and of the wrong designs, then random worlds."""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.torture import chaos, matrix, sweep
from tests.torture.database import Observer
from tests.torture.kill import kill
from tests.torture.points import Kind
from tests.torture.schedule import Result
from tests.torture.sweep import Planned
from tests.torture.tally import Tally
from tests.torture.wrong_designs import WRONG_DESIGNS

# What is decided at commits and calls matters most, should the time not be enough for everything.
_FIRST = (Kind.COMMIT, Kind.POST, Kind.GET, Kind.WRITE, Kind.MAIL)
_STORIES_PER_WORLD = 1  # schedules of cells in their own story for each random world, once the sweep is done


@dataclass(frozen=True, slots=True)
class Share:
    """Which part of how many, from which seed on, and until when: a time (``time.monotonic``), or somebody's wish."""

    index: int
    of: int
    seed: int
    ends_at: float
    is_stopped: Callable[[], bool] = lambda: False


class Campaign:
    """Runs a share and adds up; ``say`` is told now and then how far it is."""

    def __init__(self, observer: Observer, share: Share, say: Callable[[Tally], None]) -> None:
        self._observer, self._share, self._say = observer, share, say
        self.tally = Tally()
        self._said_at = self._began_at = time.monotonic()

    def run(self) -> Tally:
        """Do everything that fits into the time; what does not fit is missing in the tally."""
        clean = sweep.record(self._observer)
        for result in clean.values():
            self._add(result)
        planned = in_order(sweep.plan(clean), self._share.seed)
        self.tally.planned = {(one.cell, one.fault) for one in planned}
        every = sweep.plan_of(clean)
        self.tally.stories_cells = len(every)
        self._kill()
        self._take_all_jumps()
        for one in self._mine(planned):
            self._fly(one, clean)
        self._wander(every, clean)
        self.tally.seconds = time.monotonic() - self._began_at
        return self.tally

    def _mine(self, planned: list[Planned]) -> Iterator[Planned]:
        for one in planned[self._share.index :: self._share.of]:
            if self._is_over:
                return
            yield one

    def _fly(self, one: Planned, clean: dict[str, Result]) -> None:
        result = sweep.fly(self._observer, one, clean)
        self._add(result)
        if not any(name == "CELL_REACHED" for name, _ in result.violations):
            self.tally.covered.add((one.cell, one.fault))
            self.tally.in_their_story.add((one.scenario, (one.cell, one.fault)))

    def _kill(self) -> None:
        for design in list(WRONG_DESIGNS.values())[self._share.index :: self._share.of]:
            if self._share.is_stopped():
                return
            self.tally.killed.append(kill(self._observer, design))
            self._tell()

    def _take_all_jumps(self) -> None:
        if self._share.index == 0:
            self._observer.empty()
            self.tally.written, self.tally.refused = matrix.every_pair()

    def _wander(self, every: list[Planned], clean: dict[str, Result]) -> None:
        """Play random worlds, and cells in every story that has them, until the time is over."""
        share, chance = self._share, random.Random(self._share.seed)
        chance.shuffle(every)
        left = every[share.index :: share.of]
        for number in range(share.index, 10**9, share.of):
            if self._is_over:
                return
            self._add(chaos.fly(self._observer, share.seed + number))
            for one in left[:_STORIES_PER_WORLD]:
                self._fly(one, clean)
            del left[:_STORIES_PER_WORLD]

    def _add(self, result: Result) -> None:
        self.tally.add(result)
        self._tell()

    def _tell(self) -> None:
        if time.monotonic() - self._said_at > 15:
            self._said_at = time.monotonic()
            self._say(self.tally)

    @property
    def _is_over(self) -> bool:
        return time.monotonic() >= self._share.ends_at or self._share.is_stopped()


def in_order(planned: list[Planned], seed: int) -> list[Planned]:
    """Return the plan with commits and calls first, each group in an order of the seed."""
    shuffled = [*planned]
    random.Random(seed).shuffle(shuffled)
    return sorted(shuffled, key=lambda one: one.cell[2] not in _FIRST)
