"""Whether what was approved is still true: asked under the payments' locks by the stages that act on it."""

from dataclasses import dataclass
from datetime import datetime

from approvals.models import ApprovalRequest
from approvals.states import ApprovalState
from ledger.duplicates import Finding, ReasonCode
from ledger.sources.port import SourceUnavailable
from refunds.evidence.finding import finding_for
from refunds.evidence.policy import ApplicablePolicy
from refunds.evidence.remaining import conservation_of
from refunds.evidence.source import local_source
from refunds.models import RefundWorkflow

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
    now: datetime,
) -> str | None:
    """Return the code of the first fact that no longer holds, or None while everything is as it was approved."""
    if approval is None or approval.state != expected:
        return "APPROVAL_NOT_STANDING"
    if approval.request_fingerprint != target.request_fingerprint:
        return "FINGERPRINT_CHANGED"
    if approval.expires_at is None or approval.expires_at <= now:
        return "APPROVAL_EXPIRED"
    if not policy.in_force(now):
        return "POLICY_NOT_IN_FORCE"
    return _ledger_changed(workflow, target, policy, now)


def _ledger_changed(
    workflow: RefundWorkflow, target: ApprovedTarget, policy: ApplicablePolicy, now: datetime
) -> str | None:
    snapshot = local_source().read_order(
        merchant_id=workflow.merchant_id,
        customer_id=workflow.customer_id,
        order_id=workflow.order_id,
        now=now,
    )
    if isinstance(snapshot, SourceUnavailable):
        return STALE
    finding = finding_for(
        snapshot=snapshot, policy=policy, now=now, leaving_out_operation=target.operation_id
    )
    proven = (
        finding.finding is Finding.VERIFIED_DUPLICATE_CHARGE
        and finding.refund_payment_id == target.payment_id
        and finding.amount_minor_units == target.amount_minor_units
    )
    if finding.reason_code is ReasonCode.STALE_SNAPSHOT:
        return STALE
    if not proven:
        return f"FINDING_CHANGED:{finding.reason_code}"
    remaining = conservation_of(target.payment_id, leaving_out_operation=target.operation_id).remaining
    return "NOT_ENOUGH_REMAINING" if remaining < target.amount_minor_units else None
