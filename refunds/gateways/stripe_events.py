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
_KEY: Final = re.compile(r"[!-~]{1,255}")
_TIME: Final = re.compile(r"[0-9]{1,12}")
# docs.stripe.com/event-destinations: a thin event names its object and says nothing of it; its type begins with v1.
_THIN: Final = "v1."
_ENVELOPES: Final = frozenset({"event", "v2.core.event"})


class Subject(StrEnum):
    """What an event's object is; docs.stripe.com/api/events/types."""

    REFUND = "REFUND"
    CHARGE = "CHARGE"  # a charge of which something was refunded; the event names no refund
    DISPUTE = "DISPUTE"
    OTHER = "OTHER"


_SUBJECTS: Final = {
    "refund.created": Subject.REFUND,
    "refund.updated": Subject.REFUND,
    "refund.failed": Subject.REFUND,
    "charge.refund.updated": Subject.REFUND,
    "charge.refunded": Subject.CHARGE,
    "charge.dispute.created": Subject.DISPUTE,
    "charge.dispute.updated": Subject.DISPUTE,
    "charge.dispute.closed": Subject.DISPUTE,
    "charge.dispute.funds_withdrawn": Subject.DISPUTE,
    "charge.dispute.funds_reinstated": Subject.DISPUTE,
}
_FAMILIES: Final = (("refund.", Subject.REFUND), ("charge.dispute.", Subject.DISPUTE))


class SignatureProblem(StrEnum):
    """Why a delivery is refused."""

    NO_SECRET = "NO_SECRET"  # noqa: S105 - a code
    MALFORMED = "MALFORMED"
    TOO_OLD = "TOO_OLD"
    FROM_THE_FUTURE = "FROM_THE_FUTURE"
    MISMATCH = "MISMATCH"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderEvent:
    """One event; ``operation_id`` is from the object's metadata and may name nothing of ours.

    ``idempotency_key`` is that of the request that led to it; an event that no request led to has none.
    """

    event_id: str
    event_type: str
    account: str
    livemode: bool
    happened_at: datetime
    object_id: str
    payment_references: tuple[str, ...]  # the charge and the payment intent, as far as they are named
    operation_id: str
    idempotency_key: str = ""
    dispute: Mapping[str, object] | None = None  # the object itself, for ``stripe_disputes``

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


def subject_of(event_type: str) -> Subject:
    """Return what an event of this type is about; a thin event is about the same as its snapshot twin.

    The list of types is open: a new word about a refund or a dispute says where to look as well.
    """
    plain = event_type.removeprefix(_THIN)
    if plain in _SUBJECTS:
        return _SUBJECTS[plain]
    return next((subject for prefix, subject in _FAMILIES if plain.startswith(prefix)), Subject.OTHER)


def read_event(body: bytes) -> ProviderEvent | None:
    """Return the event that a verified body states, or None if it is not one."""
    value = read_json_object(body)
    kind = None if value is None else value.get("object")
    if value is None or not isinstance(kind, str) or kind not in _ENVELOPES:
        return None
    event_id, event_type = value.get("id"), value.get("type")
    happened_at = _moment(value.get("created"))
    if not (_is(event_id, _REFERENCE) and _is(event_type, _WORD)) or happened_at is None:
        return None
    about, subject = _object(value), subject_of(str(event_type))
    metadata = about.get("metadata")
    charge = about.get("id") if subject is Subject.CHARGE else about.get("charge")
    return ProviderEvent(
        event_id=str(event_id),
        event_type=str(event_type),
        account=_reference(value.get("account") or value.get("context"))[:64],
        livemode=value.get("livemode") is True,
        happened_at=happened_at,
        object_id=_reference(about.get("id")),
        payment_references=tuple(filter(None, (_reference(charge), _reference(about.get("payment_intent"))))),
        operation_id=_reference(metadata.get(OPERATION_ID_KEY)) if isinstance(metadata, Mapping) else "",
        idempotency_key=_idempotency_key(value),
        dispute=about if subject is Subject.DISPUTE else None,
    )


def _moment(created: object) -> datetime | None:
    """Return the event's time: whole seconds in a snapshot event, ISO 8601 in a thin one."""
    try:
        if type(created) is int:
            return datetime.fromtimestamp(created, tz=UTC)
        at = datetime.fromisoformat(created) if isinstance(created, str) else None
        return at.astimezone(UTC) if at is not None and at.tzinfo is not None else None
    except (OverflowError, ValueError, OSError):
        return None


def _idempotency_key(value: Mapping[str, object]) -> str:
    """Return the key of the request behind the event (docs.stripe.com/api/events/object), or an empty text."""
    reason = value.get("reason")
    request = reason.get("request") if isinstance(reason, Mapping) else value.get("request")
    key = request.get("idempotency_key") if isinstance(request, Mapping) else None
    return key if isinstance(key, str) and _KEY.fullmatch(key) else ""


def _object(value: Mapping[str, object]) -> Mapping[str, object]:
    data = value.get("data")
    about = data.get("object") if isinstance(data, Mapping) else value.get("related_object")
    return about if isinstance(about, Mapping) else {}


def _reference(value: object) -> str:
    if isinstance(value, Mapping):  # expanded
        value = value.get("id")
    return value if isinstance(value, str) and _REFERENCE.fullmatch(value) else ""


def _is(value: object, pattern: re.Pattern[str]) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None
