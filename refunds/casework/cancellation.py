"""Two people give up an operation that nothing proves: one brings the provider's evidence, another confirms it.

The approval is about the operation (subject EVIDENCE) and bound to the operation as it stands and to the evidence.
Until the second person has confirmed, the amount stays reserved; nothing is ever sent from here.
"""

from datetime import datetime

from approvals.cases import drop_lease, is_held_by_another, lock_case
from approvals.models import ApprovalRequest, ReviewCase
from approvals.services import CommandToApprove, DecisionRefusedError, consume, request_approval, void, vote
from approvals.states import ApprovalState, SubjectKind
from ledger.actors import Actor
from ledger.intake import IntakeRefusedError, check_note
from ledger.transitions import Why, append_record
from refunds.casework.cancelling import VALID_FOR, command_about, evidence_counts_from, why_not_now
from refunds.casework.owned_case import (
    STAGE,
    CaseAction,
    OwnedCase,
    operation_of,
    owned_case,
    require_explained,
)
from refunds.casework.permission import may_work_for
from refunds.casework.provider_evidence import ProviderStatement, attach, attached, check_statement
from refunds.casework.refusals import CaseWorkRefusedError
from refunds.evidence.notes import keep_note
from refunds.models import RefundOperation
from refunds.stages.s12_commit_evidence import Evidence, evidence_transaction
from refunds.states import OperationState

PROPOSED, CONFIRMED, DECLINED = "PROPOSE_CANCELLATION", "CONFIRM_CANCELLATION", "DECLINE_CANCELLATION"
APPROVE, REJECT = "approve", "reject"


def propose_cancellation(
    action: CaseAction, *, operation_id: str, found: ProviderStatement, now: datetime
) -> str:
    """Put the giving up of an operation before a second person, with the evidence for it; return the approval's id.

    ``action.reason_code`` is what the proposer states about the operation. Raises ``CaseWorkRefusedError``.
    """
    with owned_case(action, now=now, operation_id=operation_of(action, operation_id)) as owned:
        operation = _locked_operation(owned.evidence)
        if code := why_not_now(operation, now=now):
            raise CaseWorkRefusedError(code)
        found = check_statement(found, from_when=evidence_counts_from(operation), now=now)
        why = owned.why(PROPOSED, action)
        number = _make_room(operation, why, now=now)
        approval = _ask(operation, found, owned, why, number=number)
        about = why.evidence | {"approval_id": approval.pk}
        append_record(operation, Why(why.actor, why.stage, why.reason, why.policy_version, about), now=now)
        drop_lease(owned.case)
        return approval.pk


def decide_cancellation(
    *,
    approval_id: str,
    decision: str,
    staff_user_id: int,
    fingerprint: str,
    reason_code: str,
    note: str,
    now: datetime,
) -> ApprovalRequest:
    """Record the second person's decision; with a yes the operation is CANCELLED and its amount free.

    ``fingerprint`` is what the person saw. Raises ``DecisionRefusedError``, or ``CaseWorkRefusedError`` with what is
    missing or speaks against giving the operation up by now; nothing was recorded then.
    """
    asked = ApprovalRequest.objects.filter(pk=approval_id, subject_kind=SubjectKind.EVIDENCE).first()
    if asked is None:
        raise DecisionRefusedError("NOT_PENDING")
    if not may_work_for(merchant_id=asked.merchant_id, staff_user_id=staff_user_id):
        raise DecisionRefusedError("NOT_ALLOWED")
    require_explained(reason_code=reason_code, note=note)
    operation = RefundOperation.objects.get(pk=asked.subject_id)
    with evidence_transaction(
        workflow_id=operation.workflow_id,
        operation_id=operation.pk,
        payment_ids=[operation.payment_id],
        now=now,
    ) as evidence:
        if evidence.workflow.customer.user_id == staff_user_id:
            raise DecisionRefusedError("OWN_REQUEST")
        actor = Actor.staff(staff_user_id)
        why = _why_decided(
            asked,
            actor,
            decision=decision,
            fingerprint=fingerprint,
            reason_code=reason_code,
            note=note,
            now=now,
        )
        approval = vote(
            approval_id=approval_id,
            approve=decision == APPROVE,
            fingerprint=fingerprint,
            voter_id=actor.id,
            why=why,
            now=now,
        )
        _free_case(evidence, actor, now)
        if approval.state == ApprovalState.GRANTED:
            _cancel(evidence, approval, why)
        else:
            append_record(_locked_operation(evidence), why, now=now)
    return approval


