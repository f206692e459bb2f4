"""The proposer that is used when no model is configured: the finding decides, in fixed words. Pure."""

import json
from typing import Final

from refunds.proposers.port import ProposalContext, Proposed
from refunds.proposers.schema import ParsedProposal, ProposalReason, ProposedAction

DETERMINISTIC: Final = "deterministic"
DETERMINISTIC_SNAPSHOT: Final = f"{DETERMINISTIC}/1"
_NO_PROMPT: Final = "none"
_DUPLICATE: Final = "VERIFIED_DUPLICATE_CHARGE"
_REFUND_MESSAGE: Final = "I verified the duplicate charge and can submit it for refund."
_PERSON_MESSAGE: Final = "I have asked a colleague to look at your request."


class DeterministicProposer:
    """Recommends a refund for a verified duplicate, and a person for everything else."""

    def propose(
        self, context: ProposalContext, *, deadline_seconds: float, repair_of: str | None = None
    ) -> Proposed:
        """Answer at once; the deadline and an earlier answer change nothing."""
        del deadline_seconds, repair_of
        return Proposed(
            raw_text=json.dumps(_proposal_for(context).as_document()),
            model_snapshot=DETERMINISTIC_SNAPSHOT,
            prompt_version=_NO_PROMPT,
            latency_ms=0,
            requests=0,
        )


def _proposal_for(context: ProposalContext) -> ParsedProposal:
    if context.finding == _DUPLICATE and ProposedAction.ISSUE_REFUND in context.allowed_actions:
        return ParsedProposal(
            recommended_action=ProposedAction.ISSUE_REFUND,
            reason_code=ProposalReason.VERIFIED_DUPLICATE_CHARGE,
            requires_human_review=False,
            customer_message=_REFUND_MESSAGE,
        )
    reason = context.finding.lower()
    return ParsedProposal(
        recommended_action=ProposedAction.ASK_PERSON,
        reason_code=ProposalReason(reason) if reason in frozenset(ProposalReason) else ProposalReason.OTHER,
        requires_human_review=True,
        customer_message=_PERSON_MESSAGE,
    )
