"""The invariants as a scoreboard: every question asked now, what it found, and how long it took."""

import time
from dataclasses import dataclass
from typing import Final

from django.db import connection

from refunds.selectors.invariant_checks import CHECKS, PARAMETERS, InvariantCheck

CAP: Final = 50


@dataclass(frozen=True, slots=True)
class InvariantResult:
    """What one question found: at most ``CAP`` ids; ``capped`` says that there are more."""

    check: InvariantCheck
    rows: tuple[str, ...]
    capped: bool
    milliseconds: int

    @property
    def holds(self) -> bool:
        """Return whether nothing breaks the invariant."""
        return not self.rows


def ask_invariants() -> tuple[InvariantResult, ...]:
    """Ask every question once, each as one statement; reads only."""
    return tuple(_ask(check) for check in CHECKS)


def _ask(check: InvariantCheck) -> InvariantResult:
    begun = time.monotonic()
    with connection.cursor() as cursor:
        # The texts are this package's own constants; nothing from outside is in them.
        cursor.execute(
            f"SELECT found::text FROM ({check.sql}) AS broken(found) ORDER BY 1 LIMIT {CAP + 1}",  # noqa: S608
            PARAMETERS,
        )
        rows = tuple(row for (row,) in cursor.fetchall())
    return InvariantResult(
        check=check,
        rows=rows[:CAP],
        capped=len(rows) > CAP,
        milliseconds=round((time.monotonic() - begun) * 1000),
    )
