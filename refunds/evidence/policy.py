"""The policy version that a case is decided by, with typed rules."""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from policies.models import PolicyVersion
from policies.rules import PolicyRules, PolicyRulesError, parse_rules


@dataclass(frozen=True, slots=True)
class ApplicablePolicy:
    """The version that decides, and its rules."""

    version_id: int
    label: str
    rules: PolicyRules
    effective_from: datetime
    effective_to: datetime | None
    guidance: str = ""  # prose, untrusted; no rule is read from it

    def in_force(self, at: datetime) -> bool:
        """Tell whether the version's period holds ``at``; its end is exclusive."""
        return self.effective_from <= at and (self.effective_to is None or at < self.effective_to)


@dataclass(frozen=True, slots=True)
class PolicyUnusable:
    """No single readable version applies; ``reason_code`` says why."""

    reason_code: str
    candidates: tuple[int, ...]


def read_policy(version: PolicyVersion) -> ApplicablePolicy | PolicyUnusable:
    """Return a stored version with typed rules, or say that it cannot be read."""
    try:
        rules = parse_rules(version.rules)
    except PolicyRulesError:
        return PolicyUnusable("POLICY_UNREADABLE", (version.pk,))
    return ApplicablePolicy(
        version_id=version.pk,
        label=version.label,
        rules=rules,
        effective_from=version.effective_from,
        effective_to=version.effective_to,
        guidance=version.guidance,
    )


@lru_cache(maxsize=256)
def policy_of(policy_id: int) -> ApplicablePolicy:
    """Return the version that a workflow or operation recorded; its row never changes, so one read is enough."""
    found = read_policy(PolicyVersion.objects.get(pk=policy_id))
    if isinstance(found, PolicyUnusable):
        raise PolicyRulesError(found.reason_code)
    return found
