"""What a person of the merchant asks for, put where a proposal stands: no model is asked. Pure.

The form goes through the same seven checks as any proposal, and like any proposal it holds no amount and no target.
"""

import json
from typing import Final

from refunds.proposers.port import Proposed
from refunds.proposers.schema import ParsedProposal, ProposalReason, ProposedAction

STAFF: Final = "staff"
_NO_PROMPT: Final = "none"
_REASONS: Final = {"VERIFIED_DUPLICATE_CHARGE": ProposalReason.VERIFIED_DUPLICATE_CHARGE}
_MESSAGE: Final = "A member of our billing team asked for this refund."


def staff_form(*, finding: str) -> Proposed:
    """Return the form as a proposal: a refund for the reason that the finding allows."""
    form = ParsedProposal(
        recommended_action=ProposedAction.ISSUE_REFUND,
        reason_code=_REASONS.get(finding, ProposalReason.OTHER),
        requires_human_review=True,
        customer_message=_MESSAGE,
    )
    return Proposed(
        raw_text=json.dumps(form.as_document()),
        model_snapshot="",
        prompt_version=_NO_PROMPT,
        latency_ms=0,
        requests=0,
    )
