"""What a load would change: rows to add, rows to change, and everything that forbids it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from django.contrib.auth.models import User

from ledger.loading.planning.stored import Stored
from ledger.loading.rows import Problem
from ledger.loading.validation import CheckedRows
from ledger.models import Customer, LedgerEntry, Merchant, Order, Payment

NOUNS: Final[Mapping[str, Any]] = {  # parents before what refers to them
    "users": User,
    "merchants": Merchant,
    "customers": Customer,
    "orders": Order,
    "payments": Payment,
    "entries": LedgerEntry,
}


@dataclass(slots=True)
class Count:
    """What a load does to one kind of row."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0


@dataclass(slots=True)
class Plan:
    """One load: what the file says beside what is stored, and what follows from it."""

    rows: CheckedRows
    stored: Stored
    as_of: datetime
    update_totals: bool
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    added: dict[str, list[Any]] = field(default_factory=lambda: {noun: [] for noun in NOUNS})
    changed: dict[str, dict[Any, Any]] = field(default_factory=lambda: {noun: {} for noun in NOUNS})
    changed_fields: dict[str, set[str]] = field(default_factory=lambda: {noun: set() for noun in NOUNS})
    counts: dict[str, Count] = field(default_factory=lambda: {noun: Count() for noun in NOUNS})
    settled_customers: set[tuple[str, str]] = field(default_factory=set)
    linked: dict[tuple[str, str], str] = field(
        default_factory=dict
    )  # merchant and e-mail: customer reference
    confirmed: list[int] = field(default_factory=list)  # payments of which this file has later word
    kept_statuses: int = 0  # statuses that an older file would have moved back

    def refuse(self, where: str, text: str) -> None:
        """Note why a row cannot be loaded; one is enough for nothing to be loaded."""
        self.problems.append(Problem(where, text))

    def add(self, noun: str, row: Any) -> None:
        """Plan a new row."""
        self.added[noun].append(row)
        self.counts[noun].added += 1

    def settle(self, noun: str, row: Any, values: Mapping[str, Any]) -> None:
        """Plan the values that differ from a stored row's, and count the row; None says nothing."""
        if self.put(noun, row, values):
            self.counts[noun].updated += 1
        else:
            self.counts[noun].unchanged += 1

    def put(self, noun: str, row: Any, values: Mapping[str, Any]) -> bool:
        """Plan values of a stored row without counting it; return whether any differs."""
        differing = {
            name: value for name, value in values.items() if value is not None and getattr(row, name) != value
        }
        for name, value in differing.items():
            setattr(row, name, value)
        if differing:
            self.changed[noun][row.pk] = row
            self.changed_fields[noun].update(differing)
        return bool(differing)
