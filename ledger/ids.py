"""Identifiers: prefixed ULIDs for machines, and a short reference with a check digit for people."""

import re
import secrets
from typing import Final

from ulid import ULID

_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford: no I, L, O, U
_REFERENCE: Final = re.compile(r"^RF-([0-9A-HJKMNP-TV-Z]{4})-([0-9A-HJKMNP-TV-Z]{4})$")
ID_LENGTH: Final = 40


def new_id(prefix: str) -> str:
    """Return ``<prefix>_<ULID>``, for example ``rfop_01K2...``: unique, and sortable by creation time."""
    return f"{prefix}_{ULID()}"


def new_reference() -> str:
    """Return a reference ``RF-XXXX-XXXX`` that a person can read out; its last character is a check digit."""
    body = "".join(secrets.choice(_ALPHABET) for _ in range(7))
    return _dashed(body + _check_digit(body))


def normalise_reference(text: str) -> str | None:
    """Return the canonical form of what a person typed, or None if the check digit does not hold."""
    typed = text.strip().upper().replace(" ", "").replace("O", "0").replace("I", "1").replace("L", "1")
    compact = typed.removeprefix("RF").replace("-", "")
    candidate = _dashed(compact)
    if not _REFERENCE.match(candidate) or _check_digit(compact[:7]) != compact[7]:
        return None
    return candidate


def _dashed(compact: str) -> str:
    return f"RF-{compact[:4]}-{compact[4:]}"


def _check_digit(body: str) -> str:
    """Luhn's algorithm over the 32 symbols: finds every wrong symbol and nearly every swap of neighbours."""
    total = 0
    for position, symbol in enumerate(reversed(body)):
        value = _ALPHABET.index(symbol)
        if position % 2 == 0:
            value *= 2
            value = value // 32 + value % 32
        total += value
    return _ALPHABET[-total % 32]
