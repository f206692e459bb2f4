"""The seven checks of a proposal. Pure.

Stage 7. Each check is one function with one recorded result. Checks 3 to 6 judge the command that trusted
code built: an answer of a model can make them fail, and none can make them pass. The model's own
`requires_human_review` is recorded and read by nothing.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeGuard

from refunds.proposers.check_results import (
    CheckOutcome,
    CheckResult,
    CheckRule,
    CheckStatus,
    Scalar,
    ValidationFacts,
    Verdict,
    judged,
    not_run,
)
from refunds.proposers.guardrails import GUARDRAILS_VERSION, find_unsafe_language
from refunds.proposers.schema import (
    SCHEMA_VERSION,
    Malformed,
    ParsedProposal,
    ProposalReason,
    ProposedAction,
    is_valid_proposal,
)

__all__ = [
    "CheckOutcome",
    "CheckResult",
    "CheckRule",
    "CheckStatus",
    "ValidationFacts",
    "Verdict",
    "needs_person",
    "overall",
    "run_checks",
]

# What a finding allows a refund to be called. A finding that is not here allows none.
_REASON_FOR_FINDING: Final[Mapping[str, ProposalReason]] = {
    "VERIFIED_DUPLICATE_CHARGE": ProposalReason.VERIFIED_DUPLICATE_CHARGE,
    "STAFF_REQUESTED": ProposalReason.OTHER,
}


def check_schema(facts: ValidationFacts) -> CheckResult:
    """Check 1: the text is one JSON object that satisfies the schema."""
    proposal = facts.proposal
    if isinstance(proposal, Malformed):
        inputs: dict[str, Scalar] = {"reason": str(proposal.reason), "repairable": proposal.repairable}
        return judged(CheckRule.SCHEMA, inputs, holds=False, version=SCHEMA_VERSION)
    inputs = {"model_requires_human_review": proposal.requires_human_review}
    return judged(CheckRule.SCHEMA, inputs, holds=is_valid_proposal(proposal), version=SCHEMA_VERSION)


def check_action_allowed(facts: ValidationFacts) -> CheckResult:
    """Check 2: the recommended action is one that this account may ask for. Asking a person needs one."""
    proposal = facts.proposal
    inputs: dict[str, Scalar] = {"allowed_actions": ",".join(sorted(facts.allowed_actions))}
    if isinstance(proposal, Malformed):
        return not_run(CheckRule.ACTION_ALLOWED, inputs)
    inputs["recommended_action"] = str(proposal.recommended_action)
    return judged(
        CheckRule.ACTION_ALLOWED,
        inputs,
        holds=proposal.recommended_action in facts.allowed_actions,
        needs_person=proposal.recommended_action is not ProposedAction.ISSUE_REFUND,
    )


def check_customer_authorised(facts: ValidationFacts) -> CheckResult:
    """Check 3: the order belongs to this customer of this merchant."""
    own = bool(facts.customer_id) and facts.customer_id == facts.order_customer_id
    same_merchant = bool(facts.merchant_id) and facts.merchant_id == facts.order_merchant_id
    inputs: dict[str, Scalar] = {
        "customer_id": facts.customer_id,
        "order_customer_id": facts.order_customer_id,
        "merchant_id": facts.merchant_id,
        "order_merchant_id": facts.order_merchant_id,
    }
    return judged(CheckRule.CUSTOMER_AUTHORISED, inputs, holds=own and same_merchant)


def check_policy_rules(facts: ValidationFacts) -> CheckResult:
    """Check 4: the finding justifies a refund, the policy allows it at this age, the stated reason agrees.

    Without a command there is nothing for the policy to allow: a refund is refused, a person may be asked.
    """
    inputs: dict[str, Scalar] = {
        "finding": facts.finding,
        "reason_code": _reason(facts),
        "policy_allows_refund": facts.policy_allows_refund,
        "age_days": facts.age_days,
        "max_age_days": facts.max_age_days,
    }
    if _asks_without_command(facts):
        return not_run(CheckRule.POLICY_RULES, inputs)
    reason = _REASON_FOR_FINDING.get(facts.finding)
    within_age = (
        facts.age_days is not None
        and facts.max_age_days is not None
        and 0 <= facts.age_days <= facts.max_age_days
    )
    holds = reason is not None and facts.policy_allows_refund is True and within_age
    return judged(CheckRule.POLICY_RULES, inputs, holds=holds and not _contradicts(facts, reason))


def check_amount_matches_ledger(facts: ValidationFacts) -> CheckResult:
    """Check 5: the command is for the captured amount and currency, and that much is refundable.

    Exactly the captured amount, or for a refund that staff started any part of it.
    """
    inputs: dict[str, Scalar] = {
        "command_amount_minor_units": facts.command_amount_minor_units,
        "command_currency": facts.command_currency,
        "captured_minor_units": facts.captured_minor_units,
        "ledger_currency": facts.ledger_currency,
        "refundable_minor_units": facts.refundable_minor_units,
    }
    if facts.partial_allowed:
        inputs["partial_allowed"] = True
    if _asks_without_command(facts):
        return not_run(CheckRule.AMOUNT_MATCHES_LEDGER, inputs)
    amount = facts.command_amount_minor_units
    holds = (
        _is_positive_integer(amount)
        and (amount == facts.captured_minor_units or facts.partial_allowed)
        and amount <= facts.captured_minor_units
        and amount <= facts.refundable_minor_units
        and bool(facts.command_currency)
        and facts.command_currency == facts.ledger_currency
    )
    return judged(CheckRule.AMOUNT_MATCHES_LEDGER, inputs, holds=holds)


def check_approval_threshold(facts: ValidationFacts) -> CheckResult:
    """Check 6: whether the policy lets this amount go on without a person. Being above it is no rejection."""
    amount, limit = facts.command_amount_minor_units, facts.auto_limit_minor_units
    automatic = (
        not facts.person_required and _is_positive_integer(amount) and limit is not None and amount <= limit
    )
    inputs: dict[str, Scalar] = {
        "command_amount_minor_units": amount,
        "auto_limit_minor_units": limit,
        "person_required": facts.person_required,
    }
    return judged(CheckRule.APPROVAL_THRESHOLD, inputs, holds=True, needs_person=not automatic)


def check_guardrails(facts: ValidationFacts) -> CheckResult:
    """Check 7: the draft claims nothing that a model cannot know and shows no sign of injection or a leak."""
    proposal = facts.proposal
    if isinstance(proposal, Malformed):
        return not_run(CheckRule.GUARDRAILS, {}, version=GUARDRAILS_VERSION)
    message = proposal.customer_message
    codes = find_unsafe_language(message, allowed_references=facts.allowed_references)
    inputs: dict[str, Scalar] = {
        "unsafe_codes": ",".join(codes),
        "message_length": len(message),
        "message_sha256": hashlib.sha256(message.encode(errors="surrogatepass")).hexdigest(),
    }
    return judged(CheckRule.GUARDRAILS, inputs, holds=not codes, version=GUARDRAILS_VERSION)


_CHECKS: Final[tuple[Callable[[ValidationFacts], CheckResult], ...]] = (
    check_schema,
    check_action_allowed,
    check_customer_authorised,
    check_policy_rules,
    check_amount_matches_ledger,
    check_approval_threshold,
    check_guardrails,
)


def run_checks(facts: ValidationFacts) -> tuple[CheckResult, ...]:
    """Run every check, whatever the others found, and return exactly seven results in order."""
    return tuple(check(facts) for check in _CHECKS)


def overall(results: Sequence[CheckResult]) -> Verdict:
    """Return VALIDATED if no check failed. Raises ValueError for anything but the seven results in order."""
    _require_all_seven(results)
    failed = any(
        result.result is CheckStatus.FAIL or result.outcome is CheckOutcome.REJECT for result in results
    )
    return Verdict.REJECTED if failed else Verdict.VALIDATED


def needs_person(results: Sequence[CheckResult]) -> bool:
    """Say whether a person must approve. Raises ValueError for anything but the seven results in order."""
    _require_all_seven(results)
    return any(result.outcome is CheckOutcome.NEEDS_PERSON for result in results)


def _require_all_seven(results: Sequence[CheckResult]) -> None:
    if tuple(result.rule for result in results) != tuple(CheckRule):
        raise ValueError("the seven results, in order")


def _asks_without_command(facts: ValidationFacts) -> bool:
    """Say whether no command exists and none is asked for; a refund without a command is judged and fails."""
    proposal = facts.proposal
    refund = (
        isinstance(proposal, ParsedProposal) and proposal.recommended_action is ProposedAction.ISSUE_REFUND
    )
    return not (facts.has_command or refund)


def _reason(facts: ValidationFacts) -> str | None:
    return str(facts.proposal.reason_code) if isinstance(facts.proposal, ParsedProposal) else None


def _contradicts(facts: ValidationFacts, reason: ProposalReason | None) -> bool:
    """Say whether a refund is recommended for another reason than the finding."""
    proposal = facts.proposal
    return (
        isinstance(proposal, ParsedProposal)
        and proposal.recommended_action is ProposedAction.ISSUE_REFUND
        and proposal.reason_code is not reason
    )


def _is_positive_integer(value: int | None) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
