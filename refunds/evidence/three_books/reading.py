"""Reads our book and the settlement reports for many payments at once, in a fixed number of queries."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import connection
from django.db.models import Max, Min

from ledger.models import LedgerEntry, Payment, Settlement, SettlementFile
from ledger.settlements.rows import SettlementCategory, SettlementReport, settled_until
from ledger.snapshot import UNNAMED_REFUND, EntryKind, EntryStatus
from refunds.evidence.three_books.facts import OurRefund, PaymentBooks, SettledLine, Standing
from refunds.models import RefundOperation
from refunds.states import ABANDONED_OPERATION_STATES, OperationState

_IN_WINDOW: Final = """
    SELECT payment_id FROM refund_operations
        WHERE merchant_id = %(merchant)s AND created_at >= %(since)s AND created_at < %(until)s
    UNION SELECT payment_id FROM ledger_entries
        WHERE merchant_id = %(merchant)s AND kind = 'REFUND' AND occurred_at >= %(since)s AND occurred_at < %(until)s
    UNION SELECT p.id FROM ledger_settlements s JOIN ledger_payments p ON p.merchant_id = s.merchant_id
            AND p.account = s.account AND p.processor_reference IN (s.payment_reference, s.intent_reference)
        WHERE s.merchant_id = %(merchant)s AND s.booked_at >= %(since)s AND s.booked_at < %(until)s
    UNION SELECT o.payment_id FROM ledger_settlements s JOIN refund_operations o ON o.id = s.operation_id
        WHERE s.merchant_id = %(merchant)s AND o.merchant_id = s.merchant_id AND s.operation_id <> ''
          AND s.booked_at >= %(since)s AND s.booked_at < %(until)s
    ORDER BY 1"""
_FOREIGN: Final = """
    SELECT count(*) FROM ledger_settlements s
    WHERE s.merchant_id = %(merchant)s AND s.booked_at >= %(since)s AND s.booked_at < %(until)s AND s.revision = 1
      AND s.category = 'REFUND' AND NOT EXISTS (
          SELECT 1 FROM ledger_payments p WHERE p.merchant_id = s.merchant_id AND p.account = s.account
          AND p.processor_reference IN (s.payment_reference, s.intent_reference))"""
_STANDING: Final = {
    OperationState.COMPLETED: Standing.STANDS,
    OperationState.PROVIDER_PENDING: Standing.PENDING,
    **dict.fromkeys(ABANDONED_OPERATION_STATES, Standing.GONE),
}
_ENTRY_STANDING: Final = {EntryStatus.SUCCEEDED: Standing.STANDS, EntryStatus.PENDING: Standing.PENDING}
_RETURNED: Final = (EntryKind.REFUND, EntryKind.REVERSAL)
_OVER: Final = frozenset({EntryStatus.WON, EntryStatus.FAILED, EntryStatus.CANCELED})


@dataclass(frozen=True, slots=True)
class Window:
    """Which activity of a merchant is compared: from ``since`` up to and without ``until``."""

    merchant_id: int
    since: datetime
    until: datetime

    def as_parameters(self) -> dict[str, int | datetime]:
        """Return the window as a query's parameters."""
        return {"merchant": self.merchant_id, "since": self.since, "until": self.until}


def payments_active(window: Window) -> list[int]:
    """Return the payments of which something was decided, booked or settled within the window."""
    with connection.cursor() as cursor:
        cursor.execute(_IN_WINDOW, window.as_parameters())
        return [payment_id for (payment_id,) in cursor.fetchall()]


def refunds_of_foreign_payments(window: Window) -> int:
    """Return how many refunds were settled of payments that this desk does not hold."""
    with connection.cursor() as cursor:
        cursor.execute(_FOREIGN, window.as_parameters())
        (found,) = cursor.fetchone()
    return int(found)


Reach = tuple[datetime, datetime]


def reach_of_reports(merchant_id: int) -> dict[str, Reach]:
    """Return for each account from when to when its reports reach; all that lies between is taken to be in one."""
    reach: dict[str, Reach] = {}
    files = SettlementFile.objects.filter(merchant_id=merchant_id).exclude(last_booked_at=None)
    found = files.values_list("account", "report").annotate(Min("first_booked_at"), Max("last_booked_at"))
    for account, report, first, last in found:
        until = settled_until(last, SettlementReport(report))
        since, known = reach.get(account, (first, until))
        reach[account] = (min(since, first), max(known, until))
    return reach


def read_books(
    payment_ids: Sequence[int], *, reach: dict[str, Reach], until: datetime
) -> Iterator[tuple[Payment, PaymentBooks]]:
    """Yield each payment with what our book and the reports say; the provider's list is still to be asked for."""
    payments = list(Payment.objects.filter(pk__in=payment_ids).order_by("pk"))
    operations, entries = _operations_on(payments), _entries_of(payments)
    merchant_id = payments[0].merchant_id if payments else 0  # a window is of one merchant
    lines = _settled(_Owners.of(payments, operations, entries), merchant_id)
    for payment in payments:
        rows = entries[payment.pk]
        refunds = [row for row in rows if row.kind in _RETURNED]
        since, settled = reach.get(payment.account, (None, None))
        disputes = [row for row in rows if row.kind == EntryKind.DISPUTE and row.status not in _OVER]
        books = PaymentBooks(
            payment_reference=payment.processor_reference,
            ours=tuple(_ours(operations[payment.pk], refunds)),
            theirs=None,
            settled=tuple(lines[payment.pk]),
            dispute_known=bool(disputes),
            settled_since=since,
            settled_until=settled,
            until=until,
        )
        yield payment, books


