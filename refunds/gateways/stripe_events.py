"""Stripe's signed events: whose they are, how old, and the few fields that are used. Pure.

docs.stripe.com/webhooks and docs.stripe.com/webhooks/signature. The SDK's verifier reads the wall clock and accepts
times in the future, so the comparison is made here; the tests hold it against the SDK's.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from refunds.gateways.stripe_commands import OPERATION_ID_KEY
from refunds.gateways.stripe_objects import read_json_object

TOLERANCE: Final = timedelta(
    minutes=5
)  # docs.stripe.com/webhooks: the libraries' default, here in both directions
MAX_SIGNATURES: Final = 20  # while a secret is rolled there are two
_WORD: Final = re.compile(r"[A-Za-z0-9_.\-]{1,100}")
_REFERENCE: Final = re.compile(r"[A-Za-z0-9_\-]{1,255}")
_TIME: Final = re.compile(r"[0-9]{1,12}")
# docs.stripe.com/api/events/types: what tells of one refund object.
REFUND_EVENTS: Final = frozenset(
    {"refund.created", "refund.updated", "refund.failed", "charge.refund.updated"}
)


class SignatureProblem(StrEnum):
    """Why a delivery is refused."""

    NO_SECRET = "NO_SECRET"  # noqa: S105 - a code
    MALFORMED = "MALFORMED"
    TOO_OLD = "TOO_OLD"
    FROM_THE_FUTURE = "FROM_THE_FUTURE"
    MISMATCH = "MISMATCH"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderEvent:
    """One event; ``operation_id`` is from the object's metadata and may name nothing of ours."""

    event_id: str
    event_type: str
    account: str
    livemode: bool
    happened_at: datetime
    object_id: str
    payment_references: tuple[str, ...]  # the charge and the payment intent, as far as they are named
    operation_id: str

    @property
    def payment_reference(self) -> str:
        """Return the first of them, or an empty text."""
        return next(iter(self.payment_references), "")


def check_signature(
    body: bytes, header: str, *, secrets: Sequence[str], now: datetime
) -> SignatureProblem | None:
    """Return why the delivery is not to be trusted, or None; any of the secrets may match."""
    if not secrets:
        return SignatureProblem.NO_SECRET
    parts = [part.strip().partition("=") for part in header.split(",")]
    times = [value for name, _, value in parts if name == "t"]
    signatures = [value for name, _, value in parts if name == "v1"]
    if len(times) != 1 or not _TIME.fullmatch(times[0]) or not 0 < len(signatures) <= MAX_SIGNATURES:
        return SignatureProblem.MALFORMED
    signed = times[0].encode() + b"." + body
    expected = [hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest() for secret in secrets]
    if not any(
        hmac.compare_digest(own.encode(), theirs.encode("utf-8", "replace"))
        for own in expected
        for theirs in signatures
    ):
        return SignatureProblem.MISMATCH
    age = now.timestamp() - int(times[0])
    if age > TOLERANCE.total_seconds():
        return SignatureProblem.TOO_OLD
    return SignatureProblem.FROM_THE_FUTURE if -age > TOLERANCE.total_seconds() else None


def read_event(body: bytes) -> ProviderEvent | None:
    """Return the event that a verified body states, or None if it is not one."""
    value = read_json_object(body)
    if value is None or value.get("object") != "event":
        return None
    event_id, event_type, created = value.get("id"), value.get("type"), value.get("created")
    if not (_is(event_id, _REFERENCE) and _is(event_type, _WORD) and type(created) is int):
        return None
    about = _object(value)
    metadata = about.get("metadata")
    try:
        happened_at = datetime.fromtimestamp(created, tz=UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return ProviderEvent(
        event_id=str(event_id),
        event_type=str(event_type),
        account=_reference(value.get("account"))[:64],
        livemode=value.get("livemode") is True,
        happened_at=happened_at,
        object_id=_reference(about.get("id")),
        payment_references=tuple(
            filter(None, (_reference(about.get("charge")), _reference(about.get("payment_intent"))))
        ),
        operation_id=_reference(metadata.get(OPERATION_ID_KEY)) if isinstance(metadata, Mapping) else "",
    )


def _object(value: Mapping[str, object]) -> Mapping[str, object]:
    data = value.get("data")
    about = data.get("object") if isinstance(data, Mapping) else None
    return about if isinstance(about, Mapping) else {}


def _reference(value: object) -> str:
    if isinstance(value, Mapping):  # expanded
        value = value.get("id")
    return value if isinstance(value, str) and _REFERENCE.fullmatch(value) else ""


def _is(value: object, pattern: re.Pattern[str]) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None
