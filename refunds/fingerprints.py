"""The identity of one financial instruction: its fingerprint, and the key that every attempt reuses. Pure."""

from dataclasses import asdict, dataclass

from ledger.canonical import canonical_sha256


@dataclass(frozen=True, slots=True)
class RefundInstruction:
    """The exact command that is approved and executed; trusted code fills it from verified rows.

    ``command_number`` counts the commands of one workflow: a rebuilt command is another instruction.
    """

    merchant: str
    account: str
    payment: str
    amount_minor_units: int
    currency: str
    reason: str
    workflow_id: str
    command_number: int

    def as_json(self) -> dict[str, str | int]:
        """Return the command as plain JSON, as it is frozen in the approval."""
        return asdict(self)


def request_fingerprint(instruction: RefundInstruction) -> str:
    """Return SHA-256 over the canonical JSON (RFC 8785) of the instruction, in hex."""
    return canonical_sha256(instruction.as_json())


_KEY = "refund:"


def idempotency_key(refund_operation_id: str) -> str:
    """Return the key of an operation: a function of its id alone, never of an attempt, a time or an amount."""
    return f"{_KEY}{refund_operation_id}"


def operation_of_key(key: str) -> str:
    """Return the operation id that a key was made of, or an empty text for a key that is none of ours."""
    return key.removeprefix(_KEY) if key.startswith(_KEY) else ""
