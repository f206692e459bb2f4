"""Canonical JSON (RFC 8785), the one form over which digests are taken. Pure."""

import hashlib
from datetime import datetime
from typing import Any, Final

import rfc8785

_LARGEST_EXACT: Final = 2**53 - 1


def plain_json(value: Any) -> Any:
    """Return the value as JSON types: tuples as lists, times in ISO 8601, integers beyond 2^53 as text."""
    if isinstance(value, dict):
        return {str(key): plain_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _LARGEST_EXACT:
        return str(value)
    return value


def canonical_sha256(value: Any) -> str:
    """Return SHA-256 over the canonical form, in hex."""
    return hashlib.sha256(rfc8785.dumps(plain_json(value))).hexdigest()
