"""The port through which an order and its money are read (stage 4), and everything a read can answer."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from ledger.snapshot import LedgerSnapshot


class SourceFailureKind(StrEnum):
    """Why a source gave no answer. None of them says anything about the order."""

    TIMEOUT = "TIMEOUT"
    CONNECTION = "CONNECTION"  # refused, reset or dropped; includes an exhausted connection pool
    UNAVAILABLE = "UNAVAILABLE"  # 502, 503, 504, and what is not tried again at once: other 5xx, 429
    REFUSED = "REFUSED"  # 401, 403: never retried, a person has to repair the credentials
    DISCREPANCY = "DISCREPANCY"  # contradicts itself, the question or what is held: never retried


@dataclass(frozen=True, slots=True)
class SourceUnavailable:
    """The source could not be read. ``attempts`` counts all of them; ``detail`` is for logs, not customers."""

    kind: SourceFailureKind
    detail: str
    attempts: int


class OrderMissingError(LookupError):
    """If you see this, a merchant, a customer and an order were asked for that do not belong together.

    An order that is not there and one that is not theirs raise the same. Stage 1 settles ownership before any
    source is read, so this is a fault of the caller or a deleted order, and not an answer for a customer.
    """


class LedgerSource(Protocol):
    """Where orders and payments come from."""

    def read_order(
        self, *, merchant_id: int, customer_id: int, order_id: int, now: datetime
    ) -> LedgerSnapshot | SourceUnavailable:
        """Return the order as the source knows it, within this merchant and this customer only.

        Raises OrderMissingError for any other order.

        ``now`` is the moment of asking; the snapshot's ``taken_at`` is when the facts were last confirmed and
        may be older. Retries, if the source has any, are inside; no exception means "unavailable".
        """
        ...
