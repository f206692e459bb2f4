"""What a channel takes and what it answers: closed types, so that only typed transient errors are tried again."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class DeliveryOutcome(StrEnum):
    """How one attempt ended."""

    DELIVERED = "DELIVERED"  # the next system accepted the message
    TRANSIENT = "TRANSIENT"  # it may work later: time-outs, lost connections, 4xx of SMTP, our own set-up
    PERMANENT = "PERMANENT"  # it never will: no address, a hard bounce, a message that cannot be written


@dataclass(frozen=True, slots=True)
class Delivery:
    """An outcome and a code that explains it; never an address or what a server wrote."""

    outcome: DeliveryOutcome
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingMessage:
    """One message to one person. ``message_id`` is the same for every attempt of one logical event."""

    recipient: str
    subject: str
    body: str
    message_id: str


class Channel(Protocol):
    """A way to deliver a message. It never raises for what the other side does, and never waits without limit."""

    name: str

    def send(self, message: OutgoingMessage) -> Delivery:
        """Try once to deliver the message; raises ``OpenTransactionError`` inside a transaction."""
        ...
