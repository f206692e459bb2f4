"""What a settlement report is read into: one typed row per line that is kept, and what was wrong with it. Pure."""

from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from ledger.loading.rows import Problem


class SettlementReport(StrEnum):
    """Which report a line stands in; one balance transaction stands in both."""

    BALANCE_CHANGE = "BALANCE_CHANGE"
    PAYOUT = "PAYOUT"


class SettlementCategory(StrEnum):
    """What a kept line is about (docs.stripe.com/reports/reporting-categories); all others are only counted."""

    REFUND = "REFUND"
    REFUND_FAILURE = "REFUND_FAILURE"
    PARTIAL_CAPTURE_REVERSAL = "PARTIAL_CAPTURE_REVERSAL"  # never a customer's refund: it was not captured
    DISPUTE = "DISPUTE"
    DISPUTE_REVERSAL = "DISPUTE_REVERSAL"


# docs.stripe.com/payouts: what was booked may be paid out up to 7 days later.
_PAYOUT_LAG: Final = timedelta(days=7)
# What may be empty in one file and known in the next; everything else of a line is fixed.
_LEARNT_LATER: Final = frozenset(
    {"operation_id", "payment_reference", "intent_reference", "payout_reference"}
)


@dataclass(frozen=True, slots=True)
class SettlementRow:
    """One line. Amounts are minor units, positive for money that left the merchant."""

    where: str = field(compare=False)
    row_reference: str
    category: SettlementCategory
    processor_reference: str
    operation_id: str
    payment_reference: str
    intent_reference: str
    amount_minor_units: int
    currency: str
    settled_minor_units: int
    settled_currency: str
    payout_reference: str
    booked_at: datetime


@dataclass(slots=True)
class ReportRows:
    """Everything that one file says. ``left_out`` counts the lines of each category that is not kept."""

    report: SettlementReport
    rows: list[SettlementRow] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    first_booked_at: datetime | None = None
    last_booked_at: datetime | None = None
    total: int = 0

    def count(self, booked_at: datetime) -> None:
        """Note that a sound line was booked then, kept or not."""
        self.total += 1
        self.first_booked_at = min(self.first_booked_at or booked_at, booked_at)
        self.last_booked_at = max(self.last_booked_at or booked_at, booked_at)


def joined(known: SettlementRow, again: SettlementRow) -> tuple[SettlementRow, tuple[str, ...]]:
    """Return what two tellings of one line say together, and the names of what they contradict each other in."""
    learnt: dict[str, Any] = {}
    differing: list[str] = []
    for column in fields(known):
        before, after = getattr(known, column.name), getattr(again, column.name)
        if not column.compare or before == after:
            continue
        if column.name not in _LEARNT_LATER or (before and after):
            differing.append(column.name)
        elif after:
            learnt[column.name] = after
    return replace(known, **learnt), tuple(differing)


def settled_until(last_booked_at: datetime, report: SettlementReport) -> datetime:
    """Return up to when a report that reaches this far is complete.

    A balance report has every transaction up to its last. A payout has only what it pays out, and what was booked
    shortly before may follow in a later one.
    """
    return last_booked_at - (_PAYOUT_LAG if report is SettlementReport.PAYOUT else timedelta(0))
