"""What Stripe's two Dashboard exports have in common: column names, times, amounts, and what is left unread.

The columns differ between accounts and years, so names are compared without regard to case. Amounts are decimals in
major units and times are UTC. Metadata columns are named ``<key> (metadata)``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from ledger.loading import fields
from ledger.loading.fields import FieldError, given
from ledger.loading.files import Table, UnreadableFileError
from ledger.loading.rows import Batch

CREATED: Final = ("created date (utc)", "created (utc)")
_METADATA: Final = " (metadata)"


@dataclass(frozen=True, slots=True)
class StripeOptions:
    """Whose account the file is of, which column holds the order number, and if rows without one may be left out."""

    merchant: str
    order_column: str = "order_id (metadata)"
    skip_rows_without_order: bool = False


def names(text: str) -> frozenset[str]:
    """Return column names that are separated by bars."""
    return frozenset(name.strip() for name in text.split("|"))


def lowered(table: Table) -> Table:
    """Return the table with its column names in lower case."""
    columns = tuple(name.lower() for name in table.columns)
    if len(set(columns)) < len(columns):
        raise UnreadableFileError("two columns differ only in upper and lower case")
    return replace(table, columns=columns)


def note_unread(batch: Batch, table: Table, known: frozenset[str], used: str = "") -> None:
    """Report metadata columns that are not read and columns that no export is known to have."""
    metadata = [name for name in table.columns if name.endswith(_METADATA) and name != used]
    if metadata:
        batch.notes.append(f"metadata that is not read: {', '.join(metadata)}")
    for name in table.columns:
        if name not in known and not name.endswith(_METADATA):
            batch.note_unknown(name)


def created_at(record: Mapping[str, str]) -> datetime:
    """Return when the object was created, whichever way this export names the column."""
    for name in CREATED:
        found = given(record, name, fields.stripe_moment)
        if found is not None:
            return found
    raise FieldError(f"{CREATED[0]} is missing")
