"""Builders of ledger views: the defaults are one order whose second charge is a verified duplicate."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from ledger.duplicates import DuplicateFinding, Finding, ReasonCode, find_duplicate
from ledger.snapshot import EntryKind, EntryStatus, EntryView, OrderView, PaymentView, SiblingOrderView

NOW = datetime(2026, 11, 28, 10, 0, tzinfo=UTC)
FIRST = NOW - timedelta(days=2)
SECOND = FIRST + timedelta(seconds=40)
NO_DUPLICATE = Finding.NO_DUPLICATE_FOUND
INVESTIGATE = Finding.REQUIRES_INVESTIGATION
HOLD, REFUND, REVERSAL, DISPUTE = (
    EntryKind.AUTHORISATION,
    EntryKind.REFUND,
    EntryKind.REVERSAL,
    EntryKind.DISPUTE,
)


def entry(
    reference,
    amount=4999,
    *,
    kind=EntryKind.CAPTURE,
    status=EntryStatus.SUCCEEDED,
    currency="USD",
    at=FIRST,
    seen=1,
) -> EntryView:
    return EntryView(
        kind=kind,
        processor_reference=reference,
        amount_minor_units=amount,
        currency=currency,
        status=status,
        occurred_at=at,
        seen_count=seen,
    )


def payment(payment_id, *entries, reference=None, fingerprint="fp_A", last4="4242", **over) -> PaymentView:
    values = {
        "payment_id": payment_id,
        "processor_reference": reference or entries[0].processor_reference,
        "account": "",
        "method_type": "card",
        "method_fingerprint": fingerprint,
        "method_last4": last4,
        "created_at": entries[0].occurred_at if entries else FIRST,
        "entries": entries,
    }
    return PaymentView(**(values | over))


def charge(payment_id, reference, amount=4999, *, at=FIRST, currency="USD", also=(), **over) -> PaymentView:
    return payment(payment_id, entry(reference, amount, at=at, currency=currency), *also, **over)


def order(*payments, total=4999, currency="USD", siblings=()) -> OrderView:
    return OrderView(
        order_id=1,
        number="2841",
        merchant_id=1,
        customer_id=1,
        status="PLACED",
        total_minor_units=total,
        currency=currency,
        placed_at=FIRST,
        payments=payments,
        siblings=siblings,
    )


def sibling(number, *captures) -> SiblingOrderView:
    return SiblingOrderView(number=number, placed_at=FIRST, captures=captures)


def duplicate_order(**over) -> OrderView:
    return replace(order(charge(11, "ch_A1"), charge(12, "ch_A2", at=SECOND)), **over)


def find(view, **over) -> DuplicateFinding:
    values = {
        "taken_at": NOW - timedelta(minutes=1),
        "now": NOW,
        "max_snapshot_age": timedelta(minutes=15),
        "window": timedelta(hours=72),
        "open_operation_payment_ids": frozenset(),
    }
    return find_duplicate(order=view, **(values | over))


def outcome(found: DuplicateFinding) -> tuple[Finding, ReasonCode, tuple[str, ...]]:
    """Return what a finding says that is not verified: it must then name no payment and no amount."""
    nothing = (found.refund_payment_id, found.kept_payment_id, found.refund_reference, found.kept_reference)
    assert nothing == (None, None, None, None)
    assert (found.amount_minor_units, found.currency) == (None, None)
    return found.finding, found.reason_code, found.evidence
