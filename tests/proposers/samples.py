"""One honest proposal and one honest context; tests change what they are about."""

import json
from typing import Any

from refunds.proposers.port import ProposalContext
from refunds.proposers.schema import ProposedAction

MESSAGE = "I verified the duplicate charge and can submit it for refund."
GOOD = {
    "recommended_action": "issue_refund",
    "reason_code": "verified_duplicate_charge",
    "requires_human_review": False,
    "customer_message": MESSAGE,
}
GOOD_TEXT = json.dumps(GOOD)


def proposal_text(**changes: Any) -> str:
    return json.dumps(GOOD | changes)


def context(**changes: Any) -> ProposalContext:
    honest = {
        "finding": "VERIFIED_DUPLICATE_CHARGE",
        "reason_code": "EXACT_DUPLICATE",
        "problem": "CHARGED_TWICE",
        "policy_version": "refunds v3",
        "allowed_actions": (ProposedAction.ISSUE_REFUND, ProposedAction.ASK_PERSON),
        "customer_text": "I was charged twice, please give one back.",
    }
    return ProposalContext(**(honest | changes))
