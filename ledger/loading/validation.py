"""What must hold between the rows of one file before anything of it is compared with the tables. Pure.

A row that stands twice must say the same twice. For merchants, customers, orders and payments that is a mere
restatement; an entry that stands twice is a display feed repeating itself, and only raises ``seen_count``.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from ledger.loading.rows import (
    Batch,
    CustomerRow,
    EntryRow,
    MerchantRow,
    OrderRow,
    PaymentKey,
    PaymentRow,
    Problem,
    RefundedTotalRow,
)
from ledger.snapshot import EntryKind, EntryStatus

R = TypeVar("R", MerchantRow, CustomerRow, OrderRow, PaymentRow, EntryRow, RefundedTotalRow)

CLOCK_TOLERANCE: Final = timedelta(days=1)  # clocks of shops and providers differ, but not by more
_DISPUTE_STATUSES: Final = frozenset({EntryStatus.OPEN, EntryStatus.WON, EntryStatus.LOST})
_NOT_COMPARED: Final = frozenset({"where", "buyer", "seen_count"})


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """The rows of a file, each once, by key. Every account is filled in."""

    merchants: dict[str, MerchantRow]
    customers: dict[tuple[str, str], CustomerRow]
    orders: dict[tuple[str, str], OrderRow]
    payments: dict[PaymentKey, PaymentRow]
    entries: dict[PaymentKey, EntryRow]
    refunded_totals: dict[PaymentKey, RefundedTotalRow]


def check(
    batch: Batch, *, now: datetime, account_of: Callable[[str, str], str], problems: list[Problem]
) -> CheckedRows:
    """Return the file's rows merged by key, and add what contradicts to ``problems``.

    ``account_of(merchant, payment)`` is the provider account of a payment for which the file names none.
    """
    own_accounts = {
        (row.merchant, row.reference): row.account for row in batch.payments if row.account is not None
    }

    def account(merchant: str, payment: str, named: str | None) -> str:
        if named is not None:
            return named
        return own_accounts.get((merchant, payment)) or account_of(merchant, payment)

    payments = [replace(r, account=account(r.merchant, r.reference, r.account)) for r in batch.payments]
    entries = [replace(r, account=account(r.merchant, r.payment, r.account)) for r in batch.entries]
    _check_values([*batch.orders, *payments, *entries], now, problems)
    checked = CheckedRows(
        merchants=_merged(batch.merchants, lambda r: r.code, problems),
        customers=_merged(batch.customers, lambda r: (r.merchant, r.reference), problems),
        orders=_merged(batch.orders, lambda r: (r.merchant, r.number), problems),
        payments=_merged(payments, lambda r: (r.merchant, r.account or "", r.reference), problems),
        entries=_merged(entries, lambda r: (r.merchant, r.account or "", r.reference), problems),
        refunded_totals=_merged(
            batch.refunded_totals,
            lambda r: (r.merchant, account(r.merchant, r.payment, None), r.payment),
            problems,
        ),
    )
    _check_currencies(checked.entries.values(), problems)
    return checked


K = TypeVar("K", bound=Hashable)


def _merged(rows: Iterable[R], key: Callable[[R], K], problems: list[Problem]) -> dict[K, R]:
    found: dict[K, R] = {}
    for row in rows:
        known = found.get(key(row))
        if known is None:
            found[key(row)] = row
            continue
        values, differing = _joined(known, row)
        if differing:
            problems.append(
                Problem(
                    row.where, f"says another {' and '.join(differing)} than {known.where} for the same row"
                )
            )
        found[key(row)] = replace(known, **values)
    return found


def _joined(known: R, again: R) -> tuple[dict[str, Any], list[str]]:
    values: dict[str, Any] = {}
    differing: list[str] = []
    for column in fields(known):
        before, after = getattr(known, column.name), getattr(again, column.name)
        if column.name == "seen_count":
            values["seen_count"] = before + after
        elif column.name in _NOT_COMPARED or after is None or before == after:
            continue
        elif before is None:
            values[column.name] = after
        else:
            differing.append(column.name)
    return values, differing


def _check_values(
    rows: Iterable[OrderRow | PaymentRow | EntryRow], now: datetime, problems: list[Problem]
) -> None:
    for row in rows:
        for name in ("placed_at", "created_at", "occurred_at"):
            moment = getattr(row, name, None)
            if moment is not None and moment > now + CLOCK_TOLERANCE:
                problems.append(Problem(row.where, f"{name} lies in the future: {moment.isoformat()}"))
        if isinstance(row, EntryRow) and (row.kind is EntryKind.DISPUTE) != (row.status in _DISPUTE_STATUSES):
            problems.append(Problem(row.where, f"a {row.kind} cannot have the status {row.status}"))


def _check_currencies(entries: Iterable[EntryRow], problems: list[Problem]) -> None:
    by_payment: dict[PaymentKey, set[str]] = defaultdict(set)
    for row in entries:
        known = by_payment[row.merchant, row.account or "", row.payment]
        if known and row.currency not in known:
            problems.append(
                Problem(row.where, f"payment {row.payment} has entries in {row.currency} and {min(known)}")
            )
        known.add(row.currency)
