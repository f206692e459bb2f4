"""Which formats there are, how a file is recognised, and how it is read into rows."""

from collections.abc import Collection
from enum import StrEnum
from typing import Final

from ledger.loading.formats import documented_csv, stripe_payments, stripe_refunds
from ledger.loading.formats.documented_json import read_document
from ledger.loading.formats.files import Table, UnreadableFileError, read_table
from ledger.loading.formats.json_text import parse_json
from ledger.loading.formats.stripe_columns import CREATED, StripeOptions
from ledger.loading.rows import Batch


class FileFormat(StrEnum):
    """What ``--format`` accepts."""

    AUTO = "auto"
    JSON = "json"
    CSV = "csv"
    STRIPE_PAYMENTS = "stripe-payments"
    STRIPE_REFUNDS = "stripe-refunds"


STRIPE_FORMATS: Final = frozenset({FileFormat.STRIPE_PAYMENTS, FileFormat.STRIPE_REFUNDS})


class MerchantNeededError(Exception):
    """If you see this, the file names no merchant and none was given: an export of Stripe never names one."""


def read_batch(text: str, file_format: FileFormat, *, merchant: str | None, stripe: StripeOptions) -> Batch:
    """Return the file's rows. Raises UnreadableFileError and MerchantNeededError."""
    looks_like_json = text.lstrip()[:1] in {"{", "["}
    if file_format is FileFormat.JSON or (file_format is FileFormat.AUTO and looks_like_json):
        return read_document(parse_json(text), merchant=merchant)
    table = read_table(text)
    if file_format is FileFormat.AUTO:
        file_format = _recognised(table)
    _check_columns(table, file_format)
    if file_format is FileFormat.CSV:
        return documented_csv.read_csv(table, merchant=merchant)
    if merchant is None:
        raise MerchantNeededError(
            "Stripe's exports name no merchant: say whose account it is with --merchant"
        )
    if file_format is FileFormat.STRIPE_REFUNDS:
        return stripe_refunds.read_refunds(table, stripe)
    return stripe_payments.read_payments(table, stripe)


def _recognised(table: Table) -> FileFormat:
    columns = set(table.columns)
    if columns >= set(documented_csv.NEEDED_COLUMNS):
        return FileFormat.CSV
    if columns >= set(stripe_payments.NEEDED_COLUMNS):
        return FileFormat.STRIPE_PAYMENTS
    if columns >= set(stripe_refunds.NEEDED_COLUMNS) and not columns.isdisjoint(stripe_refunds.CHARGE):
        return FileFormat.STRIPE_REFUNDS
    if any(";" in name for name in columns):
        raise UnreadableFileError("the first line has semicolons; the cells must be separated by commas")
    raise UnreadableFileError(
        "the first line names the columns of no known format. The documented CSV has at least"
        f" {_listed(documented_csv.NEEDED_COLUMNS)}; a payments export {_listed(stripe_payments.NEEDED_COLUMNS)};"
        f" a refunds export {_listed((*stripe_refunds.NEEDED_COLUMNS, stripe_refunds.CHARGE[0]))}"
    )


def _check_columns(table: Table, file_format: FileFormat) -> None:
    needed = {
        FileFormat.CSV: documented_csv.NEEDED_COLUMNS,
        FileFormat.STRIPE_PAYMENTS: stripe_payments.NEEDED_COLUMNS,
        FileFormat.STRIPE_REFUNDS: stripe_refunds.NEEDED_COLUMNS,
    }[file_format]
    columns = set(table.columns)
    missing = [name for name in needed if name not in columns]
    if file_format in STRIPE_FORMATS and columns.isdisjoint(CREATED):
        missing.append(CREATED[0])
    if missing:
        raise UnreadableFileError(f"these columns are missing: {_listed(missing)}")


def _listed(names: Collection[str]) -> str:
    return ", ".join(names)
