"""The four steps of a request as the status page shows them. Pure."""

from dataclasses import dataclass
from typing import Final

from notifications.catalogue import Statement
from notifications.entry import Stage

_LABELS: Final = {
    Stage.RECEIVED: "Received",
    Stage.CHECKING: "Checking",
    Stage.DECISION: "Decision",
    Stage.REFUND: "Refund",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One step, in words; ``current`` marks the one that the request stands at."""

    label: str
    note: str
    current: bool


def steps_of(statement: Statement) -> tuple[Step, ...]:
    """Return the four steps; what never happened is "not yet" while open and "not needed" once closed."""
    order = list(_LABELS)
    at = order.index(statement.stage)
    return tuple(
        Step(label=_LABELS[stage], note=_note(position, at, closed=statement.closed), current=position == at)
        for position, stage in enumerate(order)
    )


def _note(position: int, at: int, *, closed: bool) -> str:
    if position < at:
        return "done"
    if position == at:
        return "finished" if closed else "now"
    return "not needed" if closed else "not yet"
