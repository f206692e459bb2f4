"""Writes a plan, many rows at a time. Runs inside the transaction that made the plan."""

from collections.abc import Callable
from itertools import islice
from typing import Any, Final

from ledger.loading.planning.plan import NOUNS, Plan

Progress = Callable[[str], None]

_BATCH: Final = 2000


def write(plan: Plan, progress: Progress) -> None:
    """Write what the plan adds and changes, parents first."""
    for noun, model in NOUNS.items():
        _add(noun, plan.added[noun], progress)
        changed = list(plan.changed[noun].values())
        if changed:
            names = sorted(plan.changed_fields[noun])
            model._default_manager.bulk_update(changed, names, batch_size=_BATCH)  # noqa: SLF001 - Django's public way


def _add(noun: str, rows: list[Any], progress: Progress) -> None:
    remaining, written = iter(rows), 0
    while chunk := list(islice(remaining, _BATCH)):
        NOUNS[noun]._default_manager.bulk_create(chunk)  # noqa: SLF001
        written += len(chunk)
        if len(rows) > _BATCH:
            progress(f"{noun}: {written} of {len(rows)} written")
