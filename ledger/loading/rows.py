"""What every file format is read into: one typed row per fact, and what was wrong or odd about the file. Pure.

``None`` in a row means that the file does not say; it never overwrites anything. ``where`` is where the row stands
("line 7", or a path such as ``orders[3].payments[0]``).
"""

from dataclasses import dataclass, field
from datetime import datetime

from ledger.snapshot import EntryKind, EntryStatus

PaymentKey = tuple[str, str, str]  # merchant code, provider account, processor reference


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a row cannot be loaded."""

    where: str
    text: str


@dataclass(frozen=True, slots=True)
class MerchantRow:
    """A tenant."""

    where: str
    code: str
    name: str | None = None
    region: str | None = None
    gateway_account: str | None = None
    host: str | None = None


@dataclass(frozen=True, slots=True)
class CustomerRow:
    """A buyer at one merchant; the e-mail address is what they sign in with."""

    where: str
    merchant: str
    reference: str
    email: str | None = None


@dataclass(frozen=True, slots=True)
class OrderRow:
    """``customer`` is the file's claim of whose order it is; ``buyer`` only serves an order not known yet."""

    where: str
    merchant: str
    number: str
    customer: str | None = None
    buyer: CustomerRow | None = None
    description: str | None = None
    note: str | None = None
    product_type: str | None = None
    status: str | None = None
    total_minor_units: int | None = None
    currency: str | None = None
    placed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PaymentRow:
    """``account`` None: the merchant's own account."""

    where: str
    merchant: str
    reference: str
    order: str
    account: str | None = None
    method_type: str | None = None
    method_fingerprint: str | None = None
    method_last4: str | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class EntryRow:
    """``account`` None: that of the payment, wherever it is known."""

    where: str
    merchant: str
    payment: str
    reference: str
    kind: EntryKind
    status: EntryStatus
    amount_minor_units: int
    currency: str
    occurred_at: datetime
    account: str | None = None
    seen_count: int = 1


@dataclass(frozen=True, slots=True)
class RefundedTotalRow:
    """How much of a payment a file says was refunded, without saying by which refunds."""

    where: str
    merchant: str
    payment: str
    total_minor_units: int
    currency: str
    occurred_at: datetime


@dataclass(slots=True)
class Batch:
    """Everything one file says."""

    merchants: list[MerchantRow] = field(default_factory=list)
    customers: list[CustomerRow] = field(default_factory=list)
    orders: list[OrderRow] = field(default_factory=list)
    payments: list[PaymentRow] = field(default_factory=list)
    entries: list[EntryRow] = field(default_factory=list)
    refunded_totals: list[RefundedTotalRow] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unknown: dict[str, int] = field(default_factory=dict)  # names the format does not have, and how often
    taken_at: datetime | None = None  # when the file says that its facts were read at their source

    def note_unknown(self, name: str) -> None:
        """Count a key or column that the format does not have."""
        self.unknown[name] = self.unknown.get(name, 0) + 1


def own_reference(kind: EntryKind, payment: str) -> str:
    """Return the reference of an entry to which the provider gives no id of its own.

    A capture is the charge itself. A hold of the same charge is another row, since its amount may differ.
    """
    return payment if kind is EntryKind.CAPTURE else f"{payment}#{kind.value.lower()}"
