"""Stage 6. Ask the model to propose, not to execute.

Input: codes of established facts; the customer's words, the order's note and the policy's prose as data.
Output: a stored, untrusted proposal: an action, a reason and a draft; never an amount or a target.
Failure destination: no answer -> the next model, then the deterministic proposer; a malformed answer -> at most two
repairs of its form; anything else is kept as it is and judged by stage 7.
"""

import time
from dataclasses import dataclass

from django.conf import settings

from ledger.actors import Actor, ActorType
from ledger.models import ErasableText, text_sha256
from ledger.transitions import Why
from refunds.evidence.policy import policy_of
from refunds.models import CustomerMessage, Proposal, RefundWorkflow
from refunds.proposers.customer_text import prepare_customer_text
from refunds.proposers.port import (
    Declined,
    ProposalContext,
    ProposalResult,
    Proposed,
    Proposer,
    Unavailable,
)
from refunds.proposers.registry import get_proposers
from refunds.proposers.schema import (
    Malformed,
    MalformedReason,
    ParsedProposal,
    ProposedAction,
    parse_proposal,
)
from refunds.proposers.staff_form import STAFF, staff_form
from refunds.stages.s12_commit_evidence import Evidence
from refunds.states import Origin, WorkflowState

STAGE = "PROPOSE_ACTION"
MAX_REPAIRS = 2


@dataclass(frozen=True, slots=True)
class ProposalOutcome:
    """What came of asking: who answered, what it was worth, and how much asking it took."""

    proposer: str
    answer: Proposed | Declined
    parsed: ParsedProposal | Malformed
    requests: int
    unavailable: tuple[str, ...]


def ask_for_proposal(*, workflow: RefundWorkflow) -> ProposalOutcome:
    """Ask the configured proposers in order, within one deadline. Runs outside any transaction."""
    if workflow.origin == Origin.STAFF:
        return form_as_proposal(workflow=workflow)
    context = _context(workflow)
    ends_at = time.monotonic() + settings.ASSISTANT_DEADLINE_SECONDS
    unavailable: list[str] = []
    requests = 0
    for name, proposer in get_proposers():
        remaining = max(0.1, ends_at - time.monotonic())
        result, parsed, asked = _ask(proposer, context, remaining)
        requests += asked
        if not isinstance(result, Unavailable) and parsed is not None:
            return ProposalOutcome(name, result, parsed, requests, tuple(unavailable))
        if isinstance(result, Unavailable):
            unavailable.append(f"{name}:{result.kind}")
    raise RuntimeError("The last proposer needs no network and always answers.")


def form_as_proposal(*, workflow: RefundWorkflow) -> ProposalOutcome:
    """Return what a person asks for in place of a proposal: a refund that staff started, or a rebuilt command."""
    answer = staff_form(finding=workflow.finding)
    return ProposalOutcome(STAFF, answer, parse_proposal(answer.raw_text), 0, ())


def record_proposal(*, evidence: Evidence, outcome: ProposalOutcome) -> None:
    """Store the proposal, untrusted, and move to ACTION_PROPOSED."""
    workflow, answer, parsed = evidence.workflow, outcome.answer, outcome.parsed
    said = parsed if isinstance(parsed, ParsedProposal) else None
    defect = parsed.reason if isinstance(parsed, Malformed) else ""
    # What is no proposal is never shown; masked and cut, it stays for whoever looks into it. Its digest is whole.
    kept = answer.raw_text if said else prepare_customer_text(answer.raw_text) or ""
    draft = ErasableText.keep(kept, now=evidence.now)
    proposal = Proposal.objects.create(
        workflow_id=workflow.pk,
        command_number=workflow.command_number,
        proposer=outcome.proposer[:40],
        model_snapshot=answer.model_snapshot[:120],
        prompt_version=answer.prompt_version,
        prompt_sha256=answer.prompt_sha256,
        context_sha256=answer.context_sha256,
        request_sha256=answer.request_sha256,
        parameters=dict(answer.parameters),
        recommended_action=said.recommended_action if said else "",
        reason_code=said.reason_code if said else "",
        requires_human_review=said.requires_human_review if said else None,
        draft=draft,
        output_sha256=text_sha256(answer.raw_text),
        output_class=parsed.proposal_class,
        detail=str(defect),
        requests=outcome.requests,
        latency_ms=answer.latency_ms,
        at=evidence.now,
    )
    why = Why(
        actor=_proposed_by(workflow, outcome),
        stage=STAGE,
        reason="PROPOSED" if said else "NO_USABLE_PROPOSAL",
        policy_version=workflow.policy_version,
        evidence={
            "proposal": proposal.pk,
            "output_sha256": proposal.output_sha256,
            "output_class": proposal.output_class,
            "prompt_version": proposal.prompt_version,
            "prompt_sha256": proposal.prompt_sha256,
            "request_sha256": proposal.request_sha256,
            "unavailable": list(outcome.unavailable),
        },
    )
    evidence.proposal = proposal
    evidence.move_workflow(WorkflowState.ACTION_PROPOSED, why)


def _proposed_by(workflow: RefundWorkflow, outcome: ProposalOutcome) -> Actor:
    if outcome.proposer == STAFF:
        return Actor(ActorType.STAFF, workflow.maker_id)
    return Actor(ActorType.MODEL, outcome.answer.model_snapshot[:80] or outcome.proposer[:80])


def _context(workflow: RefundWorkflow) -> ProposalContext:
    """Return what may leave the process: codes, and three texts that are cleaned, masked and bounded."""
    said = CustomerMessage.objects.filter(workflow_id=workflow.pk)
    newest = said.select_related("text", "workflow__order").last()
    order = newest.workflow.order if newest else None
    guidance = policy_of(workflow.policy_id).guidance if workflow.policy_id is not None else ""
    return ProposalContext(
        finding=workflow.finding,
        reason_code=workflow.reason_code,
        problem=workflow.problem,
        policy_version=workflow.policy_version,
        allowed_actions=tuple(ProposedAction),
        customer_text=prepare_customer_text(newest.text.body) if newest else None,
        order_note=prepare_customer_text(order.note) if order else None,
        policy_text=prepare_customer_text(guidance),
    )


def _ask(
    proposer: Proposer, context: ProposalContext, seconds: float
) -> tuple[ProposalResult, ParsedProposal | Malformed | None, int]:
    """Ask one proposer, and ask again at most twice for the form of its answer only."""
    ends_at = time.monotonic() + seconds
    result = proposer.propose(context, deadline_seconds=seconds)
    requests = result.requests
    for _repair in range(MAX_REPAIRS):
        parsed = _parse(result)
        if not (isinstance(result, Proposed) and isinstance(parsed, Malformed) and parsed.repairable):
            return result, parsed, requests
        remaining = ends_at - time.monotonic()
        if remaining <= 0:
            return result, parsed, requests
        again = proposer.propose(context, deadline_seconds=remaining, repair_of=result.raw_text)
        requests += again.requests
        if isinstance(again, Unavailable):
            return result, parsed, requests
        result = again
    return result, _parse(result), requests


def _parse(result: ProposalResult) -> ParsedProposal | Malformed | None:
    if isinstance(result, Proposed):
        return parse_proposal(result.raw_text)
    if isinstance(result, Declined):
        return Malformed(repairable=False, reason=MalformedReason.DECLINED)
    return None
