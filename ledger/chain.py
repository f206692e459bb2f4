"""The hash chain over published audit events: a changed, missing or moved event breaks it. Pure.

A chain proves sequence inside this system; it is not anchored outside it.
"""

from typing import Any, Final

from ledger.canonical import canonical_sha256

GENESIS: Final = "0" * 64


def link_hash(prev_hash: str, *, sequence: int, event: dict[str, Any]) -> str:
    """Return SHA-256 over the previous hash, the sequence and the canonical event, in hex."""
    document = {"prev": prev_hash, "sequence": sequence, "event": event}
    return canonical_sha256(document)
