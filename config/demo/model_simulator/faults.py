"""What may go wrong with a model, armed through the control side; kept in the book until used up.

A fault with a ``question`` waits for that one; any other happens to whatever is asked next.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from config.demo.model_simulator.questions import PROPOSAL, READING
from config.demo.model_simulator.scripts import TRICKS

LONGEST_SECONDS = 600.0


class FaultKind(StrEnum):
    """Each names what happens to one chat completion."""

    SLOW = "slow"  # the honest answer, after `seconds`
    DRIP = "drip"  # the honest answer, one byte each `seconds`
    HTTP_ERROR = "http_error"  # `status`, with an error body
    RATE_LIMIT = "rate_limit"  # 429, with Retry-After: `retry_after` unless it is null
    DROP = "drop"  # the connection is closed without an answer
    RESET = "reset"  # likewise, but reset as by a crashed machine
    NOT_JSON = "not_json"  # 200 with a page instead of JSON
    MALFORMED_JSON = "malformed_json"  # a completion whose content is cut-off JSON
    MISSING_FIELD = "missing_field"  # the honest answer without the field `name`
    EXTRA_FIELD = "extra_field"  # the honest answer with a harmless field more
    PROSE = "prose"  # sentences instead of JSON
    FENCES = "fences"  # the honest answer between Markdown fences
    HOSTILE = "hostile"  # a completion whose content is `content`, word for word
    TRICK = "trick"  # a proposal with the trick `name`: another amount, a promise, ...
    OBEDIENT = "obedient"  # does what the customer's text tells it, and repeats it
    REFUSAL = "refusal"  # message.refusal is set, content is null
    CONTENT_FILTER = "content_filter"  # finish_reason content_filter, content is null
    TRUNCATION = "truncation"  # finish_reason length, content cut off
    EMPTY_CHOICES = "empty_choices"  # a completion without choices
    TOOL_CALLS = "tool_calls"  # `copies` identical calls of the tool `name`, which nobody offered


_DEFAULTS: dict[FaultKind, dict[str, Any]] = {
    FaultKind.SLOW: {"seconds": None},
    FaultKind.DRIP: {"seconds": 0.2},
    FaultKind.HTTP_ERROR: {"status": 500},
    FaultKind.RATE_LIMIT: {"retry_after": None},
    FaultKind.HOSTILE: {"content": None},
    FaultKind.TOOL_CALLS: {"name": "refund_now", "copies": 1},
    FaultKind.MISSING_FIELD: {"name": "reason_code"},
    FaultKind.TRICK: {"name": None},
}


class FaultError(ValueError):
    """A fault that cannot be armed; the message is for the one who arms it."""


def read_fault(value: Any) -> tuple[dict[str, Any], int | None]:
    """Return a fault and for how many requests (None: all) from JSON; raises FaultError."""
    if not isinstance(value, Mapping):
        raise FaultError("a fault is a JSON object")
    try:
        kind = FaultKind(str(value.get("kind")))
    except ValueError as error:
        raise FaultError(f"kind must be one of {', '.join(FaultKind)}") from error
    allowed = _DEFAULTS.get(kind, {})
    unknown = set(value) - {"kind", "count", "question"} - set(allowed)
    if unknown:
        raise FaultError(f"{kind} has no {', '.join(sorted(map(str, unknown)))}")
    count = value.get("count", 1)
    if count is not None and not (type(count) is int and count > 0):
        raise FaultError("count must be above 0 or null")
    fault = {name: value.get(name, default) for name, default in allowed.items()}
    if "question" in value:
        fault["question"] = value["question"]
    for name, given in fault.items():
        _check(name, given)
    if kind is FaultKind.TRICK and fault["name"] not in TRICKS:
        raise FaultError(f"name must be one of {', '.join(TRICKS)}")
    return {"kind": str(kind), **fault}, count


def _check(name: str, value: Any) -> None:
    holds, wanted = {
        "seconds": (_is_number(value) and 0 <= value <= LONGEST_SECONDS, f"from 0 to {LONGEST_SECONDS:.0f}"),
        "status": (type(value) is int and value in range(300, 600), "from 300 to 599"),
        "retry_after": (value is None or _is_short_text(str(value)), "null, seconds or a date"),
        "content": (isinstance(value, str), "a text"),
        "name": (isinstance(value, str), "a text"),
        "question": (value in (PROPOSAL, READING), f"{PROPOSAL} or {READING}"),
        "copies": (type(value) is int and value in range(1, 101), "from 1 to 100"),
    }[name]
    if not holds:
        raise FaultError(f"{name} must be {wanted}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_short_text(value: str) -> bool:
    return value.isascii() and value.isprintable() and len(value) < 100  # noqa: PLR2004 - of a header
