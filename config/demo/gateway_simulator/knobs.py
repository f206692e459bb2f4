"""What may happen to an event on its way: armed by the control side, one knob for each matching event.

None of it is against the provider's promises: order, number and time of deliveries are not guaranteed (facts 4.2),
and an event may never come (fact 8 of the first ten): ``lost`` is listed all the same, ``ungenerated`` is nowhere.
The last five are what an attacker or a wrong set-up sends.
"""

import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

_LONGEST_SECONDS = 86_400.0
_MOST_COPIES = 100
_FLAGS = ("early", "twin", "reordered", "held", "lost", "ungenerated", "wrong_secret", "livemode", "tampered")


class KnobError(ValueError):
    """A knob that cannot be armed; the message is for the one who arms it."""


@dataclass(slots=True, kw_only=True)
class Knob:
    """For which events, how many of them (``count`` None: until cleared), and what happens to each."""

    type: str | None = None
    charge: str | None = None
    count: int | None = 1
    early: bool = False  # tried once before the call that caused it is answered
    seconds: float = 0.0  # late by so much
    copies: int = 1  # the same event so many times
    twin: bool = False  # a second event object, with its own id, for the same change
    reordered: bool = False  # the events of one change in reverse order
    held: bool = False  # sent on release only
    lost: bool = False  # never sent
    ungenerated: bool = (
        False  # never made: neither sent nor listed (docs.stripe.com/webhooks/handle-irrecoverable-events)
    )
    wrong_secret: bool = False
    livemode: bool = False
    account: str | None = None  # says that it is of this account
    age_seconds: float = 0.0  # signed so long ago; negative: in the future
    tampered: bool = False  # changed after it was signed


class Knobs:
    """The armed knobs, oldest first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._armed: list[Knob] = []

    def arm(self, value: Any) -> Knob:
        """Arm one knob from JSON; raises KnobError for anything it does not know."""
        knob = _knob(value)
        with self._lock:
            self._armed.append(knob)
        return knob

    def take(self, event_type: str, about: list[str], *, may_be_sent: bool = True) -> Knob:
        """Return the first knob that matches, counted down; a plain one if none does.

        An event that goes nowhere leaves every knob to the next one, but for ``ungenerated``.
        """
        with self._lock:
            for knob in self._armed:
                if not (may_be_sent or knob.ungenerated):
                    continue
                if knob.type in (None, event_type) and (knob.charge is None or knob.charge in about):
                    if knob.count is not None:
                        knob.count -= 1
                        if knob.count == 0:
                            self._armed.remove(knob)
                    return knob
        return Knob()

    def clear(self) -> None:
        """Disarm everything."""
        with self._lock:
            self._armed.clear()

    def as_json(self) -> list[dict[str, Any]]:
        """Return what is armed."""
        with self._lock:
            return [asdict(knob) for knob in self._armed]


def _knob(value: Any) -> Knob:
    if not isinstance(value, Mapping):
        raise KnobError("a knob is a JSON object")
    unknown = set(value) - set(Knob.__slots__)
    if unknown:
        raise KnobError(f"a knob has no {', '.join(sorted(map(str, unknown)))}")
    knob = Knob(**value)
    texts, flags = (knob.type, knob.charge, knob.account), [getattr(knob, name) for name in _FLAGS]
    checks = (
        (all(isinstance(text, str | None) for text in texts), "type, charge and account must be texts"),
        (all(isinstance(flag, bool) for flag in flags), f"{', '.join(_FLAGS)} must be true or false"),
        (knob.count is None or _is_whole(knob.count, most=10**6), "count must be above 0 or null"),
        (_is_whole(knob.copies, most=_MOST_COPIES), f"copies must be from 1 to {_MOST_COPIES}"),
        (
            _is_number(knob.seconds) and 0 <= knob.seconds <= _LONGEST_SECONDS,
            f"seconds must be from 0 to {_LONGEST_SECONDS:.0f}",
        ),
        (
            _is_number(knob.age_seconds) and abs(knob.age_seconds) <= 365 * _LONGEST_SECONDS,
            "age_seconds must be within a year",
        ),
    )
    for holds, message in checks:
        if not holds:
            raise KnobError(message)
    return knob


def _is_whole(value: object, *, most: int) -> bool:
    return type(value) is int and 0 < value <= most


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
