"""What the oracles remember from step to step of one run, and the event shapes of all runs of this process."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, ClassVar

from tests.torture.database import Rows
from tests.torture.provider.book import Provider

# The executable contract's windows and the design's limit, stated here once more: a test holds them together.
IN_FLIGHT = timedelta(minutes=15)
SAFE_RESEND = timedelta(hours=22)
MOST_EXECUTIONS = 5
ABANDONED = frozenset({"REJECTED", "FAILED", "CANCELLED"})
MAY_HAVE_PAID = frozenset(
    {"SUBMITTED", "PROVIDER_PENDING", "STATUS_UNKNOWN", "CONFIRMED_ABSENT", "MANUAL_REVIEW"}
)


@dataclass
class Watch:
    """One run's memory."""

    switched_off_at: datetime | None = None
    dispute_known_at: datetime | None = None
    forged_events: set[str] = field(default_factory=set)
    foreign_money: bool = False  # somebody else's refund or a dispute took part of a charge
    sent_seen: int = 0
    transitions: set[tuple[str, str, str]] = field(default_factory=set)
    # (row, from, to, stage, reason, actor's type) -> which evidence the event names; from every run so far.
    shapes: ClassVar[dict[tuple[str, ...], tuple[str, ...]]] = {}

    def remember(self, rows: Rows, _provider: Provider, run: Any) -> None:
        """Note the transitions that were taken, the switch, and what sometimes happens."""
        for row in rows.switches:
            self.switched_off_at = None if row["is_on"] else moment(row["changed_at"])
        for kind, events in (("operation", rows.operation_events), ("workflow", rows.workflow_events)):
            for event in events:
                if event["kind"] == "TRANSITION":
                    self.transitions.add((kind, event["from_state"], event["to_state"]))
        for event in rows.approval_events:
            if event["kind"] == "TRANSITION":
                self.transitions.add(("approval", event["from_state"], event["to_state"]))
        run.sometimes |= _sometimes(rows)


def moment(text: str | None) -> datetime | None:
    """Return a time as PostgreSQL's JSON writes it."""
    return datetime.fromisoformat(text) if text else None


def _sometimes(rows: Rows) -> set[str]:
    """Return the rare things that happened; a sweep that never meets one of them does not test it."""
    seen = set()
    numbers = [row["number"] for row in rows.attempts]
    verdicts = {row["verdict"] for row in rows.checks}
    moves = {(row["from_state"], row["to_state"]) for row in rows.operation_events}
    seen |= {f"check said {verdict}" for verdict in verdicts}
    seen |= {f"answer was {row['answer_class']}" for row in rows.responses}
    if numbers and max(numbers) > 1:
        seen.add("a command was sent again")
    if any(row["replayed"] for row in rows.responses):
        seen.add("the provider replayed a kept answer")
    if {("CONFIRMED_ABSENT", "COMPLETED"), ("CONFIRMED_ABSENT", "FAILED")} & moves:
        seen.add("absence was contradicted")
    if ("SUBMITTED", "CREATED") in moves:
        seen.add("nothing was executed and the operation waited")
    if any(row["from_state"] == "COMPLETED" for row in rows.operation_events):
        seen.add("money came back after completion")
    if any(row["from_state"] in ABANDONED for row in rows.operation_events):
        seen.add("late evidence moved an abandoned operation")
    if any(row["cause"] == "WEBHOOK" for row in rows.checks):
        seen.add("an event led to a look-up")
    if any(row["kind"] == "FINANCE" for row in rows.cases):
        seen.add("finance got a case")
    if any(row["state"] == "VOIDED" for row in rows.approvals):
        seen.add("an approval was voided")
    return seen
