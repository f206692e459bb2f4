"""How often one customer may ask in a minute: it keeps a busy program away from the database.

Counted by the customer's id, never by an address or by anything that the caller writes. A cache that is away, or has
forgotten, counts nothing and refuses nobody.
"""

from datetime import datetime
from typing import Final

from django.conf import settings
from django.core.cache import cache
from django.db import connection

WINDOW_SECONDS: Final = 60


def count_new_request(*, customer_id: int, now: datetime) -> int:
    """Count one attempt to open a request; return 0, or the seconds after which the customer may try again.

    At most ``NEW_REQUESTS_PER_MINUTE`` attempts in a minute of the clock, refused ones among them.
    """
    return _count("new-requests", customer_id=customer_id, now=now)


def count_withdrawal(*, customer_id: int, now: datetime) -> int:
    """Count one attempt to withdraw a request, like ``count_new_request`` but apart from what it counts.

    Whoever asked too often may still take a request back.
    """
    return _count("withdrawals", customer_id=customer_id, now=now)


def _count(kind: str, *, customer_id: int, now: datetime) -> int:
    window, elapsed = divmod(int(now.timestamp()), WINDOW_SECONDS)
    # Customers' ids are those of one database; several may share a Redis.
    key = f"{kind}:{connection.settings_dict['NAME']}:{customer_id}:{window}"
    cache.add(key, 0, 2 * WINDOW_SECONDS)
    try:
        count = cache.incr(key)
    except ValueError:  # Redis came back between the two calls, or dropped the counter
        return 0
    return 0 if count <= settings.NEW_REQUESTS_PER_MINUTE else WINDOW_SECONDS - elapsed
