"""What a model says when all is well."""

import json

DOCUMENT = {
    "recommended_action": "issue_refund",
    "reason_code": "verified_duplicate_charge",
    "requires_human_review": False,
    "customer_message": "Two charges were found for this order.",
}
GOOD = json.dumps(DOCUMENT)
