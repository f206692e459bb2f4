"""State -> next stage: the only orchestrator, and the only place that decides which stages share a transaction.

Stages 3 to 5 share one, and 6 to 9 another, so that an automatic refund needs few commits: the request, its
evidence, the decision with its operation, and then the three beats of stage 10. Nothing here enqueues: functions
return nudges, and the scanners of ``refunds.recovery`` would find the same work without them.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta

from approvals.models import ApprovalRequest
from approvals.states import ApprovalState
from ledger.sources.port import SourceUnavailable
from refunds.evidence.policy import PolicyUnusable, policy_of
from refunds.gateways.contract import ProviderContract
from refunds.gateways.port import AnswerClass, Gateway
from refunds.models import RefundOperation, RefundWorkflow
from refunds.nudges import DELIVER, Nudge, advance, reconcile, submit
from refunds.stages.s01_authorize_request import SignedIn, authorize_request
from refunds.stages.s02_open_workflow import open_workflow
from refunds.stages.s03_retrieve_policy import retrieve_policy
from refunds.stages.s04_retrieve_payments import retrieve_payments
from refunds.stages.s05_establish_duplicate import establish_duplicate, refuse_without_policy
from refunds.stages.s06_propose_action import ask_for_proposal, record_proposal
from refunds.stages.s07_validate_proposal import validate_proposal
from refunds.stages.s08_obtain_approval import decide_approval, obtain_approval
from refunds.stages.s09_create_operation import create_operation
from refunds.stages.s10_submit_refund import submit_refund
from refunds.stages.s11_reconcile_outcome import lose_overdue_answer, reconcile_outcome
from refunds.stages.s12_commit_evidence import Evidence, evidence_transaction
from refunds.states import OperationState, WorkflowState

RESUME_AFTER = timedelta(seconds=30)
_W = WorkflowState


@dataclass(frozen=True, slots=True)
class Opened:
    """The answer to a request: its workflow, whether it is new, and what can go on."""

    workflow_id: str
    created: bool
    nudges: tuple[Nudge, ...]


def open_request(
    *,
    signed_in: SignedIn,
    order_number: str,
    message: str,
    problem: str,
    client_token: str,
    now: datetime,
) -> Opened:
    """Stages 1 and 2: authorise the order and open its workflow; raises ``OrderNotFoundError``."""
    request = authorize_request(signed_in=signed_in, order_number=order_number)
    opened = open_workflow(
        request=request, message=message, problem=problem, client_token=client_token, now=now
    )
    return Opened(opened.workflow_id, opened.created, (advance(opened.workflow_id),))


def advance_workflow(*, workflow_id: str, clock: Callable[[], datetime]) -> tuple[Nudge, ...]:
    """Take a workflow as far as it goes without the provider: evidence, proposal, decision, operation."""
    now = clock()
    workflow = RefundWorkflow.objects.get(pk=workflow_id)
    if workflow.state == _W.EVIDENCE_PENDING:
        _establish_evidence(workflow, now)
        workflow = RefundWorkflow.objects.get(pk=workflow_id)
    if workflow.state == _W.EVIDENCE_VERIFIED:
        outcome = ask_for_proposal(workflow=workflow)
        with _locked(workflow, clock) as evidence:
            if not _same_command(evidence, workflow):
                return (advance(workflow_id),)
            if evidence.workflow.state == _W.EVIDENCE_VERIFIED:
                record_proposal(evidence=evidence, outcome=outcome)
            _decide(evidence)
    elif workflow.state in _DECISIONS:
        with _locked(workflow, clock) as evidence:
            if not _same_command(evidence, workflow):
                return (advance(workflow_id),)
            _decide(evidence)
    executable = RefundOperation.objects.filter(workflow_id=workflow_id, state=OperationState.CREATED)
    nudges = tuple(submit(pk) for pk in executable.values_list("pk", flat=True))
    return nudges or (DELIVER,)


def decide(
    *,
    approval_id: str,
    decision: str,
    staff_user_id: int,
    fingerprint: str,
    reason_code: str,
    note: str,
    now: datetime,
) -> tuple[Nudge, ...]:
    """Record one person's decision (stage 8); raises ``DecisionRefusedError``."""
    approval: ApprovalRequest = decide_approval(
        approval_id=approval_id,
        decision=decision,
        staff_user_id=staff_user_id,
        fingerprint=fingerprint,
        reason_code=reason_code,
        note=note,
        now=now,
    )
    if approval.state == ApprovalState.GRANTED:
        return (advance(approval.subject_id),)
    return (DELIVER,) if approval.state == ApprovalState.REJECTED else ()


