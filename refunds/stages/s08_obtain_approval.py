"""Stage 8. Obtain approval where required.

Input: a validated proposal and the command that trusted code built.
Output: an approval bound to the exact command: granted by a rule it cites, or by enough people, none of whom made it.
Failure destination: no automatic rule applies -> the review queue; a person says no -> REJECTED.
"""

from datetime import datetime

from django.db.models import Sum

from approvals.cases import drop_lease, is_held_by_another, lock_open_case
from approvals.models import ApprovalRequest
from approvals.services import CommandToApprove, DecisionRefusedError, grant_by_rule, request_approval, vote
from approvals.states import ApprovalState, CaseKind
from ledger.actors import Actor, ActorType
from ledger.intake import IntakeRefusedError, check_note
from ledger.models import StaffMembership
from ledger.transitions import Why
from refunds.evidence.instruction import build_instruction, order_id_of
from refunds.evidence.notes import keep_note
from refunds.evidence.policy import ApplicablePolicy
from refunds.fingerprints import request_fingerprint
from refunds.models import RefundWorkflow, RefundWorkflowEvent, RuleResult
from refunds.proposers.check_results import CheckOutcome
from refunds.stages.s12_commit_evidence import Evidence, evidence_transaction
from refunds.states import Origin, WorkflowState

STAGE = "OBTAIN_APPROVAL"
AUTO_LIMIT = "AUTO_LIMIT"
STAFF_REQUESTED, COMMAND_REBUILT = "STAFF_REQUESTED", "COMMAND_REBUILT"
_SAID_BY_THE_ORIGIN = ("APPROVAL_THRESHOLD", "PERSON_REQUIRED")
_NO_REFUND_CAME = (WorkflowState.REJECTED, WorkflowState.NO_REFUND_DUE, WorkflowState.WITHDRAWN)

__all__ = ["DecisionRefusedError", "decide_approval", "obtain_approval", "started_by"]


def obtain_approval(*, evidence: Evidence, policy: ApplicablePolicy) -> None:
    """Approve by rule if nothing asks for a person, else put the command in the review queue."""
    workflow = evidence.workflow
    instruction = build_instruction(workflow)
    wanted = CommandToApprove(
        merchant_id=workflow.merchant_id,
        subject_id=workflow.pk,
        command=dict(instruction.as_json()),
        command_number=workflow.command_number,
        request_fingerprint=request_fingerprint(instruction),
        maker_id=workflow.maker_id or f"user:{workflow.customer.user_id}",
        policy_version=policy.label,
        valid_for=policy.rules.approval_valid,
    )
    reasons = _reasons(workflow, _why_a_person(evidence))
    if reasons:
        _queue(evidence, policy, wanted, reasons)
    else:
        _grant_automatically(evidence, policy, wanted)


def _why_a_person(evidence: Evidence) -> tuple[str, ...]:
    """Return the checks of this command that ask for a person, in the order in which they ran."""
    results = evidence.rule_results
    if results is None:
        workflow = evidence.workflow
        of_command = {"workflow_id": workflow.pk, "command_number": workflow.command_number}
        results = tuple(RuleResult.objects.filter(**of_command).order_by("pk"))
    return tuple(str(row.rule) for row in results if row.outcome == CheckOutcome.NEEDS_PERSON)


def _reasons(workflow: RefundWorkflow, why_a_person: tuple[str, ...]) -> tuple[str, ...]:
    """Return why people must decide, the most telling first; a command that a person made always needs others."""
    checks = (*why_a_person, *(["PERSON_REQUIRED"] if workflow.person_required else []))
    if not workflow.maker_id:
        return checks
    made = STAFF_REQUESTED if workflow.origin == Origin.STAFF else COMMAND_REBUILT
    return (made, *(code for code in checks if code not in _SAID_BY_THE_ORIGIN))


def _grant_automatically(evidence: Evidence, policy: ApplicablePolicy, wanted: CommandToApprove) -> None:
    limit = policy.rules.auto_limit(wanted.command["currency"])
    why = Why(
        actor=Actor.system(f"rule:{AUTO_LIMIT}"),
        stage=STAGE,
        reason=AUTO_LIMIT,
        policy_version=policy.label,
        evidence={
            "limit_minor_units": limit,
            "amount_minor_units": wanted.command["amount_minor_units"],
            "currency": wanted.command["currency"],
            "request_fingerprint": wanted.request_fingerprint,
        },
    )
    approval = request_approval(wanted, approvals_needed=1, rule=AUTO_LIMIT, why=why, now=evidence.now)
    grant_by_rule(approval, why, now=evidence.now)
    evidence.approval = approval
    evidence.move_workflow(WorkflowState.APPROVED, _about(why, approval))


