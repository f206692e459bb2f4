"""The normalised view of one order and its money (stage 4), as plain frozen values. Pure.

Amounts are minor units. A payment is one charge at the provider; its entries are the ledger rows about it.
"""

from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from ledger.canonical import canonical_sha256, plain_json

# In the reference of an entry that stands for refunds which a source counts without naming them.
UNNAMED_REFUND: Final = "#refunded:"


class EntryKind(StrEnum):
    """What a ledger entry records about its payment."""

    AUTHORISATION = "AUTHORISATION"  # a hold: money is reserved at the bank, nothing was charged
    CAPTURE = "CAPTURE"  # a completed charge
    REVERSAL = "REVERSAL"  # a hold or charge undone before settlement
    REFUND = "REFUND"
    DISPUTE = "DISPUTE"


class EntryStatus(StrEnum):
    """How far the provider says an entry got."""

    PENDING = "PENDING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELED = "CANCELED"
    OPEN = "OPEN"  # disputes
    WON = "WON"  # disputes: the merchant kept the money
    LOST = "LOST"  # disputes: the customer has the money


@dataclass(frozen=True, slots=True)
class EntryView:
    """One ledger row; ``seen_count`` above 1 means that a feed listed the same row again."""

    kind: EntryKind
    processor_reference: str
    amount_minor_units: int
    currency: str
    status: EntryStatus
    occurred_at: datetime
    seen_count: int = 1


@dataclass(frozen=True, slots=True)
class PaymentView:
    """One charge at the provider with everything recorded about it."""

    payment_id: int
    processor_reference: str
    account: str
    method_type: str
    method_fingerprint: str | None
    method_last4: str
    created_at: datetime
    entries: tuple[EntryView, ...]

    def of_kind(self, kind: EntryKind) -> tuple[EntryView, ...]:
        """Return this payment's entries of one kind, oldest first."""
        return tuple(entry for entry in self.entries if entry.kind is kind)

    @property
    def capture(self) -> EntryView | None:
        """Return the completed capture, or None for a hold or a failed charge."""
        done = [e for e in self.of_kind(EntryKind.CAPTURE) if e.status is EntryStatus.SUCCEEDED]
        return done[0] if done else None


@dataclass(frozen=True, slots=True)
class SiblingOrderView:
    """Another order of the same customer at the same merchant, for the look-alike of two purchases."""

    number: str
    placed_at: datetime
    captures: tuple[EntryView, ...]


@dataclass(frozen=True, slots=True)
class OrderView:
    """One order; an unknown total stays None and is never guessed."""

    order_id: int
    number: str
    merchant_id: int
    customer_id: int
    status: str
    total_minor_units: int | None
    currency: str | None
    placed_at: datetime
    payments: tuple[PaymentView, ...]
    siblings: tuple[SiblingOrderView, ...] = ()


@dataclass(frozen=True, slots=True)
class LedgerSnapshot:
    """What a source said about one order at one moment."""

    order: OrderView
    source: str
    taken_at: datetime

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON values; times are ISO 8601 in UTC."""
        plain: dict[str, Any] = plain_json(asdict(self))
        return plain

    def facts_sha256(self) -> str:
        """Return a digest of the order's facts alone: equal facts read later have an equal digest."""
        return canonical_sha256(asdict(self.order))
