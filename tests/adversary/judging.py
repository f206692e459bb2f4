"""The whole validator, as stages 6 and 7 put it together: the class of a text, then the seven checks of what it says."""

from typing import Any, Final

from refunds.proposers.check_results import ValidationFacts
from refunds.proposers.schema import Malformed, ProposedAction, parse_proposal
from refunds.proposers.validation import Verdict, needs_person, overall, run_checks

VALID, REPAIRABLE, REJECT = "VALID", "REPAIRABLE", "REJECT"
_VERIFIED: Final[dict[str, Any]] = {
    "allowed_actions": tuple(ProposedAction),
    "customer_id": "1",
    "order_customer_id": "1",
    "merchant_id": "1",
    "order_merchant_id": "1",
    "finding": "VERIFIED_DUPLICATE_CHARGE",
    "policy_allows_refund": True,
    "age_days": 3,
    "max_age_days": 90,
    "command_amount_minor_units": 4999,
    "command_currency": "USD",
    "captured_minor_units": 4999,
    "ledger_currency": "USD",
    "refundable_minor_units": 4999,
    "auto_limit_minor_units": 10_000,
    "person_required": False,
}


def judge(text: str, **facts: Any) -> str:
    """Return VALID, REPAIRABLE or REJECT: what a proposal about a verified duplicate of $49.99 is worth."""
    parsed = parse_proposal(text)
    if isinstance(parsed, Malformed):
        return str(parsed.proposal_class)
    return VALID if _passes(parsed, facts) else REJECT


def why_not(text: str, **facts: Any) -> str:
    """Return in codes what speaks against a text: the defect, or the checks that fail and what the last one found."""
    parsed = parse_proposal(text)
    if isinstance(parsed, Malformed):
        return str(parsed.reason)
    results = run_checks(ValidationFacts(**(_VERIFIED | facts), proposal=parsed))
    failed = [r for r in results if r.result == "FAIL"]
    return ", ".join(str(r.inputs.get("unsafe_codes") or r.rule) for r in failed)


def goes_on_alone(text: str, **facts: Any) -> bool:
    """Say whether a command would be approved without a person."""
    parsed = parse_proposal(text)
    results = run_checks(ValidationFacts(**(_VERIFIED | facts), proposal=parsed))
    return overall(results) is Verdict.VALIDATED and not needs_person(results)


def _passes(parsed: Any, facts: dict[str, Any]) -> bool:
    return overall(run_checks(ValidationFacts(**(_VERIFIED | facts), proposal=parsed))) is Verdict.VALIDATED
