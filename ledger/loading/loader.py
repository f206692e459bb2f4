"""Loads ledger facts from a file or a document: everything of it, or nothing.

One transaction: read, check all rows, compare with the tables, and only then write. The same file again changes
nothing. How old the facts are is the file's own ``taken_at``, or when the file was last modified.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from django.db import connection, transaction

from ledger.loading.files import UnreadableFileError, read_text
from ledger.loading.formats import FileFormat, read_batch
from ledger.loading.json_format import read_document
from ledger.loading.json_text import lines_of
from ledger.loading.plan import Count, Plan
from ledger.loading.plan_parties import plan_customers, plan_merchants, plan_orders
from ledger.loading.plan_payments import confirm_payments, plan_entries, plan_payments
from ledger.loading.refunded_totals import plan_named_refunds, plan_refunded_totals
from ledger.loading.rows import Batch, Problem
from ledger.loading.stored import Stored, read_payments, read_rest
from ledger.loading.stripe_columns import StripeOptions
from ledger.loading.validation import check
from ledger.loading.writer import Progress, write

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
    progress(f"{len(batch.orders)} orders, {len(batch.payments)} payments, {len(batch.entries)} entries read")
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
        problems = list(batch.problems)
        plan = _planned(batch, options=options, now=now, as_of=as_of, problems=problems)
        if problems or plan is None:
            transaction.set_rollback(True)
            return LoadReport(as_of=as_of, problems=tuple(problems), notes=tuple(notes))
        progress("every row is sound; writing")
        write(plan, progress)
        if options.dry_run:
            transaction.set_rollback(True)
    return LoadReport(
        as_of=as_of,
        notes=(*notes, *plan.notes, *_kept(plan)),
        counts=plan.counts,
        confirmed=plan.confirmed,
    )


def _planned(
    batch: Batch, *, options: LoadOptions, now: datetime, as_of: datetime, problems: list[Problem]
) -> Plan | None:
    stored = read_payments(batch)
    unknown = _unknown_merchants(batch, stored)
    if unknown:
        problems.extend(unknown)
        return None
    accounts = {row.code: row.gateway_account for row in batch.merchants if row.gateway_account is not None}

    def account_of(merchant: str, payment: str) -> str:
        known = stored.account_of(merchant, payment)
        if known is not None:
            return known
        if merchant in accounts:
            return accounts[merchant] or ""
        return stored.merchants[merchant].gateway_account if merchant in stored.merchants else ""

    rows = check(batch, now=now, account_of=account_of, problems=problems)
    read_rest(stored, rows)
    plan = Plan(rows=rows, stored=stored, as_of=as_of, update_totals=options.update_totals, problems=problems)
    for step in (
        plan_merchants,
        plan_customers,
        plan_orders,
        plan_payments,
        plan_entries,
        plan_refunded_totals,
        plan_named_refunds,
        confirm_payments,
    ):
        step(plan)
    return plan


def _unknown_merchants(batch: Batch, stored: Stored) -> list[Problem]:
    known = stored.merchants.keys() | {row.code for row in batch.merchants}
    first: dict[str, str] = {}
    for row in [*batch.customers, *batch.orders, *batch.entries]:
        if row.merchant not in known:
            first.setdefault(row.merchant, row.where)
    return [
        Problem(where, f"merchant {code} is not known; a JSON file can describe it")
        for code, where in first.items()
    ]


def _kept(plan: Plan) -> list[str]:
    if not plan.kept_statuses:
        return []
    return [f"{plan.kept_statuses} statuses are older than what is held and were not taken"]


def _with_lines(report: LoadReport, text: str) -> LoadReport:
    lines = lines_of(text)
    problems = [
        Problem(f"line {lines[p.where]}, {p.where}", p.text) if p.where in lines else p
        for p in report.problems
    ]
    return LoadReport(as_of=report.as_of, problems=tuple(problems), notes=report.notes)
