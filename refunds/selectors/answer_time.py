"""How long a request waits for its customer."""

from datetime import datetime, timedelta
from typing import Final

from django.db.models import Q

from policies.models import PolicyVersion
from policies.rules import PolicyRulesError, parse_rules

DEFAULT_ANSWER_DAYS: Final = 14


def get_answer_time(*, merchant_id: int, at: datetime) -> timedelta:
    """Return the shortest time that any of the merchant's versions in force gives; 14 days where none says one.

    Which version decides is not known before the order is, so the shortest promise is the one that always holds.
    """
    in_force = PolicyVersion.objects.filter(
        Q(effective_to__isnull=True) | Q(effective_to__gt=at), merchant_id=merchant_id, effective_from__lte=at
    )
    days = [found for version in in_force if (found := _answer_days(version)) is not None]
    return timedelta(days=min(days, default=DEFAULT_ANSWER_DAYS))


def _answer_days(version: PolicyVersion) -> int | None:
    try:
        return parse_rules(version.rules).customer_answer_days
    except PolicyRulesError:  # people hear of it when it is to decide something
        return None
