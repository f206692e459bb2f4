"""When a promise in business days ends. Pure.

Business days are Monday to Friday in UTC; public holidays are not known here.
"""

from datetime import datetime, timedelta
from typing import Final

_SATURDAY: Final = 5


def business_days_after(start: datetime, days: int) -> datetime:
    """Return the same time of day ``days`` business days after ``start`` (aware); a weekend counts as no day."""
    at = start
    while days > 0:
        at += timedelta(days=1)
        if at.weekday() < _SATURDAY:
            days -= 1
    return at
