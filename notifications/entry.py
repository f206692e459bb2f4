"""What one entry of the catalogue is, and the words that its text may take from the facts. Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from ledger.money import UnknownCurrencyError, format_minor_units
from ledger.snapshot import EntryKind, EntryStatus
from notifications.facts import StatedEntry, StatedFacts

STAFF: Final = "STAFF"
_RETURNS: Final = frozenset({EntryKind.REFUND, EntryKind.REVERSAL})


class Stage(StrEnum):
    """The four steps that a customer sees."""

    RECEIVED = "RECEIVED"
    CHECKING = "CHECKING"
    DECISION = "DECISION"
    REFUND = "REFUND"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that may be said, and the predicate over the facts that proves it.

    The texts take ``{words}`` from ``words_for``; ``requires`` holds only where all of them are known. ``closed``:
    nothing more happens unless somebody acts.
    """

    key: str
    stage: Stage
    heading: str
    body: str
    next: str
    requires: Callable[[StatedFacts], bool]
    closed: bool = False


def has_amount(facts: StatedFacts) -> bool:
    """Say whether the facts hold an amount that can be written."""
    return _money(facts.amount_minor_units, facts.currency) != ""


def has_other_refunds(facts: StatedFacts) -> bool:
    """Say whether other refunds of the request stand, each with an amount that can be written."""
    return bool(facts.other_refunds) and all(
        _money(refund.amount_minor_units, refund.currency) for refund in facts.other_refunds
    )


def words_for(facts: StatedFacts) -> dict[str, str]:
    """Return every word an entry may use; a clause about something unknown is empty."""
    return {
        "order": order_text(facts.order_number),
        "amount": _money(facts.amount_minor_units, facts.currency),
        "reference": facts.reference,
        "processor_reference": facts.processor_reference or "",
        "under_ticket": f" under ticket #{facts.ticket}" if facts.ticket is not None else "",
        "on_completed": f" on {time_text(facts.completed_at)}" if facts.completed_at else "",
        "to_card": f", to the card ending {facts.card_last4}" if facts.card_last4 else "",
        "since": f" on {time_text(facts.state_since)}" if facts.state_since else "",
        "answer_by": f" by {time_text(facts.answer_by)}" if facts.answer_by else " in time",
        "attached_to": facts.attached_to,
        "the_request": _request_text(facts),
        "other_orders": _list([order_text(number) for number in facts.other_order_numbers]),
        "returned": _returned(facts.entries),
        "other_refunds": _list([_refund_text(refund) for refund in facts.other_refunds]),
    }


def _request_text(facts: StatedFacts) -> str:
    about = f" for {order_text(facts.order_number)}" if facts.order_number else ""
    return f"The refund{about} that we started" if facts.origin == STAFF else f"Your request{about}"


def order_text(number: str) -> str:
    """Return how an order is named to its buyer: ``order #2841``."""
    return f"order #{number.removeprefix('#')}" if number else "your order"


def time_text(at: datetime) -> str:
    """Return an absolute time with its zone: ``28 Nov 2026, 10:41 UTC``."""
    utc = at.astimezone(UTC)
    return f"{utc.day} {utc:%b %Y, %H:%M} UTC"


def _money(amount_minor_units: int | None, currency: str) -> str:
    if amount_minor_units is None:
        return ""
    try:
        return format_minor_units(amount_minor_units, currency)
    except UnknownCurrencyError:
        return ""


def _returned(entries: tuple[StatedEntry, ...]) -> str:
    """Return a sentence about money that ledger rows show as returned, or nothing."""
    done = [
        f"{amount} on {time_text(entry.occurred_at)}, reference {entry.processor_reference}"
        for entry in entries
        if entry.kind in _RETURNS
        and entry.status == EntryStatus.SUCCEEDED
        and (amount := _money(entry.amount_minor_units, entry.currency))
    ]
    return f" They show {_list(done)}." if done else ""


def _refund_text(refund: StatedEntry) -> str:
    return f"{_money(refund.amount_minor_units, refund.currency)} (reference {refund.processor_reference})"


def _list(parts: list[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
