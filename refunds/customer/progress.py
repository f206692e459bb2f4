"""The four steps of a request as the status page shows them. Pure."""

from dataclasses import dataclass
from typing import Final

from notifications.catalogue import Statement
from notifications.entry import Stage
from notifications.facts import StatedFacts

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


_WITH_PEOPLE: Final = frozenset({"MANUAL_REVIEW", "REQUIRES_HUMAN_APPROVAL"})


def steps_of(statement: Statement, facts: StatedFacts) -> tuple[Step, ...]:
    """Return the four steps; what never happened is "not yet" while open and "not needed" once closed.

    The current step says why it lasts where it does: a status that is being verified, or people who look at it.
    """
    order = list(_LABELS)
    at = order.index(statement.stage)
    return tuple(
        Step(
            label=_LABELS[stage],
            note=_note(position, at, statement, facts),
            current=position == at,
        )
        for position, stage in enumerate(order)
    )


def _note(position: int, at: int, statement: Statement, facts: StatedFacts) -> str:
    if position < at:
        return "done"
    if position > at:
        return "not needed" if statement.closed else "not yet"
    return "finished" if statement.closed else _standing(facts)


def _standing(facts: StatedFacts) -> str:
    if facts.operation_state == "STATUS_UNKNOWN":
        return "being verified"
    with_people = facts.workflow_state in _WITH_PEOPLE or facts.operation_state == "MANUAL_REVIEW"
    return "with our team" if with_people else "now"
