"""What may go wrong with a shop, armed through the control side for the next requests or for all."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from config.demo.simulator_faults import ArmedFaults

_LONGEST_SECONDS = 86_400.0 * 30


class FaultKind(StrEnum):
    """Each names what happens to one request for an order."""

    STATUS = "status"  # answer this HTTP status (default 503) with an error body
    REFUSED = "refused"  # the connection is reset without an answer
    SLOW = "slow"  # the honest answer, after `seconds`
    DRIP = "drip"  # the honest answer, one byte each `seconds`
    CUT = "cut"  # half of the honest answer, then the connection is closed
    REDIRECT = "redirect"  # 302 to `location`
    MALFORMED = "malformed"  # 200 with JSON that stops in the middle
    REPEATED_KEY = "repeated_key"  # the document says `orders` twice
    NOT_A_NUMBER = "not_a_number"  # an amount is NaN
    DEEP = "deep"  # brackets nested 100 000 times
    OVERSIZED = "oversized"  # 5 MB
    COMPRESSED = "compressed"  # the honest answer, gzipped though nobody asked for it
    WRONG_CUSTOMER = "wrong_customer"  # the honest orders, as another customer's
    WRONG_MERCHANT = "wrong_merchant"  # the honest orders, as another merchant's
    WRONG_ORDER = "wrong_order"  # the order asked for has another number
    WRONG_TOTAL = "wrong_total"  # the order's total is 1 more than it is
    STALE = "stale"  # the honest orders, read `seconds` ago
    AHEAD = "ahead"  # the honest orders, read `seconds` from now


class FaultError(ValueError):
    """A fault that cannot be armed; the message is for the one who arms it."""


@dataclass(slots=True)
class Fault:
    """One armed fault; ``count`` None means until it is cleared, ``order`` None any order number."""

    kind: FaultKind
    order: str | None = None
    count: int | None = 1
    seconds: float = 0.0
    status: int = 503
    location: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the fault as the control side shows it."""
        return {name: getattr(self, name) for name in self.__slots__} | {"kind": self.kind.value}


class Faults:
    """What was armed, by the order that is asked for. A restarted simulator has none."""

    def __init__(self) -> None:
        self._armed: ArmedFaults[Fault] = ArmedFaults()

    def arm(self, value: Any) -> None:
        """Arm one fault from JSON; raises FaultError for anything it does not know."""
        self._armed.add(_read(value))

    def take(self, number: str) -> Fault | None:
        """Return the first fault for an order number, counted down."""
        return self._armed.take(lambda fault: fault.order in (None, number))

    def clear(self) -> None:
        """Disarm every fault."""
        self._armed.clear()

    def as_json(self) -> list[dict[str, Any]]:
        """Return what is armed, the next one first."""
        return [fault.as_json() for fault in self._armed.all()]


def _read(value: Any) -> Fault:
    if not isinstance(value, Mapping):
        raise FaultError("a fault is a JSON object")
    unknown = value.keys() - set(Fault.__slots__)
    if unknown:
        raise FaultError(f"a fault has no {', '.join(sorted(unknown))}")
    try:
        kind = FaultKind(str(value.get("kind")))
    except ValueError as error:
        raise FaultError(f"kind must be one of {', '.join(FaultKind)}") from error
    fault = Fault(**{**value, "kind": kind})
    checks = (
        (fault.order is None or isinstance(fault.order, str), "order must be an order number"),
        (
            fault.count is None or (type(fault.count) is int and fault.count > 0),
            "count must be above 0 or null",
        ),
        (_is_duration(fault.seconds), f"seconds must be from 0 to {_LONGEST_SECONDS:.0f}"),
        (type(fault.status) is int and 400 <= fault.status <= 599, "status must be from 400 to 599"),  # noqa: PLR2004
        (isinstance(fault.location, str) and fault.location.isprintable(), "location must be an address"),
    )
    for holds, message in checks:
        if not holds:
            raise FaultError(message)
    return fault


def _is_duration(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _LONGEST_SECONDS
