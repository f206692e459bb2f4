"""What the seven checks read and what they leave behind. Pure.

Stage 7: every check leaves one row of `rule_results`, whatever the others found.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from refunds.proposers.schema import Malformed, ParsedProposal, ProposedAction

RULES_VERSION: Final = "1"


class CheckRule(StrEnum):
    """The seven checks, in their order."""

    SCHEMA = "SCHEMA"
    ACTION_ALLOWED = "ACTION_ALLOWED"
    CUSTOMER_AUTHORISED = "CUSTOMER_AUTHORISED"
    POLICY_RULES = "POLICY_RULES"
    AMOUNT_MATCHES_LEDGER = "AMOUNT_MATCHES_LEDGER"
    APPROVAL_THRESHOLD = "APPROVAL_THRESHOLD"
    GUARDRAILS = "GUARDRAILS"


class CheckStatus(StrEnum):
    """Whether a check held; NOT_RUN when what it judges does not exist."""

    PASS = "PASS"  # noqa: S105 - a result, not a password
    FAIL = "FAIL"
    NOT_RUN = "NOT_RUN"


class CheckOutcome(StrEnum):
    """What a check demands of the workflow."""

    CONTINUE = "CONTINUE"
    REJECT = "REJECT"
    NEEDS_PERSON = "NEEDS_PERSON"


class Verdict(StrEnum):
    """What the seven results amount to."""

    VALIDATED = "VALIDATED"
    REJECTED = "REJECTED"


Scalar = str | int | bool | None


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """One row of `rule_results`: what was checked by which version of the rule, on what, with what result."""

    rule: CheckRule
    rule_version: str
    result: CheckStatus
    outcome: CheckOutcome
    inputs: dict[str, Scalar]


@dataclass(frozen=True, kw_only=True)
class ValidationFacts:
    """Everything the checks read. Amounts are integer minor units, currencies ISO codes, ages whole days.

    The command is what trusted code built from the ledger; both its fields are None when there is none.
    `auto_limit_minor_units` is None when the policy approves nothing automatically. `partial_allowed`: the command
    may be for less than was captured, which staff alone may ask for.
    """

    proposal: ParsedProposal | Malformed
    allowed_actions: tuple[ProposedAction, ...]
    customer_id: str
    order_customer_id: str
    merchant_id: str
    order_merchant_id: str
    finding: str
    policy_allows_refund: bool
    age_days: int | None
    max_age_days: int | None
    command_amount_minor_units: int | None
    command_currency: str | None
    captured_minor_units: int
    ledger_currency: str
    refundable_minor_units: int
    auto_limit_minor_units: int | None
    person_required: bool
    allowed_references: tuple[str, ...] = ()
    partial_allowed: bool = False

    @property
    def has_command(self) -> bool:
        """Say whether trusted code built a command."""
        return self.command_amount_minor_units is not None or self.command_currency is not None


def judged(
    rule: CheckRule,
    inputs: dict[str, Scalar],
    *,
    holds: bool,
    needs_person: bool = False,
    version: str = RULES_VERSION,
) -> CheckResult:
    """Return the result of a check that ran: it rejects unless it holds."""
    passed = CheckOutcome.NEEDS_PERSON if needs_person else CheckOutcome.CONTINUE
    return CheckResult(
        rule=rule,
        rule_version=version,
        result=CheckStatus.PASS if holds else CheckStatus.FAIL,
        outcome=passed if holds else CheckOutcome.REJECT,
        inputs=inputs,
    )


def not_run(rule: CheckRule, inputs: dict[str, Scalar], *, version: str = RULES_VERSION) -> CheckResult:
    """Return the result of a check whose subject does not exist."""
    return CheckResult(
        rule=rule,
        rule_version=version,
        result=CheckStatus.NOT_RUN,
        outcome=CheckOutcome.CONTINUE,
        inputs=inputs,
    )
