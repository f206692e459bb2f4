"""What three books say about the refunds of one payment, as plain values. Pure.

Amounts are minor units of the currency that the customer was refunded in.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from ledger.settlements.rows import SettlementCategory, SettlementReport
from refunds.gateways.port import ProviderStatus
from refunds.states import DifferenceKind


class Standing(StrEnum):
    """What our book says became of a refund."""

    STANDS = "STANDS"
    PENDING = "PENDING"
    GONE = "GONE"  # refused, failed or never sent: no money moved
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True, kw_only=True)
class OurRefund:
    """One refund of our book: an operation with or without its ledger entry, or an entry that nobody here ordered.

    ``entry_amount_minor_units`` is what the entry says, where there is one. ``named`` is False for an entry that
    stands for refunds which a source counted without naming them. ``reversal`` is a charge undone before it was
    settled: a provider may list it as a refund, and need not. ``denied``: our operation is COMPLETED, and its entry
    says since that no money moved; a source told so, and nobody has asked the provider.
    """

    operation_id: str
    processor_reference: str
    amount_minor_units: int
    currency: str
    standing: Standing
    state: str  # our own word for it, as people know it
    happened_at: datetime
    changed_at: datetime
    entry_amount_minor_units: int | None = None
    named: bool = True
    reversal: bool = False
    denied: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TheirRefund:
    """One refund of the provider's list."""

    processor_reference: str
    operation_id: str
    amount_minor_units: int
    currency: str
    status: ProviderStatus
    created_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledLine:
    """One line of a report; the amount is positive for money out."""

    row_reference: str
    report: SettlementReport
    category: SettlementCategory
    processor_reference: str
    operation_id: str
    amount_minor_units: int
    currency: str
    booked_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentBooks:
    """Everything that the three books say about one payment.

    ``theirs`` is None where the provider was not asked, or did not give its whole list: its silence means nothing
    then. Reports reach from ``settled_since`` to ``settled_until``; nothing younger than ``until`` is compared.
    """

    payment_reference: str
    ours: tuple[OurRefund, ...]
    theirs: tuple[TheirRefund, ...] | None
    settled: tuple[SettledLine, ...]
    dispute_known: bool
    settled_since: datetime | None
    settled_until: datetime | None
    until: datetime


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference: about which refund, and what each book says of it."""

    kind: DifferenceKind
    processor_reference: str
    operation_id: str
    facts: dict[str, Any]
