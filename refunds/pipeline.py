"""State -> next stage: the only orchestrator, and the only place that decides which stages share a transaction.

Stages 3 to 5 share one, and 6 to 9 another, so that an automatic refund needs few commits: the request, its
evidence, the decision with its operation, and then the three beats of stage 10. Nothing here enqueues: functions
return nudges, and the scanners of ``refunds.recovery`` would find the same work without them.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime

from approvals.models import ApprovalRequest
from approvals.states import ApprovalState
from ledger.sources.port import SourceUnavailable
from policies.rules import PolicyRules
from refunds.actions import contact, giving_order, provider_events, reading_message, withdrawal
from refunds.casework import cancellation, cancelling, claims, given_reference, resolve, staff_start
from refunds.casework.owned_case import CaseAction, find_case, owned_case
from refunds.casework.provider_evidence import ProviderStatement
from refunds.casework.refusals import CaseWorkRefusedError
from refunds.casework.staff_request import StaffRefundRequest, check_staff_request
from refunds.evidence.policy import PolicyUnusable, policy_of
from refunds.gateways.contract import ProviderContract
from refunds.gateways.port import AnswerClass, Gateway
from refunds.models import RefundOperation, RefundWorkflow, RefundWorkflowEvent
from refunds.nudges import DELIVER, Nudge, advance, reconcile, reconcile_named, reconcile_now, submit
from refunds.nudges import read_message as read_nudge
from refunds.stages.s01_authorize_request import SignedIn, authorize_request
from refunds.stages.s02_open_workflow import open_workflow
from refunds.stages.s03_retrieve_policy import retrieve_policy
from refunds.stages.s04_retrieve_payments import refresh_payments, retrieve_payments, wait_for_source
from refunds.stages.s05_establish_duplicate import establish_duplicate, refuse_without_policy
from refunds.stages.s06_propose_action import ask_for_proposal, form_as_proposal, record_proposal
from refunds.stages.s07_validate_proposal import validate_proposal
from refunds.stages.s08_obtain_approval import decide_approval, obtain_approval
from refunds.stages.s09_create_operation import create_operation
from refunds.stages.s10_submit_refund import submit_refund
from refunds.stages.s11_reconcile_outcome import lose_overdue_answer, reconcile_outcome
from refunds.stages.s12_commit_evidence import Evidence, evidence_transaction
from refunds.states import CheckCause, CheckVerdict, OperationState, WorkflowState

_W = WorkflowState


@dataclass(frozen=True, slots=True)
class Opened:
    """The answer to a request: its workflow, whether it is new, and what can go on.

    ``first_event`` is that of a customer's new request, with its workflow.
    """

    workflow_id: str
    created: bool
    nudges: tuple[Nudge, ...]
    first_event: RefundWorkflowEvent | None = None


def open_request(
    *,
    signed_in: SignedIn,
    order_number: str,
    message: str,
    problem: str,
    client_token: str,
    now: datetime,
) -> Opened:
    """Stages 1 and 2: authorise the order and open its workflow; an empty number waits for the customer.

    Raises ``OrderNotFoundError`` and ``MessageRefusedError``.
    """
    request = authorize_request(signed_in=signed_in, order_number=order_number)
    opened = open_workflow(
        request=request, message=message, problem=problem, client_token=client_token, now=now
    )
    nudge = read_nudge if request.order_id is None else advance
    return Opened(opened.workflow_id, opened.created, (nudge(opened.workflow_id),), opened.first_event)


def give_order(*, signed_in: SignedIn, workflow_id: str, order_number: str, now: datetime) -> Opened:
    """Name the order of a request that waits for it; the answer may be another request, open for that order.

    Raises ``RequestNotFoundError``, ``OrderNotFoundError`` and ``OrderRefusedError``.
    """
    answering = giving_order.give_order(
        signed_in=signed_in, workflow_id=workflow_id, order_number=order_number, now=now
    )
    return Opened(answering, created=False, nudges=(advance(answering),))


def withdraw_request(*, signed_in: SignedIn, workflow_id: str, now: datetime) -> tuple[Nudge, ...]:
    """Take an own request back; raises ``RequestNotFoundError`` and ``WithdrawRefusedError``."""
    withdrawal.withdraw_request(signed_in=signed_in, workflow_id=workflow_id, now=now)
    return ()


def add_message(*, signed_in: SignedIn, workflow_id: str, message: str, now: datetime) -> tuple[Nudge, ...]:
    """Keep more words about an own request; raises ``RequestNotFoundError`` and ``MessageRefusedError``."""
    waits = contact.add_message(signed_in=signed_in, workflow_id=workflow_id, message=message, now=now)
    return (read_nudge(workflow_id),) if waits else ()


def read_message(*, workflow_id: str, clock: Callable[[], datetime]) -> tuple[Nudge, ...]:
    """Have a model read what a customer wrote without naming an order: a suggestion that moves nothing."""
    reading_message.read_message(workflow_id=workflow_id, clock=clock)
    return ()


def ask_person(*, signed_in: SignedIn, workflow_id: str, now: datetime) -> tuple[Nudge, ...]:
    """Bring an own request before people; raises ``RequestNotFoundError`` and ``PersonRefusedError``."""
    contact.ask_person(signed_in=signed_in, workflow_id=workflow_id, now=now)
    return ()


def advance_workflow(*, workflow_id: str, clock: Callable[[], datetime]) -> tuple[Nudge, ...]:
    """Take a workflow as far as it goes without the provider: evidence, proposal, decision, operation."""
    now = clock()
    workflow = RefundWorkflow.objects.get(pk=workflow_id)
    if workflow.order_id is None:  # nothing can be established; only the customer's time may be over
        return (DELIVER,) if giving_order.close_unanswered(workflow_id=workflow_id, now=now) else ()
    if workflow.state == _W.EVIDENCE_PENDING:
        workflow = _establish_evidence(workflow, now)
    elif workflow.state == _W.APPROVED:
        refresh_payments(workflow=workflow, max_age=_rules(workflow).snapshot_max_age, now=now)
    if workflow.state == _W.EVIDENCE_VERIFIED or workflow.state in _DECISIONS:
        verified = workflow.state == _W.EVIDENCE_VERIFIED
        outcome = ask_for_proposal(workflow=workflow, now=now) if verified else None
        with _locked(workflow, clock) as evidence:
            if not _same_command(evidence, workflow):
                return (advance(workflow_id),)
            if outcome is not None and evidence.workflow.state == _W.EVIDENCE_VERIFIED:
                record_proposal(evidence=evidence, outcome=outcome)
            _decide(evidence)
        if evidence.operation is not None:  # created just now, and a workflow has one that stands
            return (submit(evidence.operation.pk),)
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


def start_staff_refund(*, asked: StaffRefundRequest, now: datetime) -> Opened:
    """Open a refund that staff ask for, in full or in part; raises ``StaffStartRefusedError``, before any row."""
    request = check_staff_request(asked)
    workflow = staff_start.new_staff_workflow(request, now=now)
    policy = retrieve_policy(workflow=workflow, at=now)
    workflow_id, created = staff_start.open_staff_workflow(request, workflow, policy, now=now)
    return Opened(workflow_id, created, (advance(workflow_id),))


def claim_case(*, action: CaseAction, now: datetime) -> int:
    """Lend a case to a member of staff; return the ticket they hold. Raises ``CaseWorkRefusedError``."""
    return claims.claim_case(action, now=now)


def release_case(*, action: CaseAction, now: datetime) -> None:
    """Give a case back; raises ``CaseWorkRefusedError``."""
    claims.release_case(action, now=now)


def read_evidence_again(*, action: CaseAction, now: datetime) -> tuple[Nudge, ...]:
    """Let a request that people own be read anew; raises ``CaseWorkRefusedError``."""
    return (advance(resolve.read_evidence_again(action, now=now)),)


def rebuild_command(*, action: CaseAction, now: datetime) -> None:
    """Make a command from facts alone and put it before others (stages 3 to 8, in one transaction).

    Raises ``CaseWorkRefusedError``; nothing was written then. The source is read before any lock is taken.
    """
    workflow = RefundWorkflow.objects.get(pk=find_case(action).subject_id)
    resolve.require_order(workflow)
    policy = retrieve_policy(workflow=workflow, at=now)
    if isinstance(policy, PolicyUnusable):
        raise CaseWorkRefusedError("POLICY_UNUSABLE")
    snapshot = retrieve_payments(workflow=workflow, now=now)
    if isinstance(snapshot, SourceUnavailable):
        raise CaseWorkRefusedError("SOURCE_UNAVAILABLE")
    payments = [payment.payment_id for payment in snapshot.order.payments]
    with owned_case(action, now=now, payment_ids=payments) as owned:
        evidence = owned.evidence
        resolve.begin_rebuild(owned, action)
        establish_duplicate(evidence=evidence, snapshot=snapshot, policy=policy)
        resolve.require_proven(evidence.workflow)
        record_proposal(evidence=evidence, outcome=form_as_proposal(workflow=evidence.workflow))
        validate_proposal(evidence=evidence, policy=policy)
        resolve.require_validated(evidence.workflow)
        obtain_approval(evidence=evidence, policy=policy)


def close_without_refund(*, action: CaseAction, outcome: str, now: datetime) -> tuple[Nudge, ...]:
    """Close a request that people own, as NO_REFUND_DUE or REJECTED; raises ``CaseWorkRefusedError``."""
    resolve.close_without_refund(action, outcome=outcome, now=now)
    return (DELIVER,)


def close_as_completed(*, action: CaseAction, now: datetime) -> tuple[Nudge, ...]:
    """Close a request that people own, whose refund stands, as COMPLETED; raises ``CaseWorkRefusedError``."""
    resolve.close_as_completed(action, now=now)
    return (DELIVER,)


def why_not_given_up(*, operation_id: str, now: datetime) -> str:
    """Return the code of what speaks against giving an operation up now, or an empty text; reads only."""
    return cancelling.why_not_now(RefundOperation.objects.get(pk=operation_id), now=now)


def propose_cancellation(
    *, action: CaseAction, operation_id: str, found: ProviderStatement, now: datetime
) -> str:
    """Put the giving up of an operation before a second person; raises ``CaseWorkRefusedError``."""
    return cancellation.propose_cancellation(action, operation_id=operation_id, found=found, now=now)


def decide_cancellation(
    *,
    approval_id: str,
    decision: str,
    staff_user_id: int,
    fingerprint: str,
    reason_code: str,
    note: str,
    now: datetime,
) -> tuple[Nudge, ...]:
    """Confirm or decline what a colleague proposed; raises ``DecisionRefusedError`` and ``CaseWorkRefusedError``."""
    cancellation.decide_cancellation(
        approval_id=approval_id,
        decision=decision,
        staff_user_id=staff_user_id,
        fingerprint=fingerprint,
        reason_code=reason_code,
        note=note,
        now=now,
    )
    return (DELIVER,)


def give_reference(
    *, action: CaseAction, operation_id: str, reference: str, now: datetime
) -> tuple[Nudge, ...]:
    """Have a refund looked up under the reference that a person gives; raises ``CaseWorkRefusedError``."""
    given_reference.give_reference(action, operation_id=operation_id, reference=reference, now=now)
    return (reconcile_named(operation_id, reference),)


def look_up_again(*, operation_id: str, staff_user_id: int, now: datetime) -> tuple[Nudge, ...]:
    """Have the provider asked about an operation in doubt now; raises ``CaseWorkRefusedError``."""
    resolve.wish_to_look_up(operation_id=operation_id, staff_user_id=staff_user_id, now=now)
    return (reconcile_now(operation_id),)


def submit_operation(
    *, operation_id: str, gateway: Gateway, clock: Callable[[], datetime]
) -> tuple[Nudge, ...]:
    """Stage 10 for one operation."""
    outcome = submit_refund(operation_id=operation_id, gateway=gateway, clock=clock)
    if outcome is AnswerClass.UNKNOWN:
        return (reconcile(operation_id),)
    return (DELIVER,)


def reconcile_operation(
    *,
    operation_id: str,
    gateway: Gateway,
    contract: ProviderContract,
    now: datetime,
    cause: CheckCause = CheckCause.SCHEDULED,
    seen_reference: str = "",
) -> tuple[Nudge, ...]:
    """Stage 11 for one operation: an overdue answer becomes unknown, and what is unknown is looked up."""
    lose_overdue_answer(operation_id=operation_id, now=now)
    verdict = reconcile_outcome(
        operation_id=operation_id,
        gateway=gateway,
        contract=contract,
        now=now,
        cause=cause,
        seen_reference=seen_reference,
    )
    return (submit(operation_id),) if verdict is CheckVerdict.CONFIRMED_ABSENT else (DELIVER,)


def apply_webhook(
    *, webhook_id: int, gateway: Gateway, contract: ProviderContract, livemode: bool, now: datetime
) -> tuple[Nudge, ...]:
    """Find out what a stored event means: it only says where to look, and the object says what is true.

    An event of the other mode, or about nothing of ours, is closed without effect. One whose look-up fails is tried
    again; one that comes before our own commit finds its operation by the id in its metadata.
    """
    provider_events.apply_event(
        webhook_id=webhook_id, gateway=gateway, contract=contract, livemode=livemode, now=now
    )
    return (DELIVER,)


def _establish_evidence(workflow: RefundWorkflow, now: datetime) -> RefundWorkflow:
    """Stages 3 to 5; a source that cannot be read leaves the request waiting, with a case about it.

    Return the workflow as it was left.
    """
    policy = retrieve_policy(workflow=workflow, at=now)
    snapshot = retrieve_payments(workflow=workflow, now=now)
    with evidence_transaction(workflow_id=workflow.pk, now=now) as evidence:
        if evidence.workflow.state != _W.EVIDENCE_PENDING:
            pass  # another worker was faster
        elif isinstance(policy, PolicyUnusable):
            refuse_without_policy(evidence=evidence, unusable=policy)
        elif isinstance(snapshot, SourceUnavailable):
            wait_for_source(evidence=evidence, unavailable=snapshot, policy=policy)
        else:
            establish_duplicate(evidence=evidence, snapshot=snapshot, policy=policy)
    return evidence.workflow


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
    return _recorded_policy(evidence.workflow)


def _rules(workflow: RefundWorkflow) -> PolicyRules:
    return policy_of(_recorded_policy(workflow)).rules


def _recorded_policy(workflow: RefundWorkflow) -> int:
    if workflow.policy_id is None:
        raise RuntimeError(f"{workflow.pk} was decided without a policy")
    return workflow.policy_id


def _same_command(evidence: Evidence, read: RefundWorkflow) -> bool:
    """Tell whether the workflow is still about what was read unlocked: its proposal and its locked payments."""
    return evidence.workflow.command_number == read.command_number


def _locked(workflow: RefundWorkflow, clock: Callable[[], datetime]) -> AbstractContextManager[Evidence]:
    """Open the transaction of a decision: both captures' payments are locked before the workflow."""
    payments = [pk for pk in (workflow.refund_payment_id, workflow.kept_payment_id) if pk is not None]
    return evidence_transaction(workflow_id=workflow.pk, payment_ids=payments, now=clock(), clock=clock)