def is_stale(*, created_at: datetime, now: datetime) -> bool:
    """Tell whether a proposal waited for so long that its evidence must be gathered anew."""
    return now >= created_at + VALID_FOR


def _locked_operation(evidence: Evidence) -> RefundOperation:
    if evidence.operation is None:
        raise CaseWorkRefusedError("NO_SUCH_OPERATION")
    return evidence.operation


def _make_room(operation: RefundOperation, why: Why, *, now: datetime) -> int:
    """Return the number of the next proposal; one that still waits bars it, one that waited too long is voided."""
    earlier = list(
        ApprovalRequest.objects.filter(subject_kind=SubjectKind.EVIDENCE, subject_id=operation.pk).order_by(
            "command_number"
        )
    )
    for proposal in earlier:
        if proposal.state != ApprovalState.PENDING:
            continue
        if not is_stale(created_at=proposal.created_at, now=now):
            raise CaseWorkRefusedError("PROPOSAL_PENDING")
        void(approval_id=proposal.pk, why=why, now=now)
    return len(earlier) + 1


def _ask(
    operation: RefundOperation, found: ProviderStatement, owned: OwnedCase, why: Why, *, number: int
) -> ApprovalRequest:
    command = command_about(
        operation, statement=why.reason, evidence=[found.as_evidence()], proposal_number=number
    )
    approval = request_approval(
        CommandToApprove(
            merchant_id=operation.merchant_id,
            subject_kind=SubjectKind.EVIDENCE,
            subject_id=operation.pk,
            command=command.as_json(),
            command_number=number,
            request_fingerprint=command.fingerprint(),
            maker_id=owned.actor.id,
            policy_version=operation.policy_version,
            valid_for=VALID_FOR,
        ),
        approvals_needed=1,
        rule="",
        why=why,
        now=owned.evidence.now,
    )
    attach(approval, found, by=owned.actor, now=owned.evidence.now)
    return approval


def _why_decided(
    asked: ApprovalRequest,
    actor: Actor,
    *,
    decision: str,
    fingerprint: str,
    reason_code: str,
    note: str,
    now: datetime,
) -> Why:
    try:
        kept = keep_note(check_note(note), now=now)
    except IntakeRefusedError as refused:
        raise DecisionRefusedError(refused.code) from refused
    said = {
        "action": CONFIRMED if decision == APPROVE else DECLINED,
        "approval_id": asked.pk,
        "decision": decision,
        "request_fingerprint": fingerprint,
        **kept,
    }
    return Why(actor, STAGE, reason_code, asked.policy_version, said)


def _free_case(evidence: Evidence, actor: Actor, now: datetime) -> None:
    """Refuse while a colleague works on the case; whoever decided is done with it."""
    open_cases = ReviewCase.objects.filter(subject_id=evidence.workflow.pk, closed_at__isnull=True)
    for case_id in open_cases.order_by("pk").values_list("pk", flat=True):
        case = lock_case(case_id)
        if is_held_by_another(case, actor.id, now=now):
            raise DecisionRefusedError("CLAIMED_BY_ANOTHER")
        if case.claimed_by:
            drop_lease(case)


def _cancel(evidence: Evidence, approval: ApprovalRequest, why: Why) -> None:
    """Ask again everything that may have changed since the proposal, then give the operation up."""
    operation, now = _locked_operation(evidence), evidence.now
    if is_stale(created_at=approval.created_at, now=now):
        raise DecisionRefusedError("EXPIRED")
    if code := why_not_now(operation, now=now):
        raise CaseWorkRefusedError(code)
    as_it_stands = command_about(
        operation,
        statement=approval.command["statement"],
        evidence=attached(approval),
        proposal_number=approval.command_number,
    )
    if as_it_stands.fingerprint() != approval.request_fingerprint:
        raise DecisionRefusedError("FINGERPRINT_CHANGED")
    consume(approval, why, now=now)
    evidence.move_operation(OperationState.CANCELLED, why)
