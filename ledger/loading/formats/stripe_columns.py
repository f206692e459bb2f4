"""What Stripe's two Dashboard exports have in common: column names, times, amounts, and what is left unread.

The columns differ between accounts and years; these are the ones that exports have been seen with. Amounts are
decimals in major units and times are UTC. Metadata columns are named ``<key> (metadata)``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from ledger.loading.formats.fields import FieldError, given, needed, shown, text_of, words
from ledger.loading.formats.files import Table
from ledger.loading.rows import Batch
from ledger.money import MAX_MINOR_UNITS, parse_major_units
from ledger.snapshot import EntryStatus

CREATED: Final = ("created date (utc)", "created (utc)")
_METADATA: Final = " (metadata)"
_TIMES: Final = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M")


def names(text: str) -> frozenset[str]:
    """Return column names that are separated by bars."""
    return frozenset(name.strip() for name in text.split("|"))


PAYMENT_COLUMNS: Final = names(
    "id|created date (utc)|created (utc)|amount|amount refunded|currency|captured|converted amount"
    "|converted amount refunded|converted currency|decline reason|description|fee|tax|taxes on fee|is link"
    "|link funding|mode|paymentintent id|payment source type|refunded date (utc)|statement descriptor|status"
    "|seller message|interchange costs|merchant service charge|card id|card name|card address line1"
    "|card address line2|card address city|card address state|card address country|card address zip"
    "|card avs line1 status|card avs zip status|card brand|card cvc status|card exp month|card exp year"
    "|card fingerprint|card funding|card issue country|card last4|card tokenization method|customer id"
    "|customer description|customer email|customer phone|shipping name|shipping address line1"
    "|shipping address line2|shipping address city|shipping address state|shipping address country"
    "|shipping address postal code|disputed amount|dispute date (utc)|dispute evidence due (utc)"
    "|dispute reason|dispute status|invoice id|invoice number|checkout session id"
    "|checkout custom field 1 key|checkout custom field 1 value|checkout custom field 2 key"
    "|checkout custom field 2 value|checkout custom field 3 key|checkout custom field 3 value"
    "|checkout line item summary|checkout promotional consent|checkout terms of service consent"
    "|client reference id|payment link id|utm campaign|utm content|utm medium|utm source|utm term"
    "|terminal location id|terminal reader id|application fee|application id|destination|transfer"
    "|transfer group"
)
REFUND_COLUMNS: Final = names(
    "id|amount|balance transaction|charge|charge id|created (utc)|created date (utc)|currency|description"
    "|destination|failure balance transaction|failure reason|livemode|mode|payment intent|paymentintent id"
    "|reason|receipt number|source transfer reversal|status|transfer reversal"
)

_CHARGE_STATUSES: Final = {
    **dict.fromkeys(
        ("paid", "succeeded", "refunded", "partial refund", "partially refunded"), EntryStatus.SUCCEEDED
    ),
    **dict.fromkeys(("uncaptured", "requires_capture"), EntryStatus.SUCCEEDED),
    **dict.fromkeys(("pending", "processing"), EntryStatus.PENDING),
    **dict.fromkeys(("failed", "blocked", "requires_payment_method", "requires_action"), EntryStatus.FAILED),
    **dict.fromkeys(("canceled", "cancelled"), EntryStatus.CANCELED),
}
_DISPUTE_STATUSES: Final = {
    **dict.fromkeys(("needs_response", "under_review"), EntryStatus.OPEN),
    **dict.fromkeys(("warning_needs_response", "warning_under_review"), EntryStatus.OPEN),
    **dict.fromkeys(("won", "warning_closed", "prevented"), EntryStatus.WON),
    **dict.fromkeys(("lost", "charge_refunded"), EntryStatus.LOST),
}


@dataclass(frozen=True, slots=True)
class StripeOptions:
    """Whose account the file is of, which column holds the order number, and if rows without one may be left out."""

    merchant: str
    order_column: str = "order_id (metadata)"
    skip_rows_without_order: bool = False


def note_unread(batch: Batch, table: Table, known: frozenset[str], used: str = "") -> None:
    """Report metadata columns that are not read and columns that no export is known to have."""
    metadata = [name for name in table.columns if name.endswith(_METADATA) and name != used]
    if metadata:
        batch.notes.append(f"metadata that is not read: {', '.join(metadata)}")
    for name in table.columns:
        if name and name not in known and not name.endswith(_METADATA):
            batch.note_unknown(name)


def major_units(code: str) -> Callable[[Any], int]:
    """Return a reader of a plain decimal in major units, exact: ``145.05`` USD is 14505, ``500`` JPY is 500."""

    def read(value: Any) -> int:
        text = text_of(value).strip()
        try:
            amount = parse_major_units(text, code)
        except ValueError:
            raise FieldError(
                f"must be a plain decimal such as 1234.50, with no more decimals than {code} has: {shown(text)}"
            ) from None
        if not 0 <= amount <= MAX_MINOR_UNITS:
            raise FieldError(f"must be between 0 and what can be stored: {shown(text)}")
        return amount

    return read


def stripe_moment(value: Any) -> datetime:
    """Return a time of a column that says "(UTC)" in its name: ``2026-11-28 10:00:00`` or without seconds."""
    for form in _TIMES:
        try:
            return datetime.strptime(text_of(value).strip(), form).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise FieldError(f"must be a UTC time such as 2026-11-28 10:00:00: {shown(value)}")


def created_at(record: Mapping[str, str]) -> datetime:
    """Return when the object was created, whichever way this export names the column."""
    for name in CREATED:
        found = given(record, name, stripe_moment)
        if found is not None:
            return found
    raise FieldError(f"{CREATED[0]} is missing")


def charge_status(record: Mapping[str, str]) -> EntryStatus:
    """Return how far a charge got; whether it was captured is another column."""
    text = needed(record, "status", words(60)).lower()
    if text not in _CHARGE_STATUSES:
        raise FieldError(f"status is not one of {', '.join(sorted(_CHARGE_STATUSES))}: {text!r}")
    return _CHARGE_STATUSES[text]


def dispute_status(record: Mapping[str, str]) -> EntryStatus | None:
    """Return the state of a charge's dispute, or None if it has none (docs.stripe.com/api/disputes/object)."""
    text = record.get("dispute status", "").lower()
    if not text:
        return None
    if text not in _DISPUTE_STATUSES:
        raise FieldError(f"dispute status is not one of {', '.join(sorted(_DISPUTE_STATUSES))}: {text!r}")
    return _DISPUTE_STATUSES[text]
