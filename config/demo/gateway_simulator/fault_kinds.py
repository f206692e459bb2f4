"""What may go wrong between a provider and its clients, one fault for each, and how they are read from JSON."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from config.demo.gateway_simulator.refund_objects import STATUSES

_LONGEST_SECONDS = 600.0
_HTTP_ERRORS = range(400, 600)
_LATEST_EFFECT_SECONDS = 90 * 86_400.0
# What a fault may be armed for: a new refund, or one of the surfaces of facts 3.
PLACES = ("create", "list", "retrieve", "charge", "charge_refunds", "events")
# What stands in the place of JSON (`body`).
UNPARSABLE_BODIES = {
    "html": b"<html><body>upstream said something else</body></html>",
    "empty": b"",
    "truncated": b'{"id": "re_3Qfh", "object": "refu',
    "array": b"[]",
    "null": b"null",
    "binary": bytes(range(128, 256)),
}


class FaultKind(StrEnum):
    """Each names what happens to one matching request."""

    DROP_BEFORE = "drop_before"  # close without booking
    DROP_AFTER = "drop_after"  # book, then close without an answer
    DELAY = "delay"  # book, answer after `seconds`
    HOLD = "hold"  # book, answer after release
    DELAY_BEFORE = "delay_before"  # accept; book and answer after release or `seconds`
    STATUS = "status"  # answer this HTTP status; books first only with `book`
    UNPARSABLE = "unparsable"  # book, answer 200 with something that is not JSON
    PENDING = "pending"  # book the refund as `first`; after `seconds` it becomes `then`, if that is given
    IN_FLIGHT = "in_flight"  # answer 409 as if the same key were executing; books nothing
    NOT_READ = "not_read"  # accept the connection, read nothing; close it after release or `seconds`
    EXECUTING = "executing"  # book; the key stays in use and the answer away until release or `seconds`
    LATE_EFFECT = "late_effect"  # answer 500, which is kept; book after `seconds` of the provider's time
    SLOW_BODY = "slow_body"  # book; send the body drop by drop over `seconds`
    CUT_BODY = "cut_body"  # book; close in the middle of the body


_NEED_SECONDS = frozenset({FaultKind.DELAY, FaultKind.LATE_EFFECT, FaultKind.SLOW_BODY})
_CREATE_ONLY = frozenset(
    {FaultKind.PENDING, FaultKind.IN_FLIGHT, FaultKind.NOT_READ, FaultKind.EXECUTING, FaultKind.LATE_EFFECT}
)
_ON_THE_PROVIDERS_CLOCK = frozenset({FaultKind.LATE_EFFECT, FaultKind.PENDING, FaultKind.STATUS})


class FaultError(ValueError):
    """A fault that cannot be armed; the message is for the one who arms it."""


@dataclass(slots=True)
class Fault:
    """One armed fault; ``count`` None means until it is cleared."""

    kind: FaultKind
    on: str = "create"  # one of PLACES
    charge: str | None = None
    idempotency_key: str | None = None
    count: int | None = 1
    seconds: float = _LONGEST_SECONDS
    status: int = 500
    code: str | None = None
    rate_limited_reason: str | None = None
    should_retry: bool | None = None
    book: bool = False
    reset: bool = False  # for the drops: end the connection as a crashed machine does
    body: str = "html"  # for unparsable: one of UNPARSABLE_BODIES
    first: str = "pending"
    then: str | None = None
    failure_reason: str | None = None

    def matches(self, on: str, references: frozenset[str], idempotency_key: str | None) -> bool:
        """Whether it is meant for this request."""
        return (
            self.on == on
            and (self.charge is None or self.charge in references)
            and self.idempotency_key in (None, idempotency_key)
        )

    def as_json(self) -> dict[str, Any]:
        """Return the fault as the control side shows it."""
        return {name: getattr(self, name) for name in self.__slots__} | {"kind": self.kind.value}


def read_fault(value: Any) -> Fault:
    """Return the fault that JSON describes; raises FaultError for anything it does not know."""
    if not isinstance(value, Mapping):
        raise FaultError("a fault is a JSON object")
    unknown = set(value) - set(Fault.__slots__)
    if unknown:
        raise FaultError(f"a fault has no {', '.join(sorted(map(str, unknown)))}")
    try:
        fault = Fault(**{**value, "kind": FaultKind(str(value.get("kind")))})
    except ValueError as error:
        raise FaultError(f"kind must be one of {', '.join(FaultKind)}") from error
    for holds, message in (*_about_requests(fault, value), *_about_answers(fault)):
        if not holds:
            raise FaultError(message)
    return fault


def _about_requests(fault: Fault, value: Mapping[str, Any]) -> Iterator[tuple[bool, str]]:
    """Yield what must hold of the requests that a fault is for, and of its time."""
    most = _LATEST_EFFECT_SECONDS if fault.kind in _ON_THE_PROVIDERS_CLOCK else _LONGEST_SECONDS
    is_count = fault.count is None or (type(fault.count) is int and fault.count > 0)
    chooses_by_key = fault.on == "create" and fault.charge is None
    yield fault.on in PLACES, f"on must be one of {', '.join(PLACES)}"
    yield _is_text(fault.charge), "charge must be a text"
    yield _is_text(fault.idempotency_key), "idempotency_key must be a text"
    yield is_count, "count must be above 0 or null"
    yield fault.kind not in _NEED_SECONDS or "seconds" in value, f"{fault.kind} needs seconds"
    yield _is_duration(fault.seconds, most=most), f"seconds must be from 0 to {most:.0f}"
    yield fault.kind not in _CREATE_ONLY or fault.on == "create", f"{fault.kind} is for create only"
    yield (
        fault.kind is not FaultKind.NOT_READ or chooses_by_key,
        "what is not read can be chosen by idempotency_key only",
    )


def _about_answers(fault: Fault) -> Iterator[tuple[bool, str]]:
    """Yield what must hold of the answer that a fault orders."""
    is_error = type(fault.status) is int and fault.status in _HTTP_ERRORS
    yield is_error, "status must be from 400 to 599"
    yield _is_text(fault.code), "code must be a text"
    yield _is_text(fault.failure_reason), "failure_reason must be a text"
    yield fault.first in STATUSES, f"first must be one of {', '.join(STATUSES)}"
    yield fault.then in (None, *STATUSES), f"then must be one of {', '.join(STATUSES)}"
    yield fault.should_retry in (None, True, False), "should_retry must be true, false or null"
    yield _is_header_value(fault.rate_limited_reason), "rate_limited_reason must be a short text"
    yield (
        isinstance(fault.book, bool) and isinstance(fault.reset, bool),
        "book and reset must be true or false",
    )
    yield str(fault.body) in UNPARSABLE_BODIES, f"body must be one of {', '.join(UNPARSABLE_BODIES)}"


def _is_text(value: object) -> bool:
    return value is None or isinstance(value, str)


def _is_duration(value: object, *, most: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most


def _is_header_value(value: object) -> bool:
    return value is None or (isinstance(value, str) and value.isascii() and value.isprintable())
