"""What leaves this system, made clean: any text, and any value as plain JSON types. Pure."""

import re
from collections.abc import Mapping
from typing import Any, Final

from ledger.card_numbers import find_card_numbers
from ledger.redaction.detection import mask
from ledger.redaction.kinds import Kind
from ledger.redaction.names import is_sensitive

MASK: Final = "[REDACTED]"
_DEEPEST: Final = 8
_SHORTEST_CARD: Final = 10**12
_SHORT: Final = 40  # characters
# What lines are mostly made of: identifiers, digests and times, which hold nothing else.
_HARMLESS: Final = re.compile(
    r"(?![sr]k_)[a-z]{2,5}_[0-9A-Z]{26}|(?=[0-9]*[a-f])(?:[0-9a-f]{32}|[0-9a-f]{64})"
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?(?:Z|\+00:00)"
)
_REMEMBERED: Final = 4096
# Short texts that were looked at and hold nothing: codes and names come again and again.
_clean: set[str] = set()


def redact_text(text: str) -> str:
    """Return the text with every find of every kind replaced by one mask."""
    if text in _clean or _HARMLESS.fullmatch(text):
        return text
    shown = mask(text, _one_mask)
    if len(text) <= _SHORT and shown == text and len(_clean) < _REMEMBERED:
        _clean.add(text)
    return shown


def _one_mask(_kind: Kind) -> str:
    return MASK


def redact(value: Any, *, name: str = "") -> Any:
    """Return a value as it may be shown, made of plain JSON types; ``name`` is the member that holds it.

    Members with sensitive names are replaced whatever they hold. An exception is shown by its type alone: its words
    may quote what somebody wrote.
    """
    return _redact(value, name, _DEEPEST)


def _redact(value: Any, name: str, deeper: int) -> Any:
    if value is None or isinstance(value, bool | float):
        return value
    if name and is_sensitive(name):
        return MASK if value != "" else value
    if isinstance(value, int):
        return MASK if abs(value) >= _SHORTEST_CARD and find_card_numbers(str(abs(value))) else value
    if deeper and isinstance(value, Mapping):
        return {redact_text(str(key)): _redact(inner, str(key), deeper - 1) for key, inner in value.items()}
    if deeper and isinstance(value, list | tuple | set | frozenset):
        return [_redact(inner, name, deeper - 1) for inner in value]
    return _as_text(value)


def _as_text(value: Any) -> str:
    if isinstance(value, BaseException):
        return type(value).__name__
    if isinstance(value, bytes | bytearray):
        return redact_text(bytes(value).decode("utf-8", "replace"))
    return redact_text(str(value))
