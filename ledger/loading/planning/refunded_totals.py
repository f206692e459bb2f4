"""Refunds that a file counts without naming them.

A payments export says how much of a charge was refunded, and its refunds export says by which refunds. Whatever part
of the first no known refund explains becomes one entry, ``<payment>#refunded:<total>``, so that the money counts as
returned at once. When the refunds themselves become known, such an entry is CANCELED, for they count instead.
"""

from collections import defaultdict
from typing import Final

from ledger.loading.planning.plan import Plan
from ledger.loading.rows import EntryRow
from ledger.models import LedgerEntry
from ledger.snapshot import UNNAMED_REFUND, EntryKind, EntryStatus

_NOTHING_MOVED: Final = frozenset({EntryStatus.FAILED, EntryStatus.CANCELED})


def plan_refunded_totals(plan: Plan) -> None:
    """Add what a refunded total says beyond the refunds that are known. Comes after the entries."""
    for (merchant, account, reference), row in plan.rows.refunded_totals.items():
        payment = plan.stored.payments.get((merchant, account, reference))
        if payment is None:
            continue  # the payment's own problem is listed
        known = sum(e.amount_minor_units for e in _refunds(plan, payment.pk) if _counts(e))
        missing = row.total_minor_units - known
        if missing < 0:
            plan.notes.append(f"{row.where}: says less was refunded than the tables hold; theirs stands")
        elif missing > 0:
            entry = LedgerEntry(
                merchant=plan.stored.merchants[merchant],
                payment=payment,
                account=account,
                processor_reference=f"{reference}{UNNAMED_REFUND}{row.total_minor_units}",
                kind=EntryKind.REFUND,
                status=EntryStatus.SUCCEEDED,
                amount_minor_units=missing,
                currency=row.currency,
                occurred_at=row.occurred_at,
            )
            plan.add("entries", entry)


def plan_named_refunds(plan: Plan) -> None:
    """Let refunds that this file names replace the unnamed ones. Comes after the entries."""
    named: dict[int, list[EntryRow]] = defaultdict(list)
    for key, row in plan.rows.entries.items():
        entry = plan.stored.entries.get(key)
        if row.kind is EntryKind.REFUND and entry is not None and entry.payment_id is not None:
            named[entry.payment_id].append(row)
    for payment_id, rows in named.items():
        stored = [e for e in _refunds(plan, payment_id) if _counts(e)]
        unnamed = [e for e in stored if UNNAMED_REFUND in e.processor_reference]
        if not unnamed:
            continue
        fresh = {row.reference: row for row in rows}
        known = [e for e in stored if e not in unnamed and e.processor_reference not in fresh]
        total_before = sum(e.amount_minor_units for e in stored)
        total_named = sum(e.amount_minor_units for e in known) + sum(
            row.amount_minor_units for row in rows if row.status not in _NOTHING_MOVED
        )
        if total_named < total_before:
            plan.refuse(
                rows[0].where,
                f"the refunds of {rows[0].payment} here explain {total_named} of the {total_before} minor units"
                " that a payments export reported; load a file with all of them",
            )
            continue
        for entry in unnamed:
            plan.settle("entries", entry, {"status": EntryStatus.CANCELED})
        plan.notes.append(f"{rows[0].where}: the refunds of {rows[0].payment} are now known by name")


def _refunds(plan: Plan, payment_id: int | None) -> list[LedgerEntry]:
    return plan.stored.refunds.get(payment_id, []) if payment_id is not None else []


def _counts(entry: LedgerEntry) -> bool:
    return entry.status not in _NOTHING_MOVED
