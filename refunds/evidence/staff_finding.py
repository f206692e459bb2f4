"""Whether a refund that staff ask for is borne out by the ledger: the staff's counterpart of the duplicate rule.

Nothing is found here; a person of the merchant wants it. What must be proven is that the charge was captured, that
no bank holds or took it back, and that as much is still refundable.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ledger.findings import Finding
from ledger.snapshot import EntryKind, EntryStatus, EntryView, LedgerSnapshot, PaymentView
from refunds.evidence.policy import ApplicablePolicy
from refunds.evidence.remaining import conservation_of
from refunds.models import RefundOperation
from refunds.states import UNRESOLVED_OPERATION_STATES

STAFF_RULE_VERSION: Final = "staff-refund-1"
CAPTURE_PROVEN: Final = "CAPTURE_PROVEN"
STALE_SNAPSHOT: Final = "STALE_SNAPSHOT"
NOT_ENOUGH_REMAINING: Final = "NOT_ENOUGH_REMAINING"
_AT_THE_BANK: Final = {EntryStatus.OPEN: "DISPUTE_OPEN", EntryStatus.LOST: "DISPUTE_DECIDED"}


@dataclass(frozen=True, slots=True)
class StaffFinding:
    """STAFF_REQUESTED with the rows that prove the capture, or REQUIRES_INVESTIGATION with the code that says why.

    Shaped like ``DuplicateFinding``, so that stage 5 records both alike; no charge "stays", for none is double.
    """

    finding: Finding
    reason_code: str
    refund_payment_id: int | None = None
    amount_minor_units: int | None = None
    currency: str | None = None
    evidence: tuple[str, ...] = ()
    kept_payment_id: int | None = None
    rule_version: str = STAFF_RULE_VERSION


def staff_finding(
    *,
    snapshot: LedgerSnapshot,
    payment_id: int,
    amount_minor_units: int,
    policy: ApplicablePolicy,
    now: datetime,
    leaving_out_operation: str | None = None,
) -> StaffFinding:
    """Return what the rows say about refunding ``amount_minor_units`` of one charge.

    Callers that decide by it hold the payment's lock; an operation that asks about itself leaves itself out.
    """
    view = next((p for p in snapshot.order.payments if p.payment_id == payment_id), None)
    captures = _captures(view)
    rows = tuple(entry.processor_reference for entry in captures)
    if abs(now - snapshot.taken_at) > policy.rules.snapshot_max_age:
        return StaffFinding(Finding.REQUIRES_INVESTIGATION, STALE_SNAPSHOT, evidence=rows)
    problem = _why_not_ever(view) or _why_not_now(
        snapshot, payment_id, amount_minor_units, leaving_out_operation
    )
    if problem is not None:
        return StaffFinding(Finding.REQUIRES_INVESTIGATION, problem, evidence=rows)
    return StaffFinding(
        finding=Finding.STAFF_REQUESTED,
        reason_code=CAPTURE_PROVEN,
        refund_payment_id=payment_id,
        amount_minor_units=amount_minor_units,
        currency=captures[0].currency,
        evidence=rows,
    )


def why_no_staff_refund(
    snapshot: LedgerSnapshot, payment_id: int, amount_minor_units: int, currency: str
) -> str | None:
    """Return why staff cannot start this refund, or None; how fresh the rows are is asked once they are read anew."""
    view = next((p for p in snapshot.order.payments if p.payment_id == payment_id), None)
    problem = _why_not_ever(view)
    if problem is None and currency != _captures(view)[0].currency:
        problem = "CURRENCY_MISMATCH"
    return problem or _why_not_now(snapshot, payment_id, amount_minor_units, None)


def _why_not_ever(view: PaymentView | None) -> str | None:
    """Return why nothing of this charge may be refunded, whatever the amount, or None."""
    captures = _captures(view)
    if view is None or not captures:
        return "NO_COMPLETED_CAPTURE"
    if len({entry.currency for entry in view.entries}) > 1:
        return "CONFLICTING_ROWS"
    disputes = [_AT_THE_BANK.get(entry.status) for entry in view.of_kind(EntryKind.DISPUTE)]
    return next((code for code in disputes if code is not None), None)


def returned_elsewhere(snapshot: LedgerSnapshot, payment_id: int) -> frozenset[str]:
    """Return the references of money that went back through the order's other charges."""
    return frozenset(
        entry.processor_reference
        for payment in snapshot.order.payments
        if payment.payment_id != payment_id
        for entry in payment.entries
        if entry.kind in {EntryKind.REFUND, EntryKind.REVERSAL}
        and entry.status in {EntryStatus.SUCCEEDED, EntryStatus.PENDING}
    )


def _captures(view: PaymentView | None) -> tuple[EntryView, ...]:
    if view is None:
        return ()
    return tuple(e for e in view.of_kind(EntryKind.CAPTURE) if e.status is EntryStatus.SUCCEEDED)


def _why_not_now(
    snapshot: LedgerSnapshot, payment_id: int, amount_minor_units: int, leaving_out: str | None
) -> str | None:
    others = [p.payment_id for p in snapshot.order.payments if p.payment_id != payment_id]
    duplicate = RefundOperation.objects.filter(
        payment_id__in=others,
        workflow__kept_payment_id=payment_id,  # this charge is the one that a duplicate's refund leaves in place
        state__in=UNRESOLVED_OPERATION_STATES,
    )
    if duplicate.exists():
        return "OPEN_OPERATION"
    remaining = conservation_of(payment_id, leaving_out_operation=leaving_out).remaining
    return NOT_ENOUGH_REMAINING if remaining < amount_minor_units else None
