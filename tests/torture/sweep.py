"""The exhaustive sweep: every boundary that clean runs cross, with every fault that can happen there.

The boundaries are recorded, not listed: whatever statement or commit the product gains is swept the next time. One
boundary of the code in one state is one cell, whichever story crosses it; the shortest story that does is used.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.torture.database import Observer
from tests.torture.injector import Chooser
from tests.torture.points import FAULTS, Fault, Point
from tests.torture.scenarios import SCENARIOS, Scenario
from tests.torture.schedule import Result, play

Cell = tuple[str, int, str, str]


@dataclass(frozen=True, slots=True)
class Planned:
    """One schedule of the sweep: the first fault of a story."""

    scenario: str
    number: int
    fault: Fault
    cell: Cell

    @property
    def name(self) -> str:
        """Return what plays it again."""
        return f"sweep-{self.scenario}-{self.number}-{self.fault}"


def record(observer: Observer, names: list[str] | None = None) -> dict[str, Result]:
    """Play every story on a good day."""
    return {
        name: play(observer, SCENARIOS[name], name=f"clean-{name}") for name in (names or list(SCENARIOS))
    }


def plan(clean: dict[str, Result]) -> list[Planned]:
    """Return one schedule for each cell and fault; cells of shorter stories come first."""
    planned: list[Planned] = []
    seen: set[Cell] = set()
    for name, result in sorted(clean.items(), key=lambda one: len(one[1].points)):
        for point in result.points:
            if point.cell not in seen:
                seen.add(point.cell)
                planned += [Planned(name, point.number, fault, point.cell) for fault in FAULTS[point.kind]]
    return planned


def plan_of(clean: dict[str, Result]) -> list[Planned]:
    """Return every cell of every story, also those that another story has in common with it."""
    planned = []
    for name, result in clean.items():
        first: dict[Cell, Point] = {}
        for point in result.points:
            first.setdefault(point.cell, point)
        planned += [
            Planned(name, point.number, fault, cell)
            for cell, point in first.items()
            for fault in FAULTS[point.kind]
        ]
    return planned


def chooser(number: int, fault: Fault) -> Chooser:
    """Let one boundary meet one fault."""
    return lambda point: fault if point.number == number else None


def fly(observer: Observer, planned: Planned, clean: dict[str, Result]) -> Result:
    """Play one schedule and hold it against the good day of its story."""
    scenario = SCENARIOS[planned.scenario]
    result = play(observer, scenario, name=planned.name, choose=chooser(planned.number, planned.fault))
    extra = list(_reached(planned, result))
    if planned.scenario in clean:
        extra += _same_story(scenario, result, clean[planned.scenario])
    return replace(result, violations=(*result.violations, *extra)) if extra else result


def _reached(planned: Planned, result: Result) -> Iterator[tuple[str, str]]:
    """A cell counts as covered only if the run really crossed this boundary there."""
    crossed = result.points[planned.number - 1].cell if len(result.points) >= planned.number else None
    if crossed != planned.cell or not result.fired:
        yield ("CELL_REACHED", f"{planned.name}: {crossed} instead of {planned.cell}")


def _same_story(scenario: Scenario, result: Result, clean: Result) -> list[tuple[str, str]]:
    """Recovery emits what the live path emits: a death or an error of the database changes no workflow's story."""
    if not result.only_here or scenario.name in MAY_END_OTHERWISE or result.path == clean.path:
        return []
    return [("SAME_STORY", f"{result.path} instead of {clean.path}")]


# Stories in which what others do comes at a time of its own, so that a delay on our side lets it come first.
MAY_END_OTHERWISE = frozenset(
    {
        "absence_contradicted",
        "absence_contradicted_by_failure",
        "absence_contradicted_by_pending",
        "action_required",
        "approval_forgotten",
        "decided_at_the_same_moment",
        "disputed_before_resending",
        "disputed_before_sending",
        "failed_and_alive_again",
        "failed_before_it_was_found",
        "failed_in_review",
        "given_up_and_yet_paid",
        "hidden_while_pending",
        "past_the_safe_window",
        "pending_in_review",
        "pending_when_it_was_found",
        "person_asked_after_approval",
        "proven_absent_in_review",
        "refused_and_yet_paid",
        "refused_behind_an_outage",
        "returned_and_on_its_way_again",
        "sent_in_a_lost_past",
        "switched_off_under_way",
        "told_in_an_unknown_word",
        "withdrawn_after_approval",
        "withdrawn_at_once",
        "withdrawn_at_the_same_moment",
        "withdrawn_from_people",
    }
)
