"""Imports a settlement report: everything of it, or nothing; the same file again changes nothing."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Final

from django.db import connection, transaction

from ledger.loading.formats.files import read_table, read_text
from ledger.loading.rows import Problem
from ledger.models import Merchant, Settlement, SettlementFile
from ledger.settlements.rows import ReportRows, SettlementCategory, SettlementReport, SettlementRow, joined
from ledger.settlements.stripe_reports import ReportOptions, read_report

Progress = Callable[[str], None]
LONG: Final = 5000  # rows; shorter files are not worth a word about progress
_BATCH: Final = 2000
_ONE_IMPORT: Final = 7_201_844_310_255_102  # any constant; two imports of one file must not race
_COLUMNS: Final = (
    *("row_reference", "processor_reference", "operation_id", "payment_reference", "intent_reference"),
    *("amount_minor_units", "currency", "settled_minor_units", "settled_currency", "payout_reference"),
    "booked_at",
)


class MerchantUnknownError(ValueError):
    """If you see this, no merchant has the code that was given; load_ledger or the admin creates them."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How a report is to be read. ``account`` None is the merchant's own."""

    merchant: str
    operation_column: str
    account: str | None = None
    report: SettlementReport | None = None
    skip_other_accounts: bool = False
    dry_run: bool = False


@dataclass(slots=True)
class ImportReport:
    """What an import did; with problems it did nothing."""

    rows: ReportRows
    account: str
    problems: list[Problem] = field(default_factory=list)
    added: int = 0
    learnt: int = 0
    unchanged: int = 0


def import_report(path: Path, *, options: ImportOptions, now: datetime, progress: Progress) -> ImportReport:
    """Import one file. Raises UnreadableFileError and MerchantUnknownError before anything is compared."""
    merchant = Merchant.objects.filter(code=options.merchant).first()
    if merchant is None:
        raise MerchantUnknownError(f"no merchant has the code {options.merchant}")
    account = merchant.gateway_account if options.account is None else options.account
    text = read_text(path)
    rows = read_report(
        read_table(text),
        ReportOptions(
            account=account,
            operation_column=options.operation_column.lower(),
            report=options.report,
            skip_other_accounts=options.skip_other_accounts,
        ),
        now=now,
    )
    done = ImportReport(rows=rows, account=account, problems=list(rows.problems))
    if done.problems:
        return done
    if rows.total > LONG:
        progress(f"{rows.total} rows read, {len(rows.rows)} of them to be kept")
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_ONE_IMPORT])
        _write(done, merchant, _file(done, merchant, text, now), now, progress)
        transaction.set_rollback(options.dry_run or bool(done.problems))
    return done


def _file(done: ImportReport, merchant: Merchant, text: str, now: datetime) -> SettlementFile:
    """Return the file's own row; one that was imported before keeps the row that it has."""
    rows = done.rows
    file, _ = SettlementFile.objects.get_or_create(
        merchant=merchant,
        account=done.account,
        report=rows.report,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        defaults={
            "rows": rows.total,
            "first_booked_at": rows.first_booked_at,
            "last_booked_at": rows.last_booked_at,
            "imported_at": now,
        },
    )
    return file


def _write(
    done: ImportReport, merchant: Merchant, file: SettlementFile, now: datetime, progress: Progress
) -> None:
    written = 0
    for chunk in _chunks(done.rows.rows):
        held = _held(merchant, done, chunk)
        new = [made for row in chunk if (made := _new(done, row, held.get(row.row_reference))) is not None]
        Settlement.objects.bulk_create(
            Settlement(
                merchant=merchant,
                file=file,
                account=done.account,
                report=done.rows.report,
                revision=revision,
                category=row.category,
                imported_at=now,
                **{name: getattr(row, name) for name in _COLUMNS},
            )
            for row, revision in new
        )
        written += len(chunk)
        if len(done.rows.rows) > LONG:
            progress(f"{written} of {len(done.rows.rows)} rows compared")


def _new(done: ImportReport, row: SettlementRow, held: Settlement | None) -> tuple[SettlementRow, int] | None:
    """Return what is to be stored of a row and as which revision, or None if it tells nothing new."""
    if held is None:
        done.added += 1
        return row, 1
    before = _as_row(held)
    together, differing = joined(before, row)
    if differing:
        text = f"says another {' and '.join(differing)} than what was imported before for {row.row_reference}"
        done.problems.append(Problem(row.where, text))
        return None
    if together == before:
        done.unchanged += 1
        return None
    done.learnt += 1
    return replace(together, where=row.where), held.revision + 1


def _held(merchant: Merchant, done: ImportReport, chunk: Sequence[SettlementRow]) -> dict[str, Settlement]:
    """Return the newest revision of each row that was imported before."""
    found = (
        Settlement.objects.filter(
            merchant=merchant,
            account=done.account,
            report=done.rows.report,
            row_reference__in=[row.row_reference for row in chunk],
        )
        .order_by("row_reference", "-revision")
        .distinct("row_reference")
    )
    return {row.row_reference: row for row in found}


def _as_row(held: Settlement) -> SettlementRow:
    values = {name: getattr(held, name) for name in _COLUMNS}
    return SettlementRow("", category=SettlementCategory(held.category), **values)


def _chunks(rows: Sequence[SettlementRow]) -> Iterator[list[SettlementRow]]:
    remaining = iter(rows)
    while chunk := list(islice(remaining, _BATCH)):
        yield chunk
