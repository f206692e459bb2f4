"""Whether what was approved is still true: asked under the payments' locks by the stages that act on it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from approvals.models import ApprovalRequest
from approvals.states import ApprovalState
from ledger.duplicates import Finding, ReasonCode
from ledger.snapshot import EntryKind, EntryStatus, LedgerSnapshot
from refunds.evidence.books import Books
from refunds.evidence.finding import finding_for
from refunds.evidence.policy import ApplicablePolicy
from refunds.evidence.staff_finding import NOT_ENOUGH_REMAINING, returned_elsewhere, staff_finding
from refunds.models import RefundWorkflow
from refunds.states import Origin

STALE = "SNAPSHOT_STALE"  # nothing is known to have changed: the one answer that waits instead of voiding


@dataclass(frozen=True, slots=True)
class ApprovedTarget:
    """The part of an approved command that the ledger must still bear out; minor units."""

    payment_id: int
    amount_minor_units: int
    request_fingerprint: str
    operation_id: str | None = None  # an operation that asks leaves itself out of the sums


def what_changed(
    *,
    workflow: RefundWorkflow,
    approval: ApprovalRequest | None,
    expected: ApprovalState,
    target: ApprovedTarget,
    policy: ApplicablePolicy,
    books: Callable[[], Books],
    now: datetime,
) -> str | None:
    """Return the code of the first fact that no longer holds, or None while everything is as it was approved.

    ``books`` gives them as they are under the locks, and is only called if all else stands.
    """
    if approval is None or approval.state != expected:
        return "APPROVAL_NOT_STANDING"
    if approval.request_fingerprint != target.request_fingerprint:
        return "FINGERPRINT_CHANGED"
    if approval.expires_at is None or approval.expires_at <= now:
        return "APPROVAL_EXPIRED"
    if not policy.in_force(now):
        return "POLICY_NOT_IN_FORCE"
    return _ledger_changed(workflow, target, policy, books(), now)


def _ledger_changed(
    workflow: RefundWorkflow, target: ApprovedTarget, policy: ApplicablePolicy, books: Books, now: datetime
) -> str | None:
    order = books.snapshot.order
    if (order.merchant_id, order.customer_id) != (workflow.merchant_id, workflow.customer_id):
        return "ORDER_NOT_THEIRS"
    if workflow.origin == Origin.STAFF:
        return _staff_refund_changed(workflow, books.snapshot, target, policy, now)
    finding = finding_for(books=books, policy=policy, now=now, leaving_out_operation=target.operation_id)
    proven = (
        finding.finding is Finding.VERIFIED_DUPLICATE_CHARGE
        and finding.refund_payment_id == target.payment_id
        and finding.amount_minor_units == target.amount_minor_units
    )
    if finding.reason_code is ReasonCode.STALE_SNAPSHOT:
        return STALE
    if not proven:
        return f"FINDING_CHANGED:{finding.reason_code}"
    money = books.conservation_of(target.payment_id, leaving_out_operation=target.operation_id)
    return NOT_ENOUGH_REMAINING if money.remaining < target.amount_minor_units else None


def _staff_refund_changed(
    workflow: RefundWorkflow,
    snapshot: LedgerSnapshot,
    target: ApprovedTarget,
    policy: ApplicablePolicy,
    now: datetime,
) -> str | None:
    """What staff asked for needs no duplicate: the capture, the bank and what is left must bear it out.

    Money that went back through another charge since the evidence was read is looked at by people first: the
    refund of a duplicate and a staff refund of the charge that stays must not both pass unseen.
    """
    finding = staff_finding(
        snapshot=snapshot,
        payment_id=target.payment_id,
        amount_minor_units=target.amount_minor_units,
        policy=policy,
        now=now,
        leaving_out_operation=target.operation_id,
    )
    if finding.reason_code == ReasonCode.STALE_SNAPSHOT:
        return STALE
    if finding.finding is not Finding.STAFF_REQUESTED:
        return finding.reason_code
    seen = _returned_then(workflow.snapshot or {}, target.payment_id)
    return "RETURNED_ELSEWHERE" if returned_elsewhere(snapshot, target.payment_id) - seen else None


def _returned_then(stored: dict[str, Any], payment_id: int) -> frozenset[str]:
    """Return what ``returned_elsewhere`` gave when the evidence was read, from the stored snapshot."""
    return frozenset(
        entry["processor_reference"]
        for payment in stored.get("order", {}).get("payments", [])
        if payment["payment_id"] != payment_id
        for entry in payment["entries"]
        if entry["kind"] in {EntryKind.REFUND, EntryKind.REVERSAL}
        and entry["status"] in {EntryStatus.SUCCEEDED, EntryStatus.PENDING}
    )
