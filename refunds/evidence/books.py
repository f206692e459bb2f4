"""What the ledger and our own operations say about one order's payments: one picture for every check of a stage."""

from dataclasses import dataclass
from datetime import datetime

from ledger.snapshot import EntryKind, EntryStatus, EntryView, LedgerSnapshot
from refunds.evidence.instruction import order_id_of
from refunds.evidence.remaining import Conservation, conservation_in
from refunds.evidence.source import held_charges
from refunds.models import RefundOperation, RefundWorkflow
from refunds.states import UNRESOLVED_OPERATION_STATES, OperationState


@dataclass(frozen=True, slots=True)
class Books:
    """The entries of an order's payments, and every operation on these payments.

    Operations are matched with the very entries that are summed and judged, so that whatever a source writes between
    the two reads, an operation counts once: by its entry, or as itself.
    """

    snapshot: LedgerSnapshot
    operations: tuple[RefundOperation, ...]

    def conservation_of(self, payment_id: int, *, leaving_out_operation: str | None = None) -> Conservation:
        """Return where one payment's money is; the caller holds its lock."""
        others = [row for row in self._on(payment_id) if row.pk != leaving_out_operation]
        return conservation_in(self._entries_of(payment_id), others)

    def unsettled_payments(self, *, leaving_out_operation: str | None = None) -> frozenset[int]:
        """Return the payments with an unresolved operation, or with one whose completion the ledger denies."""
        return frozenset(
            row.payment_id
            for row in self.operations
            if row.pk != leaving_out_operation
            and (
                row.state in UNRESOLVED_OPERATION_STATES
                or (row.state == OperationState.COMPLETED and not self._stands(row))
            )
        )

    def has_operation(self, payment_id: int, state: OperationState, *, other_than: str | None = None) -> bool:
        """Say whether some operation on the payment is in that state."""
        return any(row.state == state and row.pk != other_than for row in self._on(payment_id))

    def capture_currency(self, payment_id: int) -> str:
        """Return the currency of the payment's oldest capture; empty when there is none."""
        captures = [entry for entry in self._entries_of(payment_id) if entry.kind is EntryKind.CAPTURE]
        return captures[0].currency if captures else ""

    def _on(self, payment_id: int) -> list[RefundOperation]:
        return [row for row in self.operations if row.payment_id == payment_id]

    def _entries_of(self, payment_id: int) -> tuple[EntryView, ...]:
        return next((p.entries for p in self.snapshot.order.payments if p.payment_id == payment_id), ())

    def _stands(self, operation: RefundOperation) -> bool:
        return any(
            entry.processor_reference == operation.processor_reference
            and entry.status is EntryStatus.SUCCEEDED
            for entry in self._entries_of(operation.payment_id)
        )


def read_books(workflow: RefundWorkflow, *, now: datetime) -> Books:
    """Read the workflow's order, whosever it is: entries first and then operations, in three statements."""
    return with_operations(held_charges(order_id=order_id_of(workflow), now=now))


def with_operations(snapshot: LedgerSnapshot) -> Books:
    """Add our own operations to an order's entries that were just read; one statement."""
    payment_ids = [payment.payment_id for payment in snapshot.order.payments]
    operations = RefundOperation.objects.filter(payment_id__in=payment_ids).order_by("created_at", "pk")
    return Books(snapshot, tuple(operations))
