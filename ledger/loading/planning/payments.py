"""Payments and their entries of a load. Amounts, currencies and owners never change; a provider's status may."""

from datetime import datetime
from typing import Final

from ledger.loading.planning.plan import Plan
from ledger.loading.rows import EntryRow, PaymentKey, PaymentRow
from ledger.models import LedgerEntry, Payment
from ledger.snapshot import EntryStatus

# How far along its way a status is. A later one is news whatever the file's age; an earlier one is news only from a
# file that is younger than what is held (a dispute that was reopened, a refund that had failed too soon).
_PROGRESS: Final = {
    EntryStatus.PENDING: 0,
    EntryStatus.OPEN: 0,
    EntryStatus.SUCCEEDED: 1,
    EntryStatus.WON: 1,
    EntryStatus.LOST: 1,
    EntryStatus.FAILED: 2,
    EntryStatus.CANCELED: 2,
}


def plan_payments(plan: Plan) -> None:
    """Add payments; of stored ones, learn what was not known and confirm the rest as of the file's time."""
    first_entry = _earliest_entries(plan)
    for key, row in plan.rows.payments.items():
        order = plan.stored.orders.get((row.merchant, row.order))
        if order is None:
            continue  # the order's own problem is listed
        known = plan.stored.payments.get(key)
        if known is not None:
            _settle_payment(plan, row, known, order.pk)
            continue
        created_at = row.created_at or first_entry.get(key)
        if created_at is None:
            plan.refuse(row.where, "created_at is missing, and the payment has no entry")
            continue
        payment = Payment(
            merchant=plan.stored.merchants[row.merchant],
            order=order,
            account=row.account or "",
            processor_reference=row.reference,
            method_type=row.method_type or "card",
            method_fingerprint=row.method_fingerprint or "",
            method_last4=row.method_last4 or "",
            created_at=created_at,
            refreshed_at=plan.as_of,
        )
        plan.stored.payments[key] = payment
        plan.add("payments", payment)


def plan_entries(plan: Plan) -> None:
    """Add entries; of stored ones, only the status and how often they were seen may change."""
    for key, row in plan.rows.entries.items():
        payment = plan.stored.payments.get((row.merchant, row.account or "", row.payment))
        if payment is None:
            if (row.merchant, row.account or "", row.payment) not in plan.rows.payments:
                plan.refuse(row.where, f"payment {row.payment} is not known; load the payments first")
            continue
        known = plan.stored.entries.get(key)
        if known is not None:
            _settle_entry(plan, row, known, payment)
            continue
        entry = LedgerEntry(
            merchant=plan.stored.merchants[row.merchant],
            payment=payment,
            account=payment.account,
            processor_reference=row.reference,
            kind=row.kind,
            status=row.status,
            amount_minor_units=row.amount_minor_units,
            currency=row.currency,
            occurred_at=row.occurred_at,
            seen_count=row.seen_count,
        )
        plan.stored.entries[key] = entry
        plan.add("entries", entry)


def _settle_payment(plan: Plan, row: PaymentRow, known: Payment, order_id: int) -> None:
    if known.order_id != order_id:
        plan.refuse(row.where, f"payment {row.reference} belongs to another order")
        return
    for name in ("method_fingerprint", "method_last4"):
        stored, said = getattr(known, name), getattr(row, name)
        if stored and said and stored != said:
            plan.refuse(row.where, f"payment {row.reference} has another {name.replace('_', ' ')}")
            return
    plan.settle(
        "payments",
        known,
        {
            "method_type": row.method_type,
            "method_fingerprint": row.method_fingerprint,
            "method_last4": row.method_last4,
        },
    )


def confirm_payments(plan: Plan) -> None:
    """Note that the file still tells of these payments, unless what is held is younger. Comes after the entries."""
    for key in plan.rows.payments:
        payment = plan.stored.payments.get(key)
        if payment is not None and payment.pk is not None and payment.refreshed_at < plan.as_of:
            plan.confirmed.append(payment.pk)


def _settle_entry(plan: Plan, row: EntryRow, known: LedgerEntry, payment: Payment) -> None:
    facts = {
        "payment": (known.payment_id, payment.pk),
        "kind": (known.kind, row.kind),
        "amount": (known.amount_minor_units, row.amount_minor_units),
        "currency": (known.currency, row.currency),
    }
    differing = [name for name, (stored, said) in facts.items() if stored != said]
    if differing:
        plan.refuse(row.where, f"entry {row.reference} is held with another {' and '.join(differing)}")
        return
    status: EntryStatus | None = row.status
    stored_status = EntryStatus(known.status)
    is_step_back = row.status is not stored_status and _PROGRESS[row.status] <= _PROGRESS[stored_status]
    if is_step_back and plan.as_of <= payment.refreshed_at:
        plan.kept_statuses += 1
        status = None
    seen = max(known.seen_count, row.seen_count)
    plan.settle("entries", known, {"status": status, "seen_count": seen})


def _earliest_entries(plan: Plan) -> dict[PaymentKey, datetime]:
    found: dict[PaymentKey, datetime] = {}
    for entry in plan.rows.entries.values():
        key = (entry.merchant, entry.account or "", entry.payment)
        found[key] = min(found.get(key, entry.occurred_at), entry.occurred_at)
    return found
