"""The command of a workflow, the operation that carries it out, and what an operation's calls leave behind."""

from datetime import datetime, timedelta

from approvals.models import ApprovalRequest
from approvals.services import CommandToApprove, consume
from ledger.actors import Actor
from ledger.ids import new_id
from ledger.transitions import Why, create_with_event, lock_row
from refunds.evidence.instruction import build_instruction
from refunds.fingerprints import idempotency_key, request_fingerprint
from refunds.models import (
    GatewayAttempt,
    GatewayResponse,
    ReconciliationCheck,
    RefundOperation,
    RefundWorkflow,
)
from refunds.states import OperationState
from tests.factories.facts import NOW

WHY = Why(actor=Actor.system("test"), stage="TEST", reason="TEST")
ANSWERS = {
    OperationState.COMPLETED: ("ACCEPTED", "succeeded"),
    OperationState.PROVIDER_PENDING: ("PENDING", "pending"),
    OperationState.REJECTED: ("REFUSED", ""),
    OperationState.FAILED: ("FAILED", "failed"),
}


def command_to_approve(workflow: RefundWorkflow) -> CommandToApprove:
    instruction = build_instruction(workflow)
    return CommandToApprove(
        merchant_id=workflow.merchant_id,
        subject_id=workflow.pk,
        command=instruction.as_json(),
        command_number=workflow.command_number,
        request_fingerprint=request_fingerprint(instruction),
        maker_id=f"user:{workflow.customer.user_id}",
        policy_version=workflow.policy_version,
        valid_for=timedelta(hours=24),
    )


def create_operation(workflow: RefundWorkflow, now: datetime) -> None:
    instruction = build_instruction(workflow)
    approval = lock_row(ApprovalRequest, latest_approval(workflow).pk)
    operation_id = new_id("rfop")
    operation = RefundOperation(
        id=operation_id,
        workflow=workflow,
        approval_id=approval.pk,
        merchant=workflow.merchant,
        account=instruction.account,
        payment=workflow.refund_payment,
        payment_reference=instruction.payment,
        amount_minor_units=instruction.amount_minor_units,
        currency=instruction.currency,
        reason_code=instruction.reason,
        idempotency_key=idempotency_key(operation_id),
        request_fingerprint=approval.request_fingerprint,
        policy_version=workflow.policy_version,
        policy_id=workflow.policy_id,
        created_at=now,
    )
    create_with_event(operation, WHY, now=now)
    consume(approval, WHY, now=now)


def add_attempt(
    operation: RefundOperation, *, now: datetime = NOW, livemode: bool | None = None
) -> GatewayAttempt:
    """Return the operation's next attempt, without an answer; no mode is one from before it was kept."""
    return GatewayAttempt.objects.create(
        id=new_id("gwa"),
        operation=operation,
        number=operation.attempts.count() + 1,
        provider="stripe",
        api_version="2026-10-28.endive",
        account=operation.account,
        livemode=livemode,
        idempotency_key=operation.idempotency_key,
        request_fingerprint=operation.request_fingerprint,
        request_body_sha256="0" * 64,
        system_version="test",
        started_at=now,
    )


def add_check(
    operation: RefundOperation, *, verdict: str = "NOT_FOUND_YET", now: datetime = NOW
) -> ReconciliationCheck:
    """Return one more look at what really happened to the operation."""
    return ReconciliationCheck.objects.create(
        operation=operation,
        number=operation.checks.count() + 1,
        verdict=verdict,
        sources=[{"surface": "refunds.list", "complete": True, "found": 0}],
        explanation=["The complete list of refunds of this payment holds none of this operation."],
        at=now,
    )


def latest_approval(workflow: RefundWorkflow) -> ApprovalRequest:
    """Return the approval of the workflow's newest command."""
    return ApprovalRequest.objects.filter(subject_id=workflow.pk).latest("command_number")


def add_answer(operation: RefundOperation, to: OperationState, now: datetime) -> None:
    answer_class, provider_status = ANSWERS[to]
    GatewayResponse.objects.create(
        attempt=operation.attempts.latest("number"),
        answer_class=answer_class,
        http_status=400 if to is OperationState.REJECTED else 200,
        provider_status=provider_status,
        received_at=now,
    )