def _operations_on(payments: Sequence[Payment]) -> dict[int, list[RefundOperation]]:
    found: dict[int, list[RefundOperation]] = defaultdict(list)
    for row in RefundOperation.objects.filter(payment__in=payments).order_by("created_at", "pk"):
        found[row.payment_id].append(row)
    return found


def _entries_of(payments: Sequence[Payment]) -> dict[int, list[LedgerEntry]]:
    found: dict[int, list[LedgerEntry]] = defaultdict(list)
    kinds = (*_RETURNED, EntryKind.DISPUTE)
    for row in LedgerEntry.objects.filter(payment__in=payments, kind__in=kinds).order_by("pk"):
        found[row.payment_id].append(row)
    return found


def _ours(operations: Sequence[RefundOperation], entries: Sequence[LedgerEntry]) -> Iterator[OurRefund]:
    """Yield our refunds, each once: an operation takes the entry of its own reference with it."""
    rest = {(row.account, row.processor_reference): row for row in entries}
    for operation in operations:
        entry = rest.pop((operation.account, operation.processor_reference or ""), None)
        standing = _STANDING.get(OperationState(operation.state), Standing.UNKNOWN)
        if entry is not None and operation.state == OperationState.COMPLETED:
            standing = _ENTRY_STANDING.get(EntryStatus(entry.status), Standing.GONE)
        yield OurRefund(
            operation_id=operation.pk,
            processor_reference=operation.processor_reference or "",
            amount_minor_units=operation.amount_minor_units,
            currency=operation.currency,
            standing=standing,
            state=str(operation.state),
            happened_at=entry.occurred_at if entry else operation.updated_at,
            changed_at=operation.updated_at,
            entry_amount_minor_units=entry.amount_minor_units if entry else None,
            denied=operation.state == OperationState.COMPLETED and standing is Standing.GONE,
        )
    for entry in rest.values():
        yield OurRefund(
            operation_id="",
            processor_reference=entry.processor_reference,
            amount_minor_units=entry.amount_minor_units,
            currency=entry.currency,
            standing=_ENTRY_STANDING.get(EntryStatus(entry.status), Standing.GONE),
            state=f"ENTRY_{entry.status}",
            happened_at=entry.occurred_at,
            changed_at=entry.occurred_at,
            named=UNNAMED_REFUND not in entry.processor_reference,
            reversal=entry.kind == EntryKind.REVERSAL,
        )


@dataclass(frozen=True, slots=True)
class _Owners:
    """By which names a report's line belongs to a payment: its charge first, then our id, then the refund's own."""

    charges: dict[tuple[str, str], int]
    operations: dict[str, int]
    refunds: dict[tuple[str, str], int]

    @classmethod
    def of(
        cls,
        payments: Sequence[Payment],
        operations: dict[int, list[RefundOperation]],
        entries: dict[int, list[LedgerEntry]],
    ) -> "_Owners":
        own = [row for rows in operations.values() for row in rows]
        booked = [row for rows in entries.values() for row in rows if row.kind in _RETURNED]
        named = {(o.account, o.processor_reference): o.payment_id for o in own if o.processor_reference}
        return cls(
            charges={(p.account, p.processor_reference): p.pk for p in payments},
            operations={o.pk: o.payment_id for o in own},
            refunds={(e.account, e.processor_reference): e.payment_id for e in booked} | named,
        )

    def owner_of(self, line: Settlement) -> int | None:
        """Return the payment of a line, or None."""
        for reference in filter(None, (line.payment_reference, line.intent_reference)):
            if (line.account, reference) in self.charges:
                return self.charges[line.account, reference]
        by_refund = self.refunds.get((line.account, line.processor_reference))
        return self.operations.get(line.operation_id, by_refund)

    def lines(self, merchant_id: int) -> Iterator[Settlement]:
        """Yield every line that one of the names stands in, older revisions first, each name by its own index."""
        charges = [reference for _, reference in self.charges]
        accounts = sorted({account for account, _ in self.charges})
        of_merchant = Settlement.objects.filter(merchant_id=merchant_id)
        by_charge = of_merchant.filter(account__in=accounts, payment_reference__in=charges)
        by_intent = of_merchant.filter(account__in=accounts, intent_reference__in=charges)
        by_operation = of_merchant.filter(operation_id__in=list(self.operations))
        by_refund = of_merchant.filter(processor_reference__in=[reference for _, reference in self.refunds])
        found = by_charge.union(
            by_intent.exclude(intent_reference=""), by_operation.exclude(operation_id=""), by_refund
        )
        yield from found.order_by("revision", "pk")


def _settled(owners: _Owners, merchant_id: int) -> dict[int, list[SettledLine]]:
    newest = {(line.account, line.report, line.row_reference): line for line in owners.lines(merchant_id)}
    found: dict[int, list[SettledLine]] = defaultdict(list)
    for line in newest.values():
        owner = owners.owner_of(line)
        if owner is not None:
            found[owner].append(
                SettledLine(
                    row_reference=line.row_reference,
                    report=SettlementReport(line.report),
                    category=SettlementCategory(line.category),
                    processor_reference=line.processor_reference,
                    operation_id=line.operation_id,
                    amount_minor_units=line.amount_minor_units,
                    currency=line.currency,
                    booked_at=line.booked_at,
                )
            )
    return found
