"""What stage 5 can say about an order: the finding, its reason code and the rows that prove it. Pure."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

RULE_VERSION: Final = "duplicate-charge-1"


class Finding(StrEnum):
    """What the ledger rows establish about an order (stage 5)."""

    VERIFIED_DUPLICATE_CHARGE = "VERIFIED_DUPLICATE_CHARGE"
    NO_DUPLICATE_FOUND = "NO_DUPLICATE_FOUND"
    REQUIRES_INVESTIGATION = "REQUIRES_INVESTIGATION"
    STAFF_REQUESTED = "STAFF_REQUESTED"  # nothing was found: a person of the merchant asks for this refund


class ReasonCode(StrEnum):
    """Why the finding is what it is."""

    TWO_CAPTURES_OF_ONE_PURCHASE = "TWO_CAPTURES_OF_ONE_PURCHASE"  # the only one that verifies

    NO_COMPLETED_CAPTURE = "NO_COMPLETED_CAPTURE"
    SINGLE_CHARGE = "SINGLE_CHARGE"
    AUTHORISATION_HOLD = "AUTHORISATION_HOLD"
    HOLD_RELEASED = "HOLD_RELEASED"
    CHARGE_AND_REVERSAL = "CHARGE_AND_REVERSAL"
    REPEATED_DISPLAY_EVENT = "REPEATED_DISPLAY_EVENT"
    TWO_ORDERS = "TWO_ORDERS"
    TOTAL_COVERS_BOTH = "TOTAL_COVERS_BOTH"
    DIFFERENT_CURRENCIES = "DIFFERENT_CURRENCIES"
    ALREADY_REFUNDED = "ALREADY_REFUNDED"
    EARLIER_PARTIAL_REFUND = "EARLIER_PARTIAL_REFUND"

    DISPUTE_OPEN = "DISPUTE_OPEN"
    DISPUTE_DECIDED = "DISPUTE_DECIDED"
    STALE_SNAPSHOT = "STALE_SNAPSHOT"
    CONFLICTING_ROWS = "CONFLICTING_ROWS"
    THREE_OR_MORE_CAPTURES = "THREE_OR_MORE_CAPTURES"
    CAPTURE_PENDING = "CAPTURE_PENDING"
    ORDER_CURRENCY_DISAGREES = "ORDER_CURRENCY_DISAGREES"
    CAPTURES_OF_ONE_PAYMENT = "CAPTURES_OF_ONE_PAYMENT"
    OPEN_OPERATION = "OPEN_OPERATION"
    REFUND_PENDING = "REFUND_PENDING"
    REVERSAL_INCOMPLETE = "REVERSAL_INCOMPLETE"
    SPLIT_TENDER = "SPLIT_TENDER"
    AMOUNT_DRIFT = "AMOUNT_DRIFT"
    DIFFERENT_AMOUNTS = "DIFFERENT_AMOUNTS"
    UNKNOWN_ORDER_TOTAL = "UNKNOWN_ORDER_TOTAL"
    TOTAL_DISAGREES = "TOTAL_DISAGREES"
    DIFFERENT_PAYMENT_METHODS = "DIFFERENT_PAYMENT_METHODS"
    OUTSIDE_WINDOW = "OUTSIDE_WINDOW"
    NOT_PROVEN = "NOT_PROVEN"

    @property
    def needs_investigation(self) -> bool:
        """Return whether a person has to look: true for everything that is not proven either way."""
        return self is not ReasonCode.TWO_CAPTURES_OF_ONE_PURCHASE and self not in _PROVEN_HARMLESS


_PROVEN_HARMLESS: Final = frozenset(
    {
        ReasonCode.NO_COMPLETED_CAPTURE,
        ReasonCode.SINGLE_CHARGE,
        ReasonCode.AUTHORISATION_HOLD,
        ReasonCode.HOLD_RELEASED,
        ReasonCode.CHARGE_AND_REVERSAL,
        ReasonCode.REPEATED_DISPLAY_EVENT,
        ReasonCode.TWO_ORDERS,
        ReasonCode.TOTAL_COVERS_BOTH,
        ReasonCode.DIFFERENT_CURRENCIES,
        ReasonCode.ALREADY_REFUNDED,
        ReasonCode.EARLIER_PARTIAL_REFUND,
    }
)


@dataclass(frozen=True, slots=True)
class DuplicateFinding:
    """A finding, why, and the processor references of the ledger rows that prove it, oldest first.

    The payments, the amount (minor units) and the currency are set for VERIFIED_DUPLICATE_CHARGE alone.
    ``other_order_numbers`` names the customer's other orders where those explain the second charge.
    """

    finding: Finding
    reason_code: ReasonCode
    refund_payment_id: int | None = None
    kept_payment_id: int | None = None
    refund_reference: str | None = None
    kept_reference: str | None = None
    amount_minor_units: int | None = None
    currency: str | None = None
    evidence: tuple[str, ...] = ()
    other_order_numbers: tuple[str, ...] = ()
    rule_version: str = RULE_VERSION
