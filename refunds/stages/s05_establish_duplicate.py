"""Stage 5. Establish whether a duplicate charge exists.

Input: the ledger snapshot, the policy's numbers, and the unresolved operations on these payments.
Output: VERIFIED_DUPLICATE_CHARGE, NO_DUPLICATE_FOUND or REQUIRES_INVESTIGATION, with the rows that prove it;
STAFF_REQUESTED where staff ask for a refund themselves: nothing is found then, and the capture is proven.
Failure destination: nothing due -> NO_REFUND_DUE; not proven either way -> people investigate.
"""

from dataclasses import replace

from ledger.actors import Actor
from ledger.duplicates import DuplicateFinding, Finding
from ledger.snapshot import LedgerSnapshot
from ledger.transitions import Why
from refunds.evidence.books import with_operations
from refunds.evidence.finding import finding_for
from refunds.evidence.instruction import NoVerifiedTargetError
from refunds.evidence.policy import ApplicablePolicy, PolicyUnusable
from refunds.evidence.staff_finding import StaffFinding, staff_finding
from refunds.gateways.registry import why_unsendable
from refunds.models import RefundWorkflow
from refunds.stages.s12_commit_evidence import Evidence
from refunds.states import Origin, WorkflowState

STAGE = "ESTABLISH_DUPLICATE"
_ACTOR = Actor.system("stage:ESTABLISH_DUPLICATE")


def establish_duplicate(
    *, evidence: Evidence, snapshot: LedgerSnapshot, policy: ApplicablePolicy
) -> DuplicateFinding | StaffFinding:
    """Record policy, snapshot and finding, and send the request where the finding leads."""
    finding = _finding(evidence, snapshot, policy)
    why = Why(
        actor=_ACTOR,
        stage=STAGE,
        reason=finding.reason_code,
        policy_version=policy.label,
        evidence={
            "finding": finding.finding,
            "ledger_rows": list(finding.evidence),
            "rule_version": finding.rule_version,
            "snapshot_sha256": snapshot.facts_sha256(),
            "source": snapshot.source,
            "taken_at": snapshot.taken_at.isoformat(),
        },
    )
    evidence.move_workflow(
        WorkflowState.EVIDENCE_VERIFIED, why, **_columns(snapshot, policy, finding, evidence)
    )
    if finding.finding is Finding.NO_DUPLICATE_FOUND:
        evidence.move_workflow(WorkflowState.NO_REFUND_DUE, why)
    elif finding.finding is Finding.REQUIRES_INVESTIGATION:
        evidence.move_workflow(WorkflowState.MANUAL_REVIEW, why)
    elif (unsendable := _why_unsendable(snapshot, finding)) is not None:
        # Found before anybody approves it: the provider could not be asked for this refund at all.
        evidence.move_workflow(WorkflowState.MANUAL_REVIEW, replace(why, reason=unsendable))
    return finding


def _finding(
    evidence: Evidence, snapshot: LedgerSnapshot, policy: ApplicablePolicy
) -> DuplicateFinding | StaffFinding:
    workflow = evidence.workflow
    if workflow.origin != Origin.STAFF:
        return finding_for(books=with_operations(snapshot), policy=policy, now=evidence.now)
    payment_id, amount = _asked_for(workflow)
    return staff_finding(
        snapshot=snapshot,
        payment_id=payment_id,
        amount_minor_units=amount,
        policy=policy,
        now=evidence.now,
    )


def _asked_for(workflow: RefundWorkflow) -> tuple[int, int]:
    if workflow.staff_payment_id is None or workflow.staff_amount_minor_units is None:
        raise RuntimeError(f"{workflow.pk} was started by staff without a charge or an amount")
    return workflow.staff_payment_id, workflow.staff_amount_minor_units


def _why_unsendable(snapshot: LedgerSnapshot, finding: DuplicateFinding | StaffFinding) -> str | None:
    (target,) = (p for p in snapshot.order.payments if p.payment_id == finding.refund_payment_id)
    if finding.amount_minor_units is None or finding.currency is None:
        raise NoVerifiedTargetError(target.processor_reference)
    return why_unsendable(
        account=target.account,
        payment_reference=target.processor_reference,
        amount_minor_units=finding.amount_minor_units,
        currency=finding.currency,
    )


def refuse_without_policy(*, evidence: Evidence, unusable: PolicyUnusable) -> None:
    """Hand the request to people: without exactly one policy version nothing may be decided."""
    why = Why(
        actor=Actor.system("stage:RETRIEVE_POLICY"),
        stage="RETRIEVE_POLICY",
        reason=unusable.reason_code,
        evidence={"candidates": list(unusable.candidates)},
    )
    evidence.move_workflow(WorkflowState.MANUAL_REVIEW, why)


def _columns(
    snapshot: LedgerSnapshot,
    policy: ApplicablePolicy,
    finding: DuplicateFinding | StaffFinding,
    evidence: Evidence,
) -> dict[str, object]:
    return {
        "policy_id": policy.version_id,
        "policy_version": policy.label,
        "snapshot": snapshot.as_json(),
        "snapshot_sha256": snapshot.facts_sha256(),
        "snapshot_taken_at": snapshot.taken_at,
        "finding": finding.finding,
        "reason_code": finding.reason_code,
        "finding_evidence": list(finding.evidence),
        "refund_payment_id": finding.refund_payment_id,
        "kept_payment_id": finding.kept_payment_id,
        "amount_minor_units": finding.amount_minor_units,
        "currency": finding.currency or "",
        "command_number": evidence.workflow.command_number + 1,
    }
