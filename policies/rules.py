"""What a policy version says, as typed values, and what it decides about one case. Pure.

Amounts are minor units by currency code. A currency without a limit never runs automatically.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

_LIMITS: Final = {
    "type": "object",
    "propertyNames": {"pattern": "^[A-Z]{3}$"},
    "additionalProperties": {"type": "integer", "minimum": 0},
}
RULES_SCHEMA: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": [
        "auto_limit_minor_units",
        "two_people_above_minor_units",
        "duplicate_window_hours",
        "max_age_days",
        "snapshot_max_age_seconds",
        "approval_valid_hours",
    ],
    "properties": {
        "auto_limit_minor_units": _LIMITS,
        "two_people_above_minor_units": _LIMITS,
        "duplicate_window_hours": {"type": "integer", "minimum": 1},
        "max_age_days": {"type": "integer", "minimum": 1},
        "time_zone": {"type": "string", "minLength": 1, "maxLength": 64},
        "snapshot_max_age_seconds": {"type": "integer", "minimum": 1},
        "approval_valid_hours": {"type": "integer", "minimum": 1},
        "automatic_without_model": {"type": "boolean"},
        "closes_on_gateway_rejection": {"type": "boolean"},
        "review_within_business_days": {"type": "integer", "minimum": 1},
        "customer_answer_days": {"type": "integer", "minimum": 1, "maximum": 365},
    },
}
_VALIDATOR: Final = Draft202012Validator(RULES_SCHEMA)


class PolicyRulesError(ValueError):
    """If you see this, a stored policy version does not have the documented shape; nothing may be decided by it."""


@dataclass(frozen=True, slots=True)
class PolicyRules:
    """The numbers of one policy version."""

    auto_limit_minor_units: Mapping[str, int]
    two_people_above_minor_units: Mapping[str, int]
    duplicate_window: timedelta
    max_age_days: int
    snapshot_max_age: timedelta
    approval_valid: timedelta
    automatic_without_model: bool
    closes_on_gateway_rejection: bool
    review_within_business_days: int | None
    customer_answer_days: int | None = None
    time_zone: ZoneInfo | None = None

    def age_in_days(self, since: datetime, at: datetime) -> int:
        """Return how many days passed, as this version counts them: days of its time zone if it names one."""
        return age_in_days(since, at, zone=self.time_zone)

    def auto_limit(self, currency: str) -> int | None:
        """Return the largest amount that may be approved automatically, or None if none may."""
        return self.auto_limit_minor_units.get(currency)

    def approvals_needed(self, amount_minor_units: int, currency: str) -> int:
        """Return how many people must approve a refund that is not automatic: two where no limit is given."""
        limit = self.two_people_above_minor_units.get(currency)
        return 1 if limit is not None and amount_minor_units <= limit else 2


def age_in_days(since: datetime, at: datetime, *, zone: ZoneInfo | None = None) -> int:
    """Return how many whole days passed between two aware moments; below 0 before ``since``.

    Without a zone, days of 24 hours; with one, the midnights of its calendar. A difference of days and never of days
    of a month: the end of a month, of a year or a leap day changes nothing.
    """
    # In UTC, since Python counts wall-clock time between two moments of one zone.
    passed = at.astimezone(UTC) - since.astimezone(UTC)
    if zone is None or passed < timedelta(0):
        return passed // timedelta(days=1)
    return (at.astimezone(zone).date() - since.astimezone(zone).date()).days


def parse_rules(document: Any) -> PolicyRules:
    """Return the typed rules of a policy document, or raise ``PolicyRulesError`` naming its main defect."""
    defect = best_match(_VALIDATOR.iter_errors(document))
    if defect is not None:
        raise PolicyRulesError(defect.message)
    return PolicyRules(
        auto_limit_minor_units=document["auto_limit_minor_units"],
        two_people_above_minor_units=document["two_people_above_minor_units"],
        duplicate_window=timedelta(hours=document["duplicate_window_hours"]),
        max_age_days=document["max_age_days"],
        snapshot_max_age=timedelta(seconds=document["snapshot_max_age_seconds"]),
        approval_valid=timedelta(hours=document["approval_valid_hours"]),
        automatic_without_model=document.get("automatic_without_model", True),
        closes_on_gateway_rejection=document.get("closes_on_gateway_rejection", False),
        review_within_business_days=document.get("review_within_business_days"),
        customer_answer_days=document.get("customer_answer_days"),
        time_zone=_zone(document.get("time_zone")),
    )


def _zone(name: str | None) -> ZoneInfo | None:
    try:
        return None if name is None else ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:  # unknown, not a name, or a folder of zones
        raise PolicyRulesError("time_zone names no time zone") from error
