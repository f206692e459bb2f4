"""Signatures of webhook deliveries (docs.stripe.com/webhooks/signature; facts 4.3)."""

import hashlib
import hmac
from collections.abc import Iterable


def signature_header(body: bytes, *, secrets: Iterable[str], timestamp: int) -> str:
    """Return the ``Stripe-Signature`` of a raw body: one v1 for each active secret (facts 4.3, rolling)."""
    signed = f"{timestamp}.".encode() + body
    marks = [hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest() for secret in secrets]
    return ",".join([f"t={timestamp}", *(f"v1={mark}" for mark in marks)])