def _queue(
    evidence: Evidence, policy: ApplicablePolicy, wanted: CommandToApprove, reasons: tuple[str, ...]
) -> None:
    needed = policy.rules.approvals_needed(_amount_at_stake(evidence.workflow), wanted.command["currency"])
    why = Why(
        actor=Actor.system(f"stage:{STAGE}"),
        stage=STAGE,
        reason=reasons[0],
        policy_version=policy.label,
        evidence={
            "why_a_person": list(reasons),
            "approvals_needed": needed,
            "request_fingerprint": wanted.request_fingerprint,
        },
    )
    approval = request_approval(wanted, approvals_needed=needed, rule="", why=why, now=evidence.now)
    evidence.move_workflow(WorkflowState.REQUIRES_HUMAN_APPROVAL, _about(why, approval))


def _amount_at_stake(workflow: RefundWorkflow) -> int:
    """Return the amount that the two-person limit is held against, in minor units.

    For staff: all that they asked for of this order in this currency, so that two refunds just under the limit need
    as many people as one above it.
    """
    amount = workflow.amount_minor_units or 0
    if workflow.origin != Origin.STAFF:
        return amount
    others = RefundWorkflow.objects.filter(
        origin=Origin.STAFF, order_id=order_id_of(workflow), currency__in=["", workflow.currency]
    ).exclude(state__in=_NO_REFUND_CAME)
    asked = others.exclude(pk=workflow.pk).aggregate(total=Sum("staff_amount_minor_units"))
    return amount + (asked["total"] or 0)


def decide_approval(
    *,
    approval_id: str,
    decision: str,
    staff_user_id: int,
    fingerprint: str,
    reason_code: str,
    note: str,
    now: datetime,
) -> ApprovalRequest:
    """Record one person's decision on one exact command, and move the workflow with it.

    ``decision`` is ``approve`` or ``reject``; ``fingerprint`` is what the person saw. Raises
    ``DecisionRefusedError``, in which case nothing was recorded.
    """
    asked = ApprovalRequest.objects.get(pk=approval_id)
    _require_permission(asked, staff_user_id)
    note = _checked_note(note)
    with evidence_transaction(workflow_id=asked.subject_id, now=now) as evidence:
        workflow = evidence.workflow
        current = asked.command_number == workflow.command_number  # not one that a later command replaced
        if workflow.state != WorkflowState.REQUIRES_HUMAN_APPROVAL or not current:
            raise DecisionRefusedError("NOT_PENDING")
        actor = Actor.staff(staff_user_id)
        why = Why(
            actor=actor,
            stage=STAGE,
            reason=reason_code,
            policy_version=asked.policy_version,
            evidence={
                "decision": decision,
                "request_fingerprint": fingerprint,
                **keep_note(note, now=now),
            },
        )
        approval = vote(
            approval_id=approval_id,
            approve=decision == "approve",
            fingerprint=fingerprint,
            voter_id=actor.id,
            why=why,
            now=now,
        )
        _require_no_foreign_lease(workflow.pk, actor.id, now)
        if approval.state == ApprovalState.GRANTED:
            evidence.move_workflow(WorkflowState.APPROVED, _about(why, approval), next_attempt_at=now)
        elif approval.state == ApprovalState.REJECTED:
            evidence.move_workflow(WorkflowState.REJECTED, _about(why, approval))
    return approval


def _checked_note(note: str) -> str:
    try:
        return check_note(note)
    except IntakeRefusedError as refused:
        raise DecisionRefusedError(refused.code) from refused


def _require_permission(approval: ApprovalRequest, staff_user_id: int) -> None:
    """Staff decide for their own merchant, if they may approve, and never about a request of their own."""
    may = StaffMembership.objects.filter(
        merchant_id=approval.merchant_id, user_id=staff_user_id, can_approve=True, user__is_active=True
    ).exists()
    if not may:
        raise DecisionRefusedError("NOT_ALLOWED")
    about_themselves = RefundWorkflow.objects.filter(
        pk=approval.subject_id, customer__user_id=staff_user_id
    ).exists()
    if about_themselves or started_by(approval.subject_id, staff_user_id):
        raise DecisionRefusedError("OWN_REQUEST")


def started_by(workflow_id: str, staff_user_id: int) -> bool:
    """Tell whether this person opened the refund as staff: whoever rebuilds its command later, they never approve."""
    me = Actor.staff(staff_user_id)
    return RefundWorkflowEvent.objects.filter(
        workflow_id=workflow_id, state_sequence=1, actor_type=ActorType.STAFF, actor_id=me.id
    ).exists()


def _require_no_foreign_lease(workflow_id: str, who: str, now: datetime) -> None:
    """Refuse while somebody else works on the case; whoever voted is done with it, so that the next person may."""
    case = lock_open_case(subject_id=workflow_id, kind=CaseKind.APPROVAL)
    if case is None:
        return
    if is_held_by_another(case, who, now=now):
        raise DecisionRefusedError("CLAIMED_BY_ANOTHER")
    if case.claimed_by:
        drop_lease(case)


def _about(why: Why, approval: ApprovalRequest) -> Why:
    """Cite the approval in the workflow's own event."""
    return Why(
        why.actor, why.stage, why.reason, why.policy_version, why.evidence | {"approval_id": approval.pk}
    )
