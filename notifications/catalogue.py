"""The one catalogue of what customers are told: pages, API and mail all take their words from here. Pure.

Entries stand strongest first; the first whose predicate the facts prove is said. The last one holds always, so
every combination of states has words, and none of them is more than the rows prove.
"""

from dataclasses import dataclass
from typing import Final

from notifications.decision_entries import DECISION_ENTRIES
from notifications.entry import Entry, Stage, words_for
from notifications.facts import StatedFacts
from notifications.refund_entries import REFUND_ENTRIES

CATALOGUE: Final[tuple[Entry, ...]] = (*REFUND_ENTRIES, *DECISION_ENTRIES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What is said: an entry with its words filled in."""

    key: str
    stage: Stage
    heading: str
    body: str
    next: str
    closed: bool


def statement_for(facts: StatedFacts) -> Statement:
    """Return the strongest statement that the facts prove; always one."""
    entry = next(entry for entry in CATALOGUE if entry.requires(facts))
    words = words_for(facts)
    return Statement(
        key=entry.key,
        stage=entry.stage,
        heading=entry.heading.format(**words),
        body=entry.body.format(**words),
        next=entry.next.format(**words),
        closed=entry.closed,
    )
