"""Which policy version applies, by the attributes of the case and a date: one, or nobody decides (stage 3). Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class PolicyContext:
    """The deterministic attributes that select a policy; none of them comes from a model or from free text."""

    merchant_id: int
    region: str
    product_type: str
    payment_method: str
    reason: str


@dataclass(frozen=True, slots=True)
class VersionView:
    """What selection needs to know of a stored version."""

    id: int
    region: str
    product_type: str
    payment_method: str
    effective_from: datetime
    effective_to: datetime | None


@dataclass(frozen=True, slots=True)
class NoSinglePolicy:
    """No version applies, or several do: a default would be an invention."""

    reason_code: str  # POLICY_MISSING or POLICY_OVERLAP
    candidates: tuple[int, ...]


def select_version(
    versions: Iterable[VersionView], context: PolicyContext, *, at: datetime
) -> VersionView | NoSinglePolicy:
    """Return the one version in force at ``at`` for the context; ``effective_to`` is exclusive."""
    applicable = [version for version in versions if _applies(version, context, at)]
    if len(applicable) == 1:
        return applicable[0]
    code = "POLICY_OVERLAP" if applicable else "POLICY_MISSING"
    return NoSinglePolicy(reason_code=code, candidates=tuple(sorted(v.id for v in applicable)))


def _applies(version: VersionView, context: PolicyContext, at: datetime) -> bool:
    in_force = version.effective_from <= at and (version.effective_to is None or at < version.effective_to)
    matches = (
        version.region in {"", context.region}
        and version.product_type in {"", context.product_type}
        and version.payment_method in {"", context.payment_method}
    )
    return in_force and matches
