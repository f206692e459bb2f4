"""What may go wrong when mail is handed over, armed through the control side; in memory only."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from config.demo.simulator_faults import ArmedFaults

LONGEST_SECONDS = 600.0


class Stage(StrEnum):
    """Where a fault happens; ``data`` is after the whole message was received."""

    CONNECT = "connect"
    MAIL = "mail"
    RCPT = "rcpt"
    DATA = "data"
    QUIT = "quit"


class FaultKind(StrEnum):
    """Each names what happens at its stage."""

    TEMPORARY = "temporary"  # a reply of 4xx, 421 unless `code` says otherwise (RFC 5321, 4.2.1)
    REJECTED = "rejected"  # a reply of 5xx, 550 unless `code` says otherwise
    HANG = "hang"  # nothing for `seconds`, then as usual
    DROP = "drop"  # the connection is closed without a reply
    DROP_AFTER_DATA = "drop_after_data"  # the message is kept, and the connection closed without a reply


_USUAL_STAGE = {
    FaultKind.TEMPORARY: Stage.CONNECT,
    FaultKind.REJECTED: Stage.RCPT,
    FaultKind.HANG: Stage.CONNECT,
    FaultKind.DROP: Stage.RCPT,
    FaultKind.DROP_AFTER_DATA: Stage.DATA,
}
_USUAL_CODE = {FaultKind.TEMPORARY: 421, FaultKind.REJECTED: 550}


class FaultError(ValueError):
    """A fault that cannot be armed; the message is for the one who arms it."""


@dataclass(slots=True, kw_only=True)
class Fault:
    """One armed fault; ``count`` None means until it is cleared, ``recipient`` None means everybody."""

    kind: FaultKind
    on: Stage
    count: int | None = 1
    recipient: str | None = None
    code: int = 0
    seconds: float = LONGEST_SECONDS

    def matches(self, stage: Stage, recipients: list[str]) -> bool:
        """Whether it is meant for this stage of a message to these recipients."""
        return self.on is stage and (self.recipient is None or self.recipient.lower() in recipients)


class Faults:
    """What was armed, by where in a delivery it happens."""

    def __init__(self) -> None:
        self._armed: ArmedFaults[Fault] = ArmedFaults()

    def arm(self, value: Any) -> dict[str, Any]:
        """Arm one fault from JSON and return it; raises FaultError for anything it does not know."""
        return asdict(self._armed.add(read_fault(value)))

    def take(self, stage: Stage, recipients: list[str]) -> Fault | None:
        """Return the first fault for a stage, counted down; recipients are lower-case."""
        return self._armed.take(lambda fault: fault.matches(stage, recipients))

    def clear(self) -> None:
        """Disarm everything."""
        self._armed.clear()

    def as_json(self) -> list[dict[str, Any]]:
        """Return what is armed."""
        return [asdict(fault) for fault in self._armed.all()]


def read_fault(value: Any) -> Fault:
    """Return a fault from JSON; raises FaultError."""
    if not isinstance(value, Mapping):
        raise FaultError("a fault is a JSON object")
    unknown = set(value) - set(Fault.__slots__)
    if unknown:
        raise FaultError(f"a fault has no {', '.join(sorted(map(str, unknown)))}")
    try:
        kind = FaultKind(str(value.get("kind")))
        stage = Stage(str(value.get("on", _USUAL_STAGE[kind])))
    except ValueError as error:
        names = f"kind is one of {', '.join(FaultKind)}; on is one of {', '.join(Stage)}"
        raise FaultError(names) from error
    fault = Fault(**{"code": _USUAL_CODE.get(kind, 0), **value, "kind": kind, "on": stage})
    _check(fault)
    return fault


def _check(fault: Fault) -> None:
    allowed = {FaultKind.TEMPORARY: range(400, 500), FaultKind.REJECTED: range(500, 600)}
    is_number = isinstance(fault.seconds, int | float) and not isinstance(fault.seconds, bool)
    knows_recipient = fault.on in (Stage.RCPT, Stage.DATA)
    checks = (
        (
            fault.count is None or (type(fault.count) is int and fault.count > 0),
            "count must be above 0 or null",
        ),
        (type(fault.code) is int and fault.code in allowed.get(fault.kind, {0}), "code is of another kind"),
        (is_number and 0 <= fault.seconds <= LONGEST_SECONDS, f"seconds must be 0 to {LONGEST_SECONDS:.0f}"),
        (fault.recipient is None or isinstance(fault.recipient, str), "recipient must be a text"),
        (fault.recipient is None or knows_recipient, "a recipient is known on rcpt and data only"),
        (
            fault.kind is not FaultKind.DROP_AFTER_DATA or fault.on is Stage.DATA,
            "drop_after_data happens on data",
        ),
    )
    for holds, message in checks:
        if not holds:
            raise FaultError(message)
