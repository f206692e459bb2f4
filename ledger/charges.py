"""An order's ledger rows, sorted into what the duplicate rule asks about.

Pure. Nothing here depends on the order in which a source lists its rows.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from ledger.snapshot import EntryKind, EntryStatus, EntryView, OrderView, PaymentView

PAIR: Final = 2
_NOTHING_MOVED: Final = frozenset({EntryStatus.FAILED, EntryStatus.CANCELED})
_DISPUTE_ONLY: Final = frozenset({EntryStatus.OPEN, EntryStatus.WON, EntryStatus.LOST})


@dataclass(frozen=True, slots=True)
class Capture:
    """One completed capture with its payment and everything else recorded about that payment."""

    payment: PaymentView
    entry: EntryView

    @property
    def amount(self) -> int:
        """Return the captured amount in minor units; a held amount never enters."""
        return self.entry.amount_minor_units

    @property
    def currency(self) -> str:
        """Return the currency that was charged, whatever the order was shown in."""
        return self.entry.currency

    def age_key(self) -> tuple[datetime, str, str, int]:
        """Return what orders captures by time; a tie goes by processor reference."""
        return (
            self.entry.occurred_at,
            self.payment.processor_reference,
            self.payment.account,
            self.payment.payment_id,
        )

    def returns(self, kind: EntryKind) -> tuple[EntryView, ...]:
        """Return this payment's refunds or reversals that moved money or still may."""
        return tuple(e for e in self.payment.of_kind(kind) if e.status not in _NOTHING_MOVED)

    def live(self, kind: EntryKind) -> int:
        """Return how much of the payment went back, or still may, through one kind of entry."""
        return sum(entry.amount_minor_units for entry in self.returns(kind))

    def settled(self, kind: EntryKind) -> int:
        """Return how much of the payment has certainly gone back through one kind of entry."""
        return sum(
            entry.amount_minor_units for entry in self.returns(kind) if entry.status is EntryStatus.SUCCEEDED
        )

    def close_to(self, other: "Capture", window: timedelta, now: datetime) -> bool:
        """Return whether one window of this length, ending no later than now, holds both captures."""
        times = (self.entry.occurred_at, other.entry.occurred_at)
        return max(times) <= now and max(times) - min(times) <= window

    def same_method_as(self, other: "Capture") -> bool:
        """Return whether nothing the source tells says that two methods paid.

        Two fingerprints decide. Where one is missing, the kind of method and the last digits must not differ.
        """
        mine, theirs = self.payment, other.payment
        if mine.method_fingerprint and theirs.method_fingerprint:
            return mine.method_fingerprint == theirs.method_fingerprint
        pairs = ((mine.method_type, theirs.method_type), (mine.method_last4, theirs.method_last4))
        return all(left == right for left, right in pairs if left and right)


@dataclass(frozen=True, slots=True)
class OrderCharges:
    """The rows of one order, each provider reference once, oldest first."""

    order: OrderView
    payments: tuple[PaymentView, ...]
    conflicts: tuple[str, ...]  # references whose rows contradict each other or cannot be true

    @classmethod
    def of(cls, order: OrderView) -> "OrderCharges":
        """Return the order's payments merged by provider reference; a repeated row only raises a count."""
        conflicts: set[str] = set()
        merged: dict[tuple[str, str], PaymentView] = {}
        for payment in sorted(order.payments, key=repr):  # any total order: contradictions come out the same
            key = (payment.account, payment.processor_reference)
            known = merged.get(key)
            if known is not None and replace(payment, entries=()) != replace(known, entries=()):
                conflicts.add(payment.processor_reference)
            merged[key] = payment if known is None else _joined(known, payment)
        payments = tuple(
            replace(payment, entries=_once_each(payment.entries, conflicts)) for payment in merged.values()
        )
        conflicts.update(_impossible(payments))
        return cls(
            order=order,
            payments=tuple(sorted(payments, key=lambda p: (p.created_at, p.processor_reference, p.account))),
            conflicts=tuple(sorted(conflicts)),
        )

    @property
    def captures(self) -> tuple[Capture, ...]:
        """Return the completed captures."""
        return self._captures(EntryStatus.SUCCEEDED)

    @property
    def pending_captures(self) -> tuple[Capture, ...]:
        """Return the captures that may still become charges."""
        return self._captures(EntryStatus.PENDING)

    @property
    def disputes(self) -> tuple[EntryView, ...]:
        """Return every dispute on any payment, whatever became of it."""
        return tuple(entry for payment in self.payments for entry in payment.of_kind(EntryKind.DISPUTE))

    @property
    def uncaptured(self) -> tuple[PaymentView, ...]:
        """Return the payments that hold or held money and captured none; a declined one held nothing."""
        return tuple(
            payment
            for payment in self.payments
            if any(e.status is not EntryStatus.FAILED for e in payment.of_kind(EntryKind.AUTHORISATION))
            and not any(e.status not in _NOTHING_MOVED for e in payment.of_kind(EntryKind.CAPTURE))
        )

    def _captures(self, status: EntryStatus) -> tuple[Capture, ...]:
        found = (
            Capture(payment, entry)
            for payment in self.payments
            for entry in payment.of_kind(EntryKind.CAPTURE)
            if entry.status is status
        )
        return tuple(sorted(found, key=lambda c: (*c.age_key(), c.entry.processor_reference)))


def _joined(known: PaymentView, again: PaymentView) -> PaymentView:
    return replace(known, entries=known.entries + again.entries)


def _once_each(entries: Iterable[EntryView], conflicts: set[str]) -> tuple[EntryView, ...]:
    seen: dict[tuple[EntryKind, str], EntryView] = {}
    for entry in sorted(entries, key=repr):
        key = (entry.kind, entry.processor_reference)
        known = seen.get(key)
        if known is None:
            seen[key] = entry
        else:
            seen[key] = replace(known, seen_count=known.seen_count + entry.seen_count)
            if replace(entry, seen_count=1) != replace(known, seen_count=1):
                conflicts.add(entry.processor_reference)
    return tuple(sorted(seen.values(), key=lambda e: (e.occurred_at, e.kind, e.processor_reference)))


def _impossible(payments: tuple[PaymentView, ...]) -> set[str]:
    """Return references of rows that cannot all be true: they must never reach a decision."""
    found: set[str] = set()
    ids = Counter(payment.payment_id for payment in payments)
    owners: dict[tuple[str, EntryKind, str], int] = {}
    for payment in payments:
        if ids[payment.payment_id] > 1 or len({entry.currency for entry in payment.entries}) > 1:
            found.add(payment.processor_reference)
        for entry in payment.entries:
            key = (payment.account, entry.kind, entry.processor_reference)
            foreign = owners.setdefault(key, payment.payment_id) != payment.payment_id
            misplaced = entry.status in _DISPUTE_ONLY and entry.kind is not EntryKind.DISPUTE
            if foreign or misplaced or entry.amount_minor_units <= 0:
                found.add(entry.processor_reference)
    return found
