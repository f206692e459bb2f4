"""A channel that follows a script, for tests and drills."""

from collections.abc import Iterable

from ledger.transaction_guard import refuse_open_transaction
from notifications.channels.port import Delivery, DeliveryOutcome, OutgoingMessage


class FakeChannel:
    """Keeps what it was given and answers from its script; after the script everything is delivered."""

    name = "fake"

    def __init__(self, script: Iterable[Delivery] = ()) -> None:
        self.sent: list[OutgoingMessage] = []
        self._script = list(script)

    def send(self, message: OutgoingMessage) -> Delivery:
        """Record the message and return the next scripted answer."""
        refuse_open_transaction()
        self.sent.append(message)
        return self._script.pop(0) if self._script else Delivery(DeliveryOutcome.DELIVERED)
