"""A ledger source in memory, for tests of what asks it: tells what it was told, and fails when it was told to."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from ledger.snapshot import LedgerSnapshot, OrderView
from ledger.sources.port import OrderMissingError, SourceUnavailable

SOURCE_NAME: Final = "fake"


@dataclass
class FakeLedgerSource:
    """``failures`` are answered first, one for each read; ``reads`` are the ids of the orders asked for."""

    failures: list[SourceUnavailable] = field(default_factory=list)
    reads: list[int] = field(default_factory=list)
    _orders: dict[tuple[int, int, int], tuple[OrderView, datetime]] = field(default_factory=dict)

    def tell(self, order: OrderView, *, taken_at: datetime) -> None:
        """Let the source know an order, as of ``taken_at``."""
        self._orders[order.merchant_id, order.customer_id, order.order_id] = (order, taken_at)

    def read_order(
        self, *, merchant_id: int, customer_id: int, order_id: int, now: datetime
    ) -> LedgerSnapshot | SourceUnavailable:
        """Return the order as it was told, never as of later than ``now``; see ``LedgerSource.read_order``."""
        self.reads.append(order_id)
        known = self._orders.get((merchant_id, customer_id, order_id))
        if known is None:
            raise OrderMissingError(order_id)
        if self.failures:
            return self.failures.pop(0)
        order, taken_at = known
        return LedgerSnapshot(order=order, source=SOURCE_NAME, taken_at=min(taken_at, now))
