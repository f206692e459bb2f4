"""Disputes as Stripe's events show them, read without trust. Pure.

docs.stripe.com/api/disputes/object: the list of statuses is open. A word that is not known holds the money back.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

from ledger.snapshot import EntryStatus
from refunds.gateways.contract import AmountNotRepresentableError, ProviderContract

# An inquiry counts like a dispute until it is closed: it may become one. "prevented" is left open for people.
_CLOSED: Final[Mapping[str, EntryStatus]] = MappingProxyType(
    {"won": EntryStatus.WON, "warning_closed": EntryStatus.WON, "lost": EntryStatus.LOST}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputeFact:
    """One dispute as an event states it; minor units."""

    processor_reference: str
    amount_minor_units: int
    currency: str
    status: EntryStatus
    created_at: datetime | None


def read_dispute(
    about: Mapping[str, object], *, processor_reference: str, contract: ProviderContract
) -> DisputeFact | None:
    """Return the dispute that an event's object states, or None if its money cannot be read."""
    amount, currency, created = about.get("amount"), about.get("currency"), about.get("created")
    if type(amount) is not int or not isinstance(currency, str):
        return None
    code = currency.upper()
    try:
        minor_units = contract.minor_units(provider_amount=amount, currency=code)
    except AmountNotRepresentableError:
        return None
    return DisputeFact(
        processor_reference=processor_reference,
        amount_minor_units=minor_units,
        currency=code,
        status=_CLOSED.get(str(about.get("status")), EntryStatus.OPEN),
        created_at=_moment(created),
    )


def _moment(created: object) -> datetime | None:
    try:
        return datetime.fromtimestamp(created, tz=UTC) if type(created) is int else None
    except (OverflowError, ValueError, OSError):
        return None
