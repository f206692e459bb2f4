"""A wrong design: a change of the product that looks harmless, and the invariants of which one must kill it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from tests.torture.points import Fault, Kind


@dataclass(frozen=True, slots=True)
class WrongDesign:
    """``apply`` builds the mistake in; ``stories`` are tried first, with each fault of ``faults`` at each such boundary.

    Without ``faults`` the story's own trouble is enough. ``killers`` are the invariants that may kill it.
    """

    name: str
    apply: Callable[[], AbstractContextManager[object]]
    stories: tuple[str, ...]
    killers: frozenset[str]
    faults: tuple[tuple[Kind, Fault], ...] = ()
    races: bool = False  # needs two workers at once
