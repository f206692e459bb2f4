"""Refund objects and lists as Stripe sends them, read without trust. Pure.

docs.stripe.com/api/refunds/object: every list of words there is open, so unknown ones are carried on.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from refunds.gateways.contract import AmountNotRepresentableError, ProviderContract
from refunds.gateways.port import RefundFact
from refunds.gateways.stripe_commands import OPERATION_ID_KEY, payment_parameter

_WORD: Final = re.compile(r"[A-Za-z0-9_.\-]{1,64}")
_REFERENCE: Final = re.compile(r"[A-Za-z0-9_\-]{1,255}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RefundPage:
    """One page of a list; ``last_reference`` is where the next one starts."""

    refunds: tuple[RefundFact, ...]
    understood: bool  # every object in it was
    has_more: bool
    last_reference: str | None


def read_json_object(body: bytes) -> dict[str, object] | None:
    """Return the body if it is one JSON object, else None."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def word(value: object) -> str | None:
    """Return a provider's code or status if it is a short plain word; rows and logs take nothing else."""
    return value if isinstance(value, str) and _WORD.fullmatch(value) else None


def read_refund(
    value: object, *, contract: ProviderContract, payment_reference: str = ""
) -> RefundFact | None:
    """Return the refund that the object states, or None if any field that matters cannot be read.

    ``payment_reference`` is the one that was asked for; it decides which of the object's two is carried.
    """
    if not isinstance(value, Mapping) or value.get("object") != "refund":
        return None
    reference, amount, currency = _reference(value.get("id")), value.get("amount"), value.get("currency")
    payment, status = _payment(value, payment_reference), word(value.get("status"))
    if reference is None or payment is None or status is None:
        return None
    if type(amount) is not int or not isinstance(currency, str):
        return None
    try:
        minor_units = contract.minor_units(provider_amount=amount, currency=currency.upper())
    except AmountNotRepresentableError:
        return None
    return RefundFact(
        processor_reference=reference,
        operation_id=_operation_id(value.get("metadata")),
        amount_minor_units=minor_units,
        currency=currency.upper(),
        provider_status=status,
        status=contract.status(status),
        payment_reference=payment,
        created_at=_created_at(value.get("created")),
        failure_reason=word(value.get("failure_reason")),
        pending_reason=word(value.get("pending_reason")),
    )


def read_page(
    value: Mapping[str, object] | None, *, contract: ProviderContract, payment_reference: str
) -> RefundPage | None:
    """Return one page, or None if the body is not a list.

    A refund of another payment means that the filter was not applied, and then the page proves no absence.
    """
    if value is None or value.get("object") != "list":
        return None
    data, has_more = value.get("data"), value.get("has_more")
    if not isinstance(data, list) or not isinstance(has_more, bool):
        return None
    facts = [read_refund(item, contract=contract, payment_reference=payment_reference) for item in data]
    ours = tuple(fact for fact in facts if fact is not None and fact.payment_reference == payment_reference)
    return RefundPage(
        refunds=ours,
        understood=len(ours) == len(data),
        has_more=has_more,
        last_reference=_reference(data[-1].get("id")) if data and isinstance(data[-1], Mapping) else None,
    )


def _payment(value: Mapping[str, object], asked: str) -> str | None:
    parameter = payment_parameter(asked)
    if parameter is not None:
        return _reference(value.get(parameter))
    return _reference(value.get("charge")) or _reference(value.get("payment_intent"))


def _reference(value: object) -> str | None:
    """Return an id; the field may hold the expanded object (docs.stripe.com/api/expanding_objects)."""
    if isinstance(value, Mapping):
        value = value.get("id")
    return value if isinstance(value, str) and _REFERENCE.fullmatch(value) else None


def _operation_id(metadata: object) -> str | None:
    value = metadata.get(OPERATION_ID_KEY) if isinstance(metadata, Mapping) else None
    return value if isinstance(value, str) and _REFERENCE.fullmatch(value) else None


def _created_at(value: object) -> datetime | None:
    if type(value) is not int:
        return None
    try:
        return datetime.fromtimestamp(value, tz=UTC)
    except (OverflowError, ValueError, OSError):
        return None
