"""Adds up what schedules showed; parts of a run that went on in other processes are added together."""

from collections import Counter
from dataclasses import dataclass, field

from tests.torture.kill import Killed
from tests.torture.points import Fault
from tests.torture.schedule import Result, Transition

CellFault = tuple[tuple[str, int, str, str], Fault]


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken invariant, and the seed that shows it again."""

    seed: str
    invariant: str
    detail: str


@dataclass(slots=True)
class Tally:
    """Everything that the report prints."""

    schedules: int = 0
    seconds: float = 0.0
    traces: set[str] = field(default_factory=set)
    planned: set[CellFault] = field(default_factory=set)
    covered: set[CellFault] = field(default_factory=set)
    in_their_story: set[tuple[str, CellFault]] = field(default_factory=set)
    stories_cells: int = 0
    fired: Counter[Fault] = field(default_factory=Counter)
    pairs: set[tuple[Fault, Fault]] = field(default_factory=set)
    transitions: set[Transition] = field(default_factory=set)
    written: int = 0  # legal jumps that the writer took on rows in every state
    refused: int = 0  # illegal jumps that the writer and PostgreSQL refused
    sometimes: Counter[str] = field(default_factory=Counter)
    killed: list[Killed] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    families: Counter[str] = field(default_factory=Counter)

    def add(self, result: Result) -> None:
        """Add one schedule."""
        self.schedules += 1
        self.families[result.name.split("-", 1)[0]] += 1
        self.traces.add(result.trace)
        faults = [fault for _, fault in result.fired]
        self.fired.update(faults)
        self.pairs |= {(a, b) for i, a in enumerate(faults) for b in faults[i + 1 :]}
        self.transitions |= result.transitions
        self.sometimes.update(result.sometimes)
        self.violations += [Violation(result.name, name, detail) for name, detail in result.violations]

    def merge(self, other: "Tally") -> None:
        """Add what another process found."""
        self.schedules += other.schedules
        self.seconds = max(self.seconds, other.seconds)
        self.traces |= other.traces
        self.planned |= other.planned
        self.covered |= other.covered
        self.in_their_story |= other.in_their_story
        self.stories_cells = max(self.stories_cells, other.stories_cells)
        self.fired += other.fired
        self.pairs |= other.pairs
        self.transitions |= other.transitions
        self.written += other.written
        self.refused += other.refused
        self.sometimes += other.sometimes
        self.killed += other.killed
        self.violations += other.violations
        self.families += other.families
