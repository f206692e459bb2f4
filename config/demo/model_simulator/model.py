"""The model's proposals. Pure.

A proposal follows the finding in the question's structured part and nothing else: what people wrote is inside JSON
strings of the question, so nothing in it can be mistaken for that.
"""

import json
from collections.abc import Iterable
from typing import Any

from config.demo.model_simulator.questions import documents_of

_DUPLICATE = "VERIFIED_DUPLICATE_CHARGE"
_REASONS = {"NO_DUPLICATE_FOUND": "no_duplicate_found", "REQUIRES_INVESTIGATION": "requires_investigation"}
_REFUND_MESSAGE = "I checked the payment records: this is a duplicate charge, and I can submit it for refund."
_PERSON_MESSAGE = "Thank you for explaining this. A colleague should look at it, so I have asked one."


def answer_to(messages: Iterable[Any]) -> str:
    """Return the proposal for a conversation as JSON text; the same question always has the same answer."""
    cases = (document.get("case") for document in documents_of(messages))
    case = next((case for case in cases if case and isinstance(case, dict)), {})
    finding, allowed = case.get("finding"), case.get("allowed_actions")
    refundable = finding == _DUPLICATE and isinstance(allowed, list) and "issue_refund" in allowed
    reason = _DUPLICATE.lower() if finding == _DUPLICATE else _REASONS.get(str(finding), "other")
    return json.dumps(
        {
            "recommended_action": "issue_refund" if refundable else "ask_person",
            "reason_code": reason,
            "requires_human_review": not refundable,
            "customer_message": _REFUND_MESSAGE if refundable else _PERSON_MESSAGE,
        }
    )
