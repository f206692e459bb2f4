"""A probe, what it asks, and what it found. Pure."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from http import HTTPStatus
from typing import Any

from refunds.gateways.stripe_objects import read_json_object
from refunds.gateways.wire import Exchange


class Outcome(StrEnum):
    """How a fact stands at the asked provider."""

    HOLDS = "HOLDS"
    FAILS = "FAILS"  # the provider answered otherwise: the contract is wrong about it
    OPEN = "OPEN"  # it could not be asked, or the answer does not decide it
    SEEN = "SEEN"  # not documented, so nothing rests on it; this is what the provider does


@dataclass(frozen=True, slots=True)
class Finding:
    """An outcome and, in a few words, what was seen; no personal data and no secret is ever in it."""

    outcome: Outcome
    seen: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One request. ``api_key`` replaces the configured one, to see a wrong one refused."""

    method: str
    path: str
    form: Mapping[str, str] = field(default_factory=dict)
    idempotency_key: str | None = None
    api_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What a probe may use: a charge of the account and the smallest amount that it can be refunded by."""

    charge: str | None
    amount: int  # in the provider's own units
    new_key: Callable[[], str]


Probing = Generator[Ask, Exchange, Finding]


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One fact, where it is documented, and how it is asked.

    ``refunds`` is how many smallest refunds of the charge it makes; without ``writes`` it only reads.
    """

    name: str
    fact: str
    source: str
    run: Callable[[Situation], Probing]
    needs_charge: bool = False
    writes: bool = False
    refunds: int = 0


def holds_if(condition: bool, exchange: Exchange) -> Finding:  # noqa: FBT001 - reads as a sentence
    """Return that the fact holds or fails, with the answer that shows it."""
    return holds(exchange) if condition else fails(exchange)


def holds(exchange: Exchange) -> Finding:
    """Return that the fact holds, with the answer that shows it."""
    return Finding(Outcome.HOLDS, shown(exchange))


def fails(exchange: Exchange) -> Finding:
    """Return that the fact fails, with the answer that shows it."""
    return Finding(Outcome.FAILS, shown(exchange))


def shown(exchange: Exchange) -> str:
    """Return an answer in a few words: its status, and the error's type, code and parameter."""
    error = error_of(exchange)
    words = [str(error[name]) for name in ("type", "code", "param") if error.get(name)]
    replayed = ["replayed"] if is_replay(exchange) else []
    return " ".join([str(exchange.http_status), *(word[:64] for word in words), *replayed])


def error_of(exchange: Exchange) -> Mapping[str, object]:
    """Return the error of an answer, empty if it is none."""
    error = object_of(exchange).get("error")
    return error if isinstance(error, Mapping) else {}


def object_of(exchange: Exchange) -> Mapping[str, object]:
    """Return the JSON object of an answer, empty if it is none."""
    return read_json_object(exchange.body) or {}


def is_replay(exchange: Exchange) -> bool:
    """Whether the answer is marked as a kept one (docs.stripe.com/error-low-level)."""
    return exchange.headers.get("idempotent-replayed", "").lower() == "true"


def is_invalid(exchange: Exchange) -> bool:
    """Whether the request was refused as invalid (docs.stripe.com/api/errors)."""
    is_type = error_of(exchange).get("type") == "invalid_request_error"
    return exchange.http_status == HTTPStatus.BAD_REQUEST and is_type


def refund_of(form: Mapping[str, str], key: str) -> Ask:
    """Return the request for a refund."""
    return Ask(method="POST", path="/v1/refunds", form=form, idempotency_key=key)


def smallest_refund(situation: Situation) -> dict[str, str]:
    """Return the parameters of the smallest refund of the charge."""
    return {"charge": str(situation.charge), "amount": str(situation.amount)}


def no_refund(exchange: Exchange) -> Finding:
    """Return that nothing can be said, because the charge could not be refunded."""
    return Finding(Outcome.OPEN, f"the charge could not be refunded: {shown(exchange)}")


def data_of(exchange: Exchange) -> list[dict[str, Any]]:
    """Return the objects of a list, those that are objects."""
    data = object_of(exchange).get("data")
    return [one for one in data if isinstance(one, dict)] if isinstance(data, list) else []
