"""One attempt of one delivery: a signed POST over a fresh connection (facts 4.2, 4.3)."""

import http.client
import time
from urllib.parse import urlsplit

from config.demo.gateway_simulator.book import Row
from config.demo.gateway_simulator.endpoints import Endpoint
from config.demo.gateway_simulator.signing import signature_header

_SOMEBODY_ELSES = ("whsec_of_somebody_else",)


def attempt(
    delivery: Row, endpoint: Endpoint, *, timeout_seconds: float, now: float
) -> tuple[int | None, str | None]:
    """Return the HTTP status, or None and what went wrong. Redirects are not followed: they are failures.

    It is signed with the machine's time, which is the receiver's; ``now`` is the provider's.
    """
    body, options = delivery["body"].encode(), delivery["options"]
    signature = signature_header(
        body,
        secrets=_SOMEBODY_ELSES if options["wrong_secret"] else endpoint.active_secrets(now),
        timestamp=int(time.time() - options["age"]),
    )
    parts = urlsplit(endpoint.url)
    target = parts.path or "/"
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=timeout_seconds)
    try:
        connection.request(
            "POST",
            f"{target}?{parts.query}" if parts.query else target,
            body + b"\n" if options["tampered"] else body,
            {
                "Content-Type": "application/json; charset=utf-8",
                "Stripe-Signature": signature,
                "User-Agent": "Stripe/1.0 (+https://stripe.com/docs/webhooks)",
            },
        )
        return connection.getresponse().status, None
    except (OSError, http.client.HTTPException) as error:
        return None, type(error).__name__
    finally:
        connection.close()
