"""Stage 7. Validate the proposal by seven independent checks, each of which leaves a row.

Input: the stored proposal, and facts from authoritative rows.
Output: PROPOSAL_VALIDATED with seven results; a threshold that is exceeded asks for a person and rejects nothing.
Failure destination: malformed, inconsistent or unauthorised -> PROPOSAL_REJECTED, and people take over. Human
approval cannot legitimise it: a command would be rebuilt from facts first.
"""

from ledger.actors import Actor
from ledger.transitions import Why
from refunds.evidence.books import Books
from refunds.evidence.policy import ApplicablePolicy
from refunds.models import Proposal, RefundWorkflow, RuleResult
from refunds.proposers.check_results import CheckResult, ValidationFacts
from refunds.proposers.port import DeclinedKind
from refunds.proposers.schema import (
    Malformed,
    MalformedReason,
    ParsedProposal,
    ProposedAction,
    parse_proposal,
)
from refunds.proposers.strict_json import Defect
from refunds.proposers.validation import Verdict, overall, run_checks
from refunds.stages.s12_commit_evidence import Evidence
from refunds.states import OperationState, Origin, WorkflowState

STAGE = "VALIDATE_PROPOSAL"
GUARDRAIL = "guardrail_v1"


def validate_proposal(*, evidence: Evidence, policy: ApplicablePolicy) -> None:
    """Run the seven checks on the stored proposal, keep each result, and move the workflow."""
    workflow = evidence.workflow
    proposal = evidence.proposal or _stored_proposal(workflow)
    results = run_checks(_facts(workflow, proposal, policy, evidence))
    _keep(evidence, policy, results)
    verdict = overall(results)
    failed = [str(result.rule) for result in results if result.result == "FAIL"]
    why = Why(
        actor=Actor.system(GUARDRAIL),
        stage=STAGE,
        reason=failed[0] if failed else str(verdict),
        policy_version=policy.label,
        evidence={"results": {str(result.rule): str(result.result) for result in results}},
    )
    if verdict is Verdict.VALIDATED:
        evidence.move_workflow(WorkflowState.PROPOSAL_VALIDATED, why)
        return
    evidence.move_workflow(WorkflowState.PROPOSAL_REJECTED, why)
    evidence.move_workflow(WorkflowState.MANUAL_REVIEW, why)


def _keep(evidence: Evidence, policy: ApplicablePolicy, results: tuple[CheckResult, ...]) -> None:
    rows = [
        RuleResult(
            workflow_id=evidence.workflow.pk,
            command_number=evidence.workflow.command_number,
            rule=result.rule,
            rule_version=result.rule_version,
            result=result.result,
            outcome=result.outcome,
            inputs=result.inputs,
            policy_version=policy.label,
            at=evidence.now,
        )
        for result in results
    ]
    evidence.rule_results = tuple(RuleResult.objects.bulk_create(rows))


def _stored_proposal(workflow: RefundWorkflow) -> Proposal:
    of_command = {"workflow_id": workflow.pk, "command_number": workflow.command_number}
    proposal: Proposal = Proposal.objects.select_related("draft").get(**of_command)
    return proposal


def _facts(
    workflow: RefundWorkflow, proposal: Proposal, policy: ApplicablePolicy, evidence: Evidence
) -> ValidationFacts:
    books, target = evidence.books(), workflow.refund_payment_id
    order = books.snapshot.order
    money = books.conservation_of(target) if target else None
    return ValidationFacts(
        proposal=_parsed(proposal),
        allowed_actions=tuple(ProposedAction),
        customer_id=str(workflow.customer_id),
        order_customer_id=str(order.customer_id),
        merchant_id=str(workflow.merchant_id),
        order_merchant_id=str(order.merchant_id),
        finding=workflow.finding,
        policy_allows_refund=policy.in_force(evidence.now),
        age_days=policy.rules.age_in_days(order.placed_at, evidence.now),
        max_age_days=policy.rules.max_age_days,
        command_amount_minor_units=workflow.amount_minor_units,
        command_currency=workflow.currency or None,
        captured_minor_units=money.captured if money else 0,
        ledger_currency=books.capture_currency(target) if target else "",  # and not that of the command
        refundable_minor_units=money.remaining if money else 0,
        auto_limit_minor_units=policy.rules.auto_limit(workflow.currency),
        person_required=(
            workflow.person_required
            or _model_was_replaced(proposal, policy)
            or _refund_failed_before(workflow, books)
        ),
        allowed_references=(order.number, workflow.reference),
        partial_allowed=workflow.origin == Origin.STAFF,
    )


def _parsed(proposal: Proposal) -> ParsedProposal | Malformed:
    """Return the stored output as stage 6 classed it; the words themselves may have been erased since."""
    if proposal.output_class != "VALID":
        reason = MalformedReason.DECLINED if proposal.detail in set(DeclinedKind) else proposal.detail
        known = reason in set(MalformedReason)
        return Malformed(repairable=False, reason=MalformedReason(reason) if known else Defect(reason))
    if proposal.draft is None or proposal.draft.erased_at is not None:
        return Malformed(repairable=False, reason=MalformedReason.EMPTY_MESSAGE)
    return parse_proposal(proposal.draft.body)


def _model_was_replaced(proposal: Proposal, policy: ApplicablePolicy) -> bool:
    """The policy says whether a case may go on alone when no configured model proposed it."""
    return proposal.proposer == "deterministic" and not policy.rules.automatic_without_model


def _refund_failed_before(workflow: RefundWorkflow, books: Books) -> bool:
    """Money that the provider took back once is never sent again without a person."""
    payments = (workflow.refund_payment_id, workflow.kept_payment_id)
    return any(books.has_operation(pk, OperationState.FAILED) for pk in payments if pk is not None)
