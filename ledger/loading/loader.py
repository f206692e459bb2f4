"""Loads ledger facts from a file or a document: everything of it, or nothing.

One transaction: read, check all rows, compare with the tables, and only then write. The same file again changes
nothing. How old the facts are is the file's own ``taken_at``, or when the file was last modified.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from django.db import connection, transaction

from ledger.loading.formats.documented_json import read_document
from ledger.loading.formats.files import UnreadableFileError, read_text
from ledger.loading.formats.json_text import lines_of
from ledger.loading.formats.registry import FileFormat, read_batch
from ledger.loading.formats.stripe_columns import StripeOptions
from ledger.loading.planning.parties import plan_customers, plan_merchants, plan_orders
from ledger.loading.planning.payments import confirm_payments, plan_entries, plan_payments
from ledger.loading.planning.plan import Count, Plan
from ledger.loading.planning.refunded_totals import plan_named_refunds, plan_refunded_totals
from ledger.loading.planning.stored import Stored, read_payments, read_rest
from ledger.loading.rows import Batch, Problem
from ledger.loading.validation import check
from ledger.loading.writer import Progress, write

LONG: Final = 2000  # entries; shorter files are not worth a word about progress
_STEPS: Final = (
    plan_merchants,
    plan_customers,
    plan_orders,
    plan_payments,
    plan_entries,
    plan_refunded_totals,
    plan_named_refunds,
    confirm_payments,
)
_ONE_LOADER: Final = 7_201_844_310_255_101  # any constant; two loads of one file must not race


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How a file is to be read. ``as_of`` overrides the time of its facts."""

    merchant: str | None = None
    file_format: FileFormat = FileFormat.AUTO
    order_column: str = "order_id (metadata)"
    skip_rows_without_order: bool = False
    update_totals: bool = False
    dry_run: bool = False
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What a load did; with problems it did nothing. ``confirmed`` payments are as fresh as ``as_of`` now."""

    as_of: datetime
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    counts: Mapping[str, Count] = field(default_factory=dict)
    confirmed: int = 0


def load_file(path: Path, *, options: LoadOptions, now: datetime, progress: Progress) -> LoadReport:
    """Load one file. Raises UnreadableFileError or MerchantNeededError before anything is compared."""
    text = read_text(path)
    stripe = StripeOptions(
        merchant=options.merchant or "",
        order_column=options.order_column.strip().lower(),
        skip_rows_without_order=options.skip_rows_without_order,
    )
    batch = read_batch(text, options.file_format, merchant=options.merchant, stripe=stripe)
    if len(batch.entries) > LONG:
        progress(f"{len(batch.entries)} entries read")
    modified = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    report = load_batch(batch, options=options, now=now, default_as_of=min(modified, now), progress=progress)
    if report.problems and text.lstrip()[:1] == "{":
        return _with_lines(report, text)
    return report


def load_document(
    document: Mapping[str, Any], *, now: datetime, options: LoadOptions | None = None
) -> LoadReport:
    """Load a document of the JSON format that is in memory; without ``taken_at`` its facts are as of ``now``."""
    chosen = options or LoadOptions()
    batch = read_document(dict(document), merchant=chosen.merchant)
    return load_batch(batch, options=chosen, now=now, default_as_of=now, progress=lambda _: None)


def load_batch(
    batch: Batch, *, options: LoadOptions, now: datetime, default_as_of: datetime, progress: Progress
) -> LoadReport:
    """Check, compare and write the rows of one file in one transaction."""
    as_of = options.as_of or batch.taken_at or default_as_of
    if as_of > now:
        raise UnreadableFileError(f"its facts would be of {as_of.isoformat()}, which lies in the future")
    notes = [
        *batch.notes,
        *(f"{name!r} is not read ({count} times)" for name, count in batch.unknown.items()),
    ]
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_ONE_LOADER])
        plan = _planned(batch, options=options, now=now, as_of=as_of)
        if isinstance(plan, Plan) and not plan.problems:
            if len(batch.entries) > LONG:
                progress("every row is sound; writing")
            write(plan, progress)
            transaction.set_rollback(options.dry_run)
    if not isinstance(plan, Plan) or plan.problems:
        problems = plan.problems if isinstance(plan, Plan) else plan
        return LoadReport(as_of=as_of, problems=tuple(problems), notes=tuple(notes))
    if plan.kept_statuses:
        notes.append(f"{plan.kept_statuses} statuses are older than what is held and were not taken")
    return LoadReport(
        as_of=as_of, notes=(*notes, *plan.notes), counts=plan.counts, confirmed=len(plan.confirmed)
    )


def _planned(batch: Batch, *, options: LoadOptions, now: datetime, as_of: datetime) -> Plan | list[Problem]:
    """Return what to write, or why not. Each kind of check runs only on rows that passed the one before."""
    stored = read_payments(batch)
    problems = list(batch.problems)
    rows = check(batch, now=now, account_of=_accounts(batch, stored), problems=problems)
    problems = problems or _unknown_merchants(batch, stored)
    if problems:
        return problems
    read_rest(stored, rows)
    plan = Plan(rows=rows, stored=stored, as_of=as_of, update_totals=options.update_totals)
    for step in _STEPS:
        step(plan)
        if plan.problems:
            break
    return plan


def _accounts(batch: Batch, stored: Stored) -> Callable[[str, str], str]:
    named = {row.code: row.gateway_account for row in batch.merchants if row.gateway_account is not None}
    held = {merchant.code: merchant.gateway_account for merchant in stored.merchants.values()}

    def account_of(merchant: str, payment: str) -> str:
        known = stored.account_of(merchant, payment)
        return named.get(merchant, held.get(merchant, "")) if known is None else known

    return account_of


def _unknown_merchants(batch: Batch, stored: Stored) -> list[Problem]:
    known = stored.merchants.keys() | {row.code for row in batch.merchants}
    named = [(row.merchant, row.where) for row in batch.customers]
    named += [(row.merchant, row.where) for row in batch.orders]
    named += [(row.merchant, row.where) for row in batch.entries]
    first = {code: where for code, where in reversed(named) if code not in known}
    return [
        Problem(where, f"merchant {code} is not known; a JSON file can describe it")
        for code, where in first.items()
    ]


def _with_lines(report: LoadReport, text: str) -> LoadReport:
    lines = lines_of(text)
    problems = [
        Problem(f"line {lines[p.where]}, {p.where}", p.text) if p.where in lines else p
        for p in report.problems
    ]
    return LoadReport(as_of=report.as_of, problems=tuple(problems), notes=report.notes)
