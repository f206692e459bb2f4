"""Events as Stripe signs and sends them."""

import hashlib
import hmac
import json
import time

SECRET = "whsec_for_tests"


def event(operation=None, *, event_type="refund.updated", reference="re_1", **changed):
    """Return an event about a refund; ``operation`` is named in the object's metadata."""
    about = {
        "id": reference,
        "object": "refund",
        "amount": 4999,
        "currency": "usd",
        "charge": operation.payment_reference if operation else "ch_unknown",
        "status": "succeeded",
        "metadata": {"refund_operation_id": operation.pk} if operation else {},
    }
    return {
        "id": "evt_1",
        "object": "event",
        "api_version": "2026-10-28.endive",
        "created": 1_700_000_000,
        "livemode": False,
        "type": event_type,
        "data": {"object": about | changed.pop("about", {})},
    } | changed


def sign(body: bytes, *, secret=SECRET, at=None) -> str:
    at = int(time.time()) if at is None else at
    digest = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


def deliver(client, what, *, signature=None):
    """POST one event the way Stripe does."""
    body = what if isinstance(what, bytes) else json.dumps(what).encode()
    headers = {"Stripe-Signature": sign(body) if signature is None else signature}
    return client.post("/webhooks/stripe", body, content_type="application/json", headers=headers)
