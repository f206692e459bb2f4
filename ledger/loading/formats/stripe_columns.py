"""What Stripe's two Dashboard exports have in common: column names, times, amounts, and what is left unread.

The columns differ between accounts and years; these are the ones that exports have been seen with. Amounts are
decimals in major units and times are UTC. Metadata columns are named ``<key> (metadata)``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ledger.loading.formats import fields
from ledger.loading.formats.fields import FieldError, given
from ledger.loading.formats.files import Table
from ledger.loading.rows import Batch

CREATED: Final = ("created date (utc)", "created (utc)")
_METADATA: Final = " (metadata)"


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


def created_at(record: Mapping[str, str]) -> datetime:
    """Return when the object was created, whichever way this export names the column."""
    for name in CREATED:
        found = given(record, name, fields.stripe_moment)
        if found is not None:
            return found
    raise FieldError(f"{CREATED[0]} is missing")
