"""The draft of a model as the page of a request may show it: labelled, beside the catalogue, or not at all."""

from typing import Final

from refunds.evidence.policy import policy_of
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
    """Return what a model wrote about the request as it stands, or an empty text: at most one query."""
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
        private_texts=(workflow.order.note if workflow.order else "", _guidance(workflow)),
    )
    return "" if reasons_to_drop(parsed.customer_message, standing) else parsed.customer_message


def _guidance(workflow: RefundWorkflow) -> str:
    return policy_of(workflow.policy_id).guidance if workflow.policy_id is not None else ""
