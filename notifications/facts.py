"""Everything that a sentence to a customer may depend on, as one frozen value. Pure.

``refunds.facts`` fills it from rows; the catalogue words it; a queued message keeps it as JSON, so that a message
says what was true when it became due. States arrive as their codes: this app does not know refunds.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Self


class Receipt(StrEnum):
    """What became of the receipt of a confirmed refund."""

    NONE = "NONE"
    QUEUED = "QUEUED"
    DELAYED = "DELAYED"  # at least one attempt did not get through, and another is due
    DELIVERED = "DELIVERED"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedEntry:
    """One ledger row behind the finding: its codes are those of ``ledger.snapshot``, its amount minor units."""

    kind: str
    status: str
    processor_reference: str
    amount_minor_units: int
    currency: str
    occurred_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedFacts:
    """What the rows say about one request at one moment. Times are aware; amounts are minor units.

    ``operation_state`` is that of the operation that leads, None before there is one. ``other_operation_stands``:
    another operation of the request may have moved money. ``completed_at``: when the leading operation was recorded
    COMPLETED, also if that has changed since. ``ticket`` is the newest case's, ``case_kind`` that of an open case.
    ``provider_answered``: the provider itself answered the leading operation's newest attempt.
    ``refused_before_sending``: that attempt was refused here, and no earlier one reached the provider.
    ``order_number`` is empty while the customer has named none; ``answer_by`` is until when that is awaited.
    ``other_refunds`` are those of the request's other operations that are COMPLETED, each with its reference.
    ``state_reason`` and ``state_since`` are those of the event that led to the request's state; ``attached_to`` is
    the reference of the request that took over its words. ``origin`` is who opened it: CUSTOMER or STAFF.
    """

    workflow_state: str
    reference: str
    order_number: str
    requested_at: datetime
    operation_state: str | None = None
    origin: str = "CUSTOMER"
    state_reason: str = ""
    state_since: datetime | None = None
    attached_to: str = ""
    answer_by: datetime | None = None
    other_operation_stands: bool = False
    provider_answered: bool = False
    refused_before_sending: bool = False
    finding: str = ""
    reason_code: str = ""
    amount_minor_units: int | None = None
    currency: str = ""
    processor_reference: str | None = None
    card_last4: str = ""
    ticket: int | None = None
    case_kind: str = ""
    entries: tuple[StatedEntry, ...] = ()
    other_refunds: tuple[StatedEntry, ...] = ()
    other_order_numbers: tuple[str, ...] = ()
    completed_at: datetime | None = None
    last_checked_at: datetime | None = None
    next_check_at: datetime | None = None
    receipt: Receipt = Receipt.NONE

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; times are ISO 8601."""
        plain: dict[str, Any] = _plain(asdict(self))
        return plain

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the facts that ``to_json`` wrote; what a later version added or dropped is left out."""
        known = {field.name for field in fields(cls)}
        values = {name: _read(name, value) for name, value in stored.items() if name in known}
        return cls(**values)


_TIMES: Final = frozenset(
    {"requested_at", "completed_at", "last_checked_at", "next_check_at", "state_since", "answer_by"}
)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.isoformat() if isinstance(value, datetime) else value


def _read(name: str, value: Any) -> Any:
    if name in {"entries", "other_refunds"}:
        return tuple(
            StatedEntry(**item | {"occurred_at": datetime.fromisoformat(item["occurred_at"])})
            for item in value
        )
    if name == "other_order_numbers":
        return tuple(value)
    if name == "receipt":
        return Receipt(value)
    return datetime.fromisoformat(value) if name in _TIMES and value is not None else value
