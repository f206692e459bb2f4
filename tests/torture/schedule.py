"""Plays one schedule: a scenario, the faults that it meets and the habits of the world, and says what came of it."""

import hashlib
import logging
from dataclasses import dataclass, field

from tests.torture.database import Observer
from tests.torture.injector import Chooser, no_fault
from tests.torture.oracles.endings import endings
from tests.torture.points import CRASHES, DATABASE_ERRORS, Fault, Kind, Point
from tests.torture.run import Habits, Run, StuckError
from tests.torture.scenarios import Scenario

Transition = tuple[str, str, str]
_NOT_THE_PROVIDER = CRASHES | DATABASE_ERRORS


@dataclass(frozen=True, slots=True)
class Result:
    """What one schedule showed. ``name`` is enough to play it again."""

    name: str
    trace: str
    violations: tuple[tuple[str, str], ...]
    fired: tuple[tuple[Kind, Fault], ...]
    points: tuple[Point, ...] = ()
    transitions: frozenset[Transition] = frozenset()
    sometimes: frozenset[str] = frozenset()
    path: tuple[str, ...] = ()
    story: tuple[str, ...] = field(default=(), compare=False)

    @property
    def only_here(self) -> bool:
        """Say whether everything that went wrong went wrong on our side: then recovery costs time and nothing else."""
        return bool(self.fired) and all(
            fault in _NOT_THE_PROVIDER and kind not in {Kind.GET, Kind.MAIL} for kind, fault in self.fired
        )


def play(
    observer: Observer,
    scenario: Scenario,
    *,
    name: str,
    choose: Chooser = no_fault,
    habits: Habits | None = None,
    seed: int = 0,
) -> Result:
    """Play a schedule to its end and ask everything that must hold, on the way and then."""
    run = Run(observer, seed=seed, choose=choose, habits=habits or Habits())
    logging.disable(logging.CRITICAL)
    try:
        with run.started():
            _tell(run, scenario)
            run.violations += _end(run)
    finally:
        logging.disable(logging.NOTSET)
    return Result(
        name=name,
        trace=_digest(run),
        violations=tuple(run.violations),
        fired=tuple((point.kind, fault) for point, fault in run.injector.fired),
        points=tuple(run.injector.points),
        transitions=frozenset(run.watch.transitions),
        sometimes=frozenset(run.sometimes),
        path=_path(run),
        story=tuple(run.trace),
    )


def _tell(run: Run, scenario: Scenario) -> None:
    try:
        scenario.tell(run)
        if _end(run):
            run.full_round()  # what no due time leads to is found by the scanners that look for just that
    except StuckError as stuck:
        run.violations.append(("RECOVERY_ENDS", str(stuck)))


def _end(run: Run) -> list[tuple[str, str]]:
    """Ask what must hold at the end; events that never arrived may have told of more than the desk can know."""
    return endings(run.rows, run.provider, events_lost=bool(run.provider.events))


def _digest(run: Run) -> str:
    """Return the hash of everything that happened, free of ids and times: equal runs, equal hashes."""
    crossed = (f"{point.step} {point.kind} {point.what}" for point in run.injector.points)
    fired = (f"{point.number} {fault}" for point, fault in run.injector.fired)
    return hashlib.sha256("\n".join([*run.trace, *crossed, *fired]).encode()).hexdigest()[:16]


def _path(run: Run) -> tuple[str, ...]:
    """Return the states that each workflow went through, sorted: of two alike it does not matter which was first."""
    told: dict[str, list[tuple[int, str]]] = {row["id"]: [] for row in run.rows.workflows}
    for event in run.rows.workflow_events:
        if event["kind"] == "TRANSITION":
            told[event["workflow_id"]].append((event["state_sequence"], event["to_state"]))
    return tuple(sorted(" ".join(state for _, state in sorted(moves)) for moves in told.values()))
