"""By when people promised to look at a case: the policy's business days, or the desk's own."""

from datetime import datetime
from typing import Final

from approvals.business_days import business_days_after
from policies.rules import PolicyRulesError
from refunds.evidence.policy import ApplicablePolicy, policy_of
from refunds.models import RefundWorkflow

DEFAULT_DAYS: Final = 2


def review_due_at(
    workflow: RefundWorkflow, *, now: datetime, policy: ApplicablePolicy | None = None
) -> datetime:
    """Return when a case that opens ``now`` is due, by the version that decides or, before that, by ``policy``."""
    return business_days_after(now, _days(workflow, policy))


def _days(workflow: RefundWorkflow, policy: ApplicablePolicy | None) -> int:
    try:
        if policy is None and workflow.policy_id is not None:
            policy = policy_of(workflow.policy_id)
    except PolicyRulesError:  # a version that nobody can read promises nothing
        return DEFAULT_DAYS
    days = policy.rules.review_within_business_days if policy is not None else None
    return days if days is not None else DEFAULT_DAYS