def submit_operation(
    *, operation_id: str, gateway: Gateway, clock: Callable[[], datetime]
) -> tuple[Nudge, ...]:
    """Stage 10 for one operation."""
    outcome = submit_refund(operation_id=operation_id, gateway=gateway, clock=clock)
    if outcome is AnswerClass.UNKNOWN:
        return (reconcile(operation_id),)
    return (DELIVER,)


def reconcile_operation(
    *, operation_id: str, gateway: Gateway, contract: ProviderContract, now: datetime
) -> tuple[Nudge, ...]:
    """Stage 11 for one operation: an overdue answer becomes unknown, and what is unknown is looked up."""
    lose_overdue_answer(operation_id=operation_id, now=now)
    reconcile_outcome(operation_id=operation_id, gateway=gateway, contract=contract, now=now)
    return (DELIVER,)


def _establish_evidence(workflow: RefundWorkflow, now: datetime) -> None:
    """Stages 3 to 5; a source that cannot be read leaves the request waiting for the scanner."""
    policy = retrieve_policy(workflow=workflow, at=now)
    snapshot = retrieve_payments(workflow=workflow, now=now)
    with evidence_transaction(workflow_id=workflow.pk, now=now) as evidence:
        if evidence.workflow.state != _W.EVIDENCE_PENDING:
            return
        if isinstance(policy, PolicyUnusable):
            refuse_without_policy(evidence=evidence, unusable=policy)
        elif isinstance(snapshot, SourceUnavailable):
            evidence.workflow.next_attempt_at = now + RESUME_AFTER
            evidence.workflow.save(update_fields=["next_attempt_at"])
        else:
            establish_duplicate(evidence=evidence, snapshot=snapshot, policy=policy)


def _decide(evidence: Evidence) -> None:
    """Stages 7 to 9, as far as the locked workflow goes in this transaction."""
    for state, step in _DECISIONS.items():
        if evidence.workflow.state == state:
            step(evidence)


def _validate(evidence: Evidence) -> None:
    validate_proposal(evidence=evidence, policy=policy_of(_policy_id(evidence)))


def _approve(evidence: Evidence) -> None:
    obtain_approval(evidence=evidence, policy=policy_of(_policy_id(evidence)))


def _create(evidence: Evidence) -> None:
    create_operation(evidence=evidence, policy=policy_of(_policy_id(evidence)))


_DECISIONS: dict[str, Callable[[Evidence], None]] = {
    _W.ACTION_PROPOSED: _validate,
    _W.PROPOSAL_VALIDATED: _approve,
    _W.APPROVED: _create,
}


def _policy_id(evidence: Evidence) -> int:
    if evidence.workflow.policy_id is None:
        raise RuntimeError(f"{evidence.workflow.pk} was decided without a policy")
    return evidence.workflow.policy_id


def _same_command(evidence: Evidence, read: RefundWorkflow) -> bool:
    """Tell whether the workflow is still about what was read unlocked: its proposal and its locked payments."""
    return evidence.workflow.command_number == read.command_number


def _locked(workflow: RefundWorkflow, clock: Callable[[], datetime]) -> AbstractContextManager[Evidence]:
    """Open the transaction of a decision: both captures' payments are locked before the workflow."""
    payments = [pk for pk in (workflow.refund_payment_id, workflow.kept_payment_id) if pk is not None]
    return evidence_transaction(workflow_id=workflow.pk, payment_ids=payments, now=clock(), clock=clock)
