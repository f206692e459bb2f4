"""The draft of a model as the page of a request may show it: labelled, beside the catalogue, or not at all."""

from typing import Final

from policies.knowledge import words_of
from refunds.evidence.house_words import given_words, guidance_of
from refunds.models import Proposal, RefundWorkflow
from refunds.proposers.deterministic import DETERMINISTIC
from refunds.proposers.schema import ParsedProposal, parse_proposal
from refunds.proposers.showing import Standing, reasons_to_drop
from refunds.proposers.staff_form import STAFF
from refunds.states import WorkflowState

# While a decision is awaited. Once money moves, the catalogue alone speaks.
_SHOWN_IN: Final = frozenset({WorkflowState.REQUIRES_HUMAN_APPROVAL, WorkflowState.APPROVED})
_NO_MODEL: Final = (DETERMINISTIC, STAFF)


def draft_for(workflow: RefundWorkflow) -> str:
    """Return what a model wrote about the request as it stands, or an empty text: at most two queries."""
    if workflow.state not in _SHOWN_IN:
        return ""
    proposal = (
        Proposal.objects.filter(workflow_id=workflow.pk, command_number=workflow.command_number)
        .exclude(proposer__in=_NO_MODEL)
        .select_related("draft")
        .first()
    )
    if proposal is None or proposal.draft is None or proposal.draft.erased_at is not None:
        return ""
    parsed = parse_proposal(proposal.draft.body)
    if not isinstance(parsed, ParsedProposal):
        return ""
    standing = Standing(
        duplicate_verified=workflow.finding == "VERIFIED_DUPLICATE_CHARGE",
        approved=workflow.state == WorkflowState.APPROVED,
        with_people=workflow.state == WorkflowState.REQUIRES_HUMAN_APPROVAL,
        references=(workflow.order.number if workflow.order else "", workflow.reference),
        private_texts=(
            workflow.order.note if workflow.order else "",
            guidance_of(workflow),
            *given_words(proposal.documents),
        ),
        plain_words=_plain_words(workflow),
    )
    return "" if reasons_to_drop(parsed.customer_message, standing) else parsed.customer_message


def _plain_words(workflow: RefundWorkflow) -> frozenset[str]:
    """Return the words by which house texts are found: every passage has them, and the customer's page says them."""
    found = " ".join(words_of((workflow.finding, workflow.reason_code, workflow.problem))).split()
    return frozenset(form for word in found for form in (word, f"{word}s", f"{word}d"))
