"""One table of allowed jumps per kind of row: django-fsm, the triggers and the tests all read it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True)
class StateTable:
    """The states of one kind of row, where it begins, and which jumps are legal."""

    initial: StrEnum
    targets: Mapping[StrEnum, frozenset[StrEnum]]

    def __post_init__(self) -> None:
        unknown = {t for targets in self.targets.values() for t in targets} - set(self.targets)
        if unknown or self.initial not in self.targets:
            raise ValueError(f"jumps to states without a row of their own: {sorted(unknown)}")

    @property
    def states(self) -> tuple[StrEnum, ...]:
        """Return every state, in the order of the table."""
        return tuple(self.targets)

    @property
    def pairs(self) -> tuple[tuple[StrEnum, StrEnum], ...]:
        """Return every legal jump."""
        return tuple((source, target) for source in self.targets for target in sorted(self.targets[source]))

    def allows(self, source: str, target: str) -> bool:
        """Tell whether a row may jump from ``source`` to ``target``."""
        return any(s == source and t == target for s, t in self.pairs)

    def sources_of(self, target: StrEnum) -> list[StrEnum]:
        """Return the states from which ``target`` may be reached in one jump."""
        return [source for source, targets in self.targets.items() if target in targets]
