"""Stage 9. Create the durable financial operation.

Input: an approval that stands for the exact command.
Output: an operation row with an immutable fingerprint and a stable key; its amount is reserved by existing.
Failure destination: the facts are no longer those that were approved -> the approval is voided, the evidence is
read again, and a person must decide.
"""

from datetime import timedelta

from django.conf import settings

from approvals.models import ApprovalRequest
from approvals.services import consume, expire, void
from approvals.states import ApprovalState
from ledger.actors import Actor
from ledger.ids import new_id
from ledger.switches import GATEWAY_WRITES, is_on
from ledger.transitions import Why, create_with_event, lock_row
from refunds.evidence.instruction import NoVerifiedTargetError, build_instruction
from refunds.evidence.policy import ApplicablePolicy
from refunds.evidence.standing import STALE, ApprovedTarget, what_changed
from refunds.fingerprints import RefundInstruction, idempotency_key, request_fingerprint
from refunds.models import RefundOperation, RefundWorkflow
from refunds.stages.s12_commit_evidence import Evidence
from refunds.states import WorkflowState

STAGE = "CREATE_OPERATION"
WAIT = timedelta(seconds=30)
_ACTOR = Actor.system(f"stage:{STAGE}")


def create_operation(*, evidence: Evidence, policy: ApplicablePolicy) -> RefundOperation | None:
    """Turn the approved command into an operation.

    None when the approval had to be voided instead, or when the facts are too old to tell or nothing may be sent
    (by the kill switch, or because a charge is frozen): APPROVED then waits.
    The caller holds the locks of both payments, so that two workflows cannot both pass the checks here.
    """
    workflow = evidence.workflow
    instruction = build_instruction(workflow)
    approval = evidence.approval or _standing_approval(evidence)
    problem = what_changed(
        workflow=workflow,
        approval=approval,
        expected=ApprovalState.GRANTED,
        target=ApprovedTarget(
            payment_id=_target_payment(workflow),
            amount_minor_units=instruction.amount_minor_units,
            request_fingerprint=request_fingerprint(instruction),
        ),
        policy=policy,
        books=evidence.books,
        now=evidence.now,
    )
    if problem == STALE or (problem is None and (evidence.is_frozen or not is_on(GATEWAY_WRITES))):
        _wait(evidence)
        return None
    if problem is not None or approval is None:
        _void(evidence, approval, problem or "APPROVAL_NOT_STANDING", policy)
        return None
    operation = _new_operation(evidence, policy, approval, instruction)
    why = Why(
        actor=_ACTOR,
        stage=STAGE,
        reason="APPROVED_COMMAND",
        policy_version=policy.label,
        evidence={
            "approval_id": approval.pk,
            "refund_operation_id": operation.pk,
            "request_fingerprint": approval.request_fingerprint,
        },
    )
    create_with_event(operation, why, now=evidence.now)
    consume(approval, why, now=evidence.now)
    evidence.operation = operation
    evidence.move_workflow(WorkflowState.EXECUTING, why)
    return operation


def _wait(evidence: Evidence) -> None:
    """Look again later: nothing is reserved while nothing may be sent, so APPROVED can still be withdrawn."""
    workflow = evidence.workflow
    workflow.next_attempt_at, workflow.claimed_until = evidence.now + WAIT, None
    workflow.save(update_fields=["next_attempt_at", "claimed_until"])


def _new_operation(
    evidence: Evidence, policy: ApplicablePolicy, approval: ApprovalRequest, instruction: RefundInstruction
) -> RefundOperation:
    """Return the operation row, unsaved; its nudge may be lost, so scanners take over after one interval."""
    workflow, operation_id = evidence.workflow, new_id("rfop")
    return RefundOperation(
        id=operation_id,
        workflow_id=workflow.pk,
        approval_id=approval.pk,
        merchant_id=workflow.merchant_id,
        account=instruction.account,
        payment_id=_target_payment(workflow),
        payment_reference=instruction.payment,
        amount_minor_units=instruction.amount_minor_units,
        currency=instruction.currency,
        reason_code=instruction.reason,
        idempotency_key=idempotency_key(operation_id),
        request_fingerprint=approval.request_fingerprint,
        policy_version=policy.label,
        policy_id=policy.version_id,
        next_attempt_at=evidence.now,
        claimed_until=evidence.now + timedelta(seconds=settings.RECOVERY_INTERVAL_SECONDS),  # by its nudge
        created_at=evidence.now,
    )


def _target_payment(workflow: RefundWorkflow) -> int:
    if workflow.refund_payment_id is None:
        raise NoVerifiedTargetError(workflow.pk)
    return workflow.refund_payment_id


def _standing_approval(evidence: Evidence) -> ApprovalRequest | None:
    """Return the newest approval of this command, locked."""
    found = ApprovalRequest.objects.filter(
        subject_id=evidence.workflow.pk, command_number=evidence.workflow.command_number
    ).first()
    return lock_row(ApprovalRequest, found.pk) if found is not None else None


def _void(
    evidence: Evidence, approval: ApprovalRequest | None, problem: str, policy: ApplicablePolicy
) -> None:
    why = Why(actor=_ACTOR, stage=STAGE, reason=problem[:80], policy_version=policy.label)
    if approval is not None and problem == "APPROVAL_EXPIRED":
        expire(approval, why, now=evidence.now)
    elif approval is not None:
        void(approval_id=approval.pk, why=why, now=evidence.now)
    evidence.move_workflow(WorkflowState.EVIDENCE_PENDING, why)
