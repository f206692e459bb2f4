"""Writes a plan, many rows at a time. Runs inside the transaction that made the plan."""

from collections.abc import Callable
from itertools import islice
from typing import Any, Final

from ledger.loading.planning.plan import NOUNS, Plan
from ledger.models import Payment

Progress = Callable[[str], None]

_BATCH: Final = 2000


def write(plan: Plan, progress: Progress) -> None:
    """Write what the plan adds and changes, parents first."""
    for noun, model in NOUNS.items():
        _add(noun, plan.added[noun], progress)
        changed = list(plan.changed[noun].values())
        if changed:
            names = sorted(plan.changed_fields[noun])
            model.objects.bulk_update(changed, names, batch_size=_BATCH)
    for start in range(0, len(plan.confirmed), _BATCH):
        chunk = plan.confirmed[start : start + _BATCH]
        Payment.objects.filter(pk__in=chunk).update(refreshed_at=plan.as_of)


def _add(noun: str, rows: list[Any], progress: Progress) -> None:
    remaining, written = iter(rows), 0
    while chunk := list(islice(remaining, _BATCH)):
        NOUNS[noun].objects.bulk_create(chunk)
        written += len(chunk)
        if len(rows) > _BATCH:
            progress(f"{noun}: {written} of {len(rows)} written")
