"""The gateway port: three verbs and the closed set of things that an attempt or a read can teach. Pure.

An adapter never raises for what the provider or the network does; it returns one of the records below.
Amounts are ISO 4217 minor units, currencies are upper-case ISO codes, times are aware UTC datetimes.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Protocol

LIST: Final = "refunds.list"  # a payment's refunds: the surface whose silence counts, once it is complete
RETRIEVE: Final = "refunds.retrieve"


class AnswerClass(StrEnum):
    """What one submission attempt taught; everything that no row of an adapter's table names is UNKNOWN."""

    ACCEPTED = "ACCEPTED"  # a succeeded refund object that is ours
    PENDING = "PENDING"  # a refund object that is ours and waits for the provider or the customer
    REFUSED = "REFUSED"  # this attempt made no refund, and sending it again cannot make one
    FAILED = "FAILED"  # a refund object that is ours and moved no money
    NOT_EXECUTED = "NOT_EXECUTED"  # this attempt never started at the provider; the same one may go again
    UNKNOWN = "UNKNOWN"  # nothing is proven; reconcile


class ProviderStatus(StrEnum):
    """The states of a refund object; a word that the contract does not map is UNRECOGNISED."""

    SUCCEEDED = "SUCCEEDED"
    PENDING = "PENDING"
    REQUIRES_ACTION = "REQUIRES_ACTION"
    FAILED = "FAILED"
    CANCELED = "CANCELED"
    UNRECOGNISED = "UNRECOGNISED"


NO_MONEY: Final = frozenset(
    {ProviderStatus.FAILED, ProviderStatus.CANCELED}
)  # the refund moved none, or it is back


@dataclass(frozen=True, slots=True, kw_only=True)
class RefundCommand:
    """Everything that one submission needs, and nothing else; attempts of one operation are equal."""

    operation_id: str
    idempotency_key: str
    account: str  # the connected account at the provider; "" is the platform's own
    payment_reference: str  # "ch_..." or "pi_..."
    amount_minor_units: int
    currency: str
    reason_code: str  # "DUPLICATE_CHARGE"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefundFact:
    """One refund object as the provider states it.

    ``payment_reference`` is of the kind that was asked for (charge or payment intent); a refund retrieved by
    its own id carries the charge, or the payment intent where it has no charge.
    """

    processor_reference: str
    operation_id: str | None  # from the refund's metadata; None: somebody else's refund
    amount_minor_units: int
    currency: str
    provider_status: str  # the provider's own word
    status: ProviderStatus
    payment_reference: str
    created_at: datetime | None
    failure_reason: str | None
    pending_reason: str | None = None  # what the provider waits for, such as more money on the balance

    @property
    def words(self) -> str:
        """The provider's own word with the reason that it gives: ``pending: insufficient_funds``."""
        reason = self.failure_reason or self.pending_reason
        return f"{self.provider_status}: {reason}" if reason else self.provider_status


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayAnswer:
    """What one submission attempt taught.

    ``refund`` is set only for an object that is proven to be ours. ``error_code`` is the provider's own
    lower-case code, or an upper-case ``AdapterCode``. ``body_sha256`` digests the raw answer; it is not kept.
    ``went_back_before``: refused because the payment's money is back already, by whose doing the answer does not say.
    ``retry_forbidden``: the provider said that sending it again is of no use.
    """

    answer_class: AnswerClass
    refund: RefundFact | None
    http_status: int | None
    error_type: str | None
    error_code: str | None
    replayed: bool
    request_id: str | None
    body_sha256: str | None
    detail: str
    went_back_before: bool = False
    retry_forbidden: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupAnswer:
    """What one read taught. What an incomplete read found is true; what it did not find means nothing."""

    surface: str  # LIST or RETRIEVE
    complete: bool  # every page was read and every object in it understood
    refunds: tuple[RefundFact, ...]
    http_status: int | None  # of the last answer
    error_code: str | None
    detail: str
    attempts: int  # HTTP requests made, over all pages
    payment_untouched: bool | None = (
        None  # the payment itself says that no refund of it exists; None: it is silent
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFact:
    """One verified event that tells of a refund of ours: there is one. Its state is only said by the object."""

    event_id: str
    event_type: str  # the provider's own word
    processor_reference: str
    happened_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SettlementFact:
    """One row of the provider's settlement report. Money out is positive, money that came back is negative."""

    operation_id: str | None  # from the refund's metadata; None: somebody else's refund
    processor_reference: str
    amount_minor_units: int
    currency: str
    category: str  # in the ledger's spelling: "REFUND", "REFUND_FAILURE", "PARTIAL_CAPTURE_REVERSAL"
    status: str
    booked_at: datetime
    report: str  # which report, for people


class Gateway(Protocol):
    """A payment provider. Every verb refuses to run while a database transaction is open."""

    provider: str
    api_version: str

    def submit_refund(self, command: RefundCommand) -> GatewayAnswer:
        """Send the command in at most one HTTP request and say what that taught."""
        ...

    def list_refunds(self, *, payment_reference: str, account: str) -> LookupAnswer:
        """Read every refund of one payment, all pages; up to three attempts for each."""
        ...

    def retrieve_refund(self, *, processor_reference: str, account: str) -> LookupAnswer:
        """Read one refund by the provider's id; up to three attempts."""
        ...

    def request_body_sha256(self, command: RefundCommand) -> str:
        """Return the digest of the exact body that ``submit_refund`` sends for this command, in hex."""
        ...
