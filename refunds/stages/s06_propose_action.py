"""Stage 6. Ask the model to propose, not to execute.

Input: codes of established facts; the customer's words, the order's note, the policy's prose and what approved house
texts say of these codes, as data.
Output: a stored, untrusted proposal: an action, a reason and a draft; never an amount or a target.
Failure destination: no answer, no qualification or an open breaker -> the next model, then the deterministic
proposer; a malformed answer -> at most two repairs of its form; anything else is kept as it is and judged by stage 7.
"""

import json
from dataclasses import replace
from datetime import datetime

from django.conf import settings

from ledger.actors import Actor, ActorType
from ledger.models import ErasableText
from ledger.redaction import mask
from ledger.transitions import Why
from refunds.evidence.asked import asked_columns
from refunds.evidence.house_words import HouseWords, words_about
from refunds.models import CustomerMessage, Proposal, RefundWorkflow
from refunds.proposers.asking import ProposalOutcome, ask_in_order
from refunds.proposers.customer_text import MASK, prepare_customer_text
from refunds.proposers.deterministic import DETERMINISTIC
from refunds.proposers.guardrails import NOT_KEPT, find_unsafe_language
from refunds.proposers.port import ProposalContext
from refunds.proposers.registry import get_proposers
from refunds.proposers.schema import ParsedProposal, ProposedAction, parse_proposal
from refunds.proposers.staff_form import STAFF, staff_form
from refunds.selectors.model_qualifications import get_admission
from refunds.stages.s12_commit_evidence import Evidence
from refunds.states import Origin, WorkflowState

STAGE = "PROPOSE_ACTION"


def ask_for_proposal(*, workflow: RefundWorkflow, now: datetime) -> ProposalOutcome:
    """Ask the configured proposers in order, within one deadline. Runs outside any transaction."""
    if workflow.origin == Origin.STAFF:
        return form_as_proposal(workflow=workflow)
    line = get_proposers()
    words = words_about(workflow, search=any(name != DETERMINISTIC for name, _ in line))
    outcome = ask_in_order(
        line,
        _context(workflow, words),
        deadline_seconds=settings.ASSISTANT_DEADLINE_SECONDS,
        admission=get_admission(line, now=now, asked_for=str(workflow.customer_id)),
    )
    if outcome.proposer == DETERMINISTIC:  # it reads no words
        return outcome
    return replace(outcome, documents=tuple(passage.as_evidence() for passage in words.given))


def form_as_proposal(*, workflow: RefundWorkflow) -> ProposalOutcome:
    """Return what a person asks for in place of a proposal: a refund that staff started, or a rebuilt command."""
    answer = staff_form(finding=workflow.finding)
    return ProposalOutcome(STAFF, answer, parse_proposal(answer.raw_text), 0, ())


def record_proposal(*, evidence: Evidence, outcome: ProposalOutcome) -> None:
    """Store the proposal, untrusted, and move to ACTION_PROPOSED."""
    workflow, answer, parsed = evidence.workflow, outcome.answer, outcome.parsed
    said = parsed if isinstance(parsed, ParsedProposal) else None
    draft = ErasableText.keep(_kept(workflow, answer.raw_text, said), now=evidence.now)
    proposal = Proposal.objects.create(
        workflow_id=workflow.pk,
        command_number=workflow.command_number,
        proposer=outcome.proposer[:40],
        recommended_action=said.recommended_action if said else "",
        reason_code=said.reason_code if said else "",
        requires_human_review=said.requires_human_review if said else None,
        draft=draft,
        output_class=parsed.proposal_class,
        detail=outcome.defect,
        requests=outcome.requests,
        documents=list(outcome.documents),
        at=evidence.now,
        **asked_columns(answer),
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
            "documents": list(outcome.documents),
        },
    )
    evidence.proposal = proposal
    evidence.move_workflow(WorkflowState.ACTION_PROPOSED, why)


def _kept(workflow: RefundWorkflow, output: str, said: ParsedProposal | None) -> str:
    """Return the output as it may be stored; its digest is of all of it.

    What is no proposal is never shown; masked and cut, it stays for whoever looks into it. A proposal stays whole,
    but for sensitive data in its draft: stage 7 refuses the mask as it would have refused the data.
    """
    if said is None:
        return prepare_customer_text(output) or ""
    references = (workflow.order.number if workflow.order else "", workflow.reference)
    unsafe = find_unsafe_language(said.customer_message, allowed_references=references)
    if NOT_KEPT.isdisjoint(unsafe):
        return output
    masked = mask(said.customer_message, lambda _kind: MASK)
    return json.dumps(replace(said, customer_message=masked).as_document())


def _proposed_by(workflow: RefundWorkflow, outcome: ProposalOutcome) -> Actor:
    if outcome.proposer == STAFF:
        return Actor(ActorType.STAFF, workflow.maker_id)
    return Actor(ActorType.MODEL, outcome.answer.model_snapshot[:80] or outcome.proposer[:80])


def _context(workflow: RefundWorkflow, words: HouseWords) -> ProposalContext:
    """Return what may leave the process: codes, and three texts that are cleaned, masked and bounded."""
    said = CustomerMessage.objects.filter(workflow_id=workflow.pk)
    newest = said.select_related("text", "workflow__order").last()
    order = newest.workflow.order if newest else None
    return ProposalContext(
        finding=workflow.finding,
        reason_code=workflow.reason_code,
        problem=workflow.problem,
        policy_version=workflow.policy_version,
        allowed_actions=tuple(ProposedAction),
        customer_text=prepare_customer_text(newest.text.body) if newest else None,
        order_note=prepare_customer_text(order.note) if order else None,
        policy_text=words.text,
    )
