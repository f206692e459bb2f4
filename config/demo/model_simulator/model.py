"""The model itself: a rule that reads the finding in the question's structured part and nothing else. Pure.

The customer's words are inside a JSON string of the question, so nothing that they say can be mistaken for it.
"""

import json
from collections.abc import Iterable
from typing import Any

_DUPLICATE = "VERIFIED_DUPLICATE_CHARGE"
_REASONS = {"NO_DUPLICATE_FOUND": "no_duplicate_found", "REQUIRES_INVESTIGATION": "requires_investigation"}
_REFUND_MESSAGE = "I checked the payment records: this is a duplicate charge, and I can submit it for refund."
_PERSON_MESSAGE = "Thank you for explaining this. A colleague should look at it, so I have asked one."


def answer_to(messages: Iterable[Any]) -> str:
    """Return the proposal for a conversation as JSON text; the same question always has the same answer."""
    case = next(filter(None, map(_case, messages)), {})
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


def _case(message: Any) -> dict[str, Any] | None:
    """Return the structured case of one message, if that is what it is."""
    if not isinstance(message, dict) or message.get("role") != "user":
        return None
    try:
        document = json.loads(message.get("content", ""))
    except (TypeError, ValueError, RecursionError):
        return None
    case = document.get("case") if isinstance(document, dict) else None
    return case if isinstance(case, dict) else None
