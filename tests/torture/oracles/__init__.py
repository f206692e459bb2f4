"""What must hold after every step, each by a name that a report can cite. Nothing here trusts the product's own word.

The names and rules are written from the design's states and invariants and from the provider's promises. Every
oracle gets the committed rows and the provider's book, and yields (name, evidence) for what is broken.
"""

from typing import Any

from tests.torture.database import Rows
from tests.torture.oracles import calls, evidence, histories, money, people
from tests.torture.oracles.watch import Watch
from tests.torture.provider.book import Provider

_ORACLES = (
    *(calls.one_key_one_body, calls.no_blind_resend, calls.inside_the_safe_window, calls.approved_when_sent),
    *(money.one_refund_per_operation, money.abandoned_means_unpaid, money.completed_means_paid),
    *(money.reserved_while_open, money.absence_was_proven, money.refusals_were_proven),
    *(histories.outbox_tells_all, histories.terminal_states_stay, histories.events_have_one_shape),
    *(
        histories.no_jump_was_refused,
        evidence.states_follow_evidence,
        people.messages_claim_no_more,
        people.only_signed_events,
    ),
)


_OTHERS_MAY_BREAK = frozenset({"NEGATIVE_REMAINING"})


def violations_of(rows: Rows, provider: Provider, watch: Watch, run: Any) -> list[tuple[str, str]]:
    """Return everything that is broken now."""
    found: list[tuple[str, str]] = []
    for oracle in _ORACLES:
        found += oracle(rows, provider, watch)
    watch.remember(rows, provider, run)
    return found


def is_a_fact(name: str, watch: Watch) -> bool:
    """Say whether an invariant of the scoreboard is broken by what others did: facts always land, and are told of."""
    return name in _OTHERS_MAY_BREAK and watch.foreign_money


__all__ = ["Watch", "is_a_fact", "violations_of"]
