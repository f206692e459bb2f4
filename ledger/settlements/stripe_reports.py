"""Stripe's itemised settlement reports: balance change from activity, and payout reconciliation.

docs.stripe.com/reports/report-types/balance and /payout-reconciliation name the columns. Amounts are decimals in
major units, negative for money that leaves; a refund that failed stands as money that came back. What is refunded in
another currency than the balance is held in stands in both: the customer's is the one that our books have.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from ledger.loading.formats import fields
from ledger.loading.formats.fields import FieldError, given, needed, shown, text_of
from ledger.loading.formats.files import Table, UnreadableFileError
from ledger.loading.formats.stripe_columns import stripe_moment
from ledger.loading.rows import Problem
from ledger.loading.validation import CLOCK_TOLERANCE
from ledger.money import MAX_MINOR_UNITS, parse_major_units
from ledger.settlements.rows import (
    ReportRows,
    SettlementCategory,
    SettlementReport,
    SettlementRow,
    joined,
)

NEEDED_COLUMNS: Final = (
    *("balance_transaction_id", "created_utc", "currency", "gross", "reporting_category", "source_id"),
    *("charge_id", "payment_intent_id"),
)
PAYOUT_COLUMNS: Final = ("automatic_payout_id", "automatic_payout_effective_at_utc")
# docs.stripe.com/reports/reporting-categories
_CATEGORIES: Final = {category.value.lower(): category for category in SettlementCategory}
_CONVERTED: Final = frozenset({SettlementCategory.REFUND, SettlementCategory.REFUND_FAILURE})
_REFERENCE: Final = 255
_EARLIEST: Final = datetime(2010, 1, 1, tzinfo=UTC)  # the provider is no older


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """Whose balance the file is of, and in which column a refund's own operation id stands."""

    account: str
    operation_column: str
    report: SettlementReport | None = None
    skip_other_accounts: bool = False


def read_report(table: Table, options: ReportOptions, *, now: datetime) -> ReportRows:
    """Return what a report says; every line that cannot be read is a problem with its line number.

    Raises UnreadableFileError where a column is missing without which no line can be understood.
    """
    missing = [name for name in NEEDED_COLUMNS if name not in table.columns]
    if missing:
        raise UnreadableFileError(f"these columns are missing: {', '.join(missing)}")
    found = ReportRows(report=options.report or _recognised(table))
    if options.operation_column not in table.columns:
        found.notes.append(
            f"there is no column {options.operation_column}: refunds are joined by the provider's own id alone"
        )
    kept: dict[str, SettlementRow] = {}
    for line, record in table.records():
        where = f"line {line}"
        try:
            row = _row(record, where, options, found, now)
            if row is not None:
                _keep(kept, row)
        except FieldError as error:
            found.problems.append(Problem(where, str(error)))
    found.rows.extend(kept.values())
    return found


def _recognised(table: Table) -> SettlementReport:
    payout = set(table.columns).issuperset(PAYOUT_COLUMNS)
    return SettlementReport.PAYOUT if payout else SettlementReport.BALANCE_CHANGE


def _keep(kept: dict[str, SettlementRow], row: SettlementRow) -> None:
    known = kept.get(row.row_reference)
    if known is None:
        kept[row.row_reference] = row
        return
    together, differing = joined(known, row)
    if differing:
        raise FieldError(f"says another {' and '.join(differing)} than {known.where} for {row.row_reference}")
    kept[row.row_reference] = together


def _row(
    record: Mapping[str, str], where: str, options: ReportOptions, found: ReportRows, now: datetime
) -> SettlementRow | None:
    """Return a line that is kept, or None for one that is sound and about something else."""
    if not record:
        raise FieldError("does not have as many cells as the first line")
    booked_at = needed(record, "created_utc", stripe_moment)
    if booked_at > now + CLOCK_TOLERANCE:
        raise FieldError(f"created_utc lies in the future: {booked_at.isoformat()}")
    if booked_at < _EARLIEST:
        raise FieldError(f"created_utc lies before there was such a report: {booked_at.isoformat()}")
    named = needed(record, "reporting_category", fields.words(60)).lower()
    if _is_of_another(record, options):
        found.left_out["of another account"] = found.left_out.get("of another account", 0) + 1
        return None
    found.count(booked_at)
    code = needed(record, "currency", fields.currency)
    gross = needed(record, "gross", signed_major_units(code))
    category = _CATEGORIES.get(named)
    if category is None or gross == 0:
        found.left_out[named] = found.left_out.get(named, 0) + 1
        return None
    amount, currency = _customers(record, category, gross, code)
    return SettlementRow(
        where,
        row_reference=needed(record, "balance_transaction_id", fields.identifier(_REFERENCE)),
        category=category,
        processor_reference=needed(record, "source_id", fields.identifier(_REFERENCE)),
        operation_id=given(record, options.operation_column, fields.identifier(_REFERENCE)) or "",
        payment_reference=given(record, "charge_id", fields.identifier(_REFERENCE)) or "",
        intent_reference=given(record, "payment_intent_id", fields.identifier(_REFERENCE)) or "",
        amount_minor_units=amount,
        currency=currency,
        settled_minor_units=-gross,
        settled_currency=code,
        payout_reference=given(record, "automatic_payout_id", fields.identifier(_REFERENCE)) or "",
        booked_at=booked_at,
    )


def _is_of_another(record: Mapping[str, str], options: ReportOptions) -> bool:
    account = given(record, "connected_account_id", fields.identifier(64))
    if account is None or account == options.account:
        return False
    if not options.skip_other_accounts:
        raise FieldError(f"connected_account_id is {account}, and this file is imported for another account")
    return True


def _customers(
    record: Mapping[str, str], category: SettlementCategory, gross: int, code: str
) -> tuple[int, str]:
    """Return what left in the customer's currency; where nothing was converted, the balance's own is exact.

    Only the size is taken from there: its sign differs between reports, and that of the balance does not.
    """
    theirs = given(record, "customer_facing_currency", fields.currency)
    if category not in _CONVERTED or theirs is None or theirs == code:
        return -gross, code
    amount = abs(needed(record, "customer_facing_amount", signed_major_units(theirs)))
    if amount == 0:
        raise FieldError("customer_facing_amount must not be zero")
    return (amount if gross < 0 else -amount), theirs


def signed_major_units(code: str) -> Callable[[Any], int]:
    """Return a reader of a plain decimal in major units, exact and with its sign: ``-49.99`` USD is -4999."""

    def read(value: Any) -> int:
        text = text_of(value).strip()
        try:
            amount = parse_major_units(text, code)
        except ValueError:
            raise FieldError(
                f"must be a plain decimal such as -1234.50, with no more decimals than {code} has: {shown(text)}"
            ) from None
        if abs(amount) > MAX_MINOR_UNITS:
            raise FieldError(f"is more than can be stored: {shown(text)}")
        return amount

    return read
