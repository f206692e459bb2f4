"""Files for the loader's tests: a small document, and what the tables hold afterwards."""

import copy
import json
import os
from datetime import UTC, datetime, timedelta

from ledger.loading.loader import LoadOptions, LoadReport, load_document, load_file
from ledger.models import Customer, LedgerEntry, Merchant, Order, Payment

NOW = datetime(2026, 11, 28, 10, 0, tzinfo=UTC)

DOCUMENT = {
    "taken_at": "2026-11-28T09:00:00Z",
    "merchants": [{"code": "harbour", "name": "Harbour Home", "region": "US", "gateway_account": "acct_1"}],
    "customers": [{"merchant": "harbour", "reference": "C-1", "email": "Ana@Example.com"}],
    "orders": [
        {
            "merchant": "harbour",
            "number": "#2841",
            "customer": "C-1",
            "description": "Blue kettle",
            "total_minor_units": 4999,
            "currency": "usd",
            "placed_at": "2026-11-26T11:30:00+02:00",
            "payments": [
                {
                    "reference": "ch_1",
                    "method_fingerprint": "fp_A",
                    "method_last4": "42",
                    "entries": [
                        {
                            "kind": "capture",
                            "status": "succeeded",
                            "amount_minor_units": 4999,
                            "currency": "USD",
                            "occurred_at": "2026-11-26T09:30:05Z",
                        },
                        {
                            "kind": "REFUND",
                            "reference": "re_1",
                            "status": "PENDING",
                            "amount_minor_units": 820,
                            "currency": "USD",
                            "occurred_at": "2026-11-27T09:30:05Z",
                        },
                    ],
                }
            ],
        }
    ],
}


def document(change=None) -> dict:
    made = copy.deepcopy(DOCUMENT)
    if change is not None:
        change(made)
    return made


def load(value, *, now=NOW, **options) -> LoadReport:
    return load_document(value, now=now, options=LoadOptions(**options))


def write_file(path, content, *, at=NOW - timedelta(hours=1)):
    if isinstance(content, dict):
        content = json.dumps(content, indent=1)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    os.utime(path, (at.timestamp(), at.timestamp()))
    return path


def load_path(path, *, now=NOW, progress=lambda _: None, **options) -> LoadReport:
    return load_file(path, options=LoadOptions(**options), now=now, progress=progress)


def changes(report) -> dict[str, tuple[int, int, int]]:
    assert report.problems == ()
    return {noun: (c.added, c.updated, c.unchanged) for noun, c in report.counts.items()}


def added(report) -> dict[str, int]:
    return {noun: count for noun, (count, _, _) in changes(report).items() if count}


def changed_nothing(report) -> bool:
    return all((a, u) == (0, 0) for a, u, _ in changes(report).values())


def problems(report) -> list[str]:
    assert report.counts == {}
    return [f"{problem.where}: {problem.text}" for problem in report.problems]


def row_counts() -> tuple[int, ...]:
    return tuple(model.objects.count() for model in (Merchant, Customer, Order, Payment, LedgerEntry))


def entries(*columns) -> list[tuple]:
    return list(LedgerEntry.objects.order_by("pk").values_list(*columns))
