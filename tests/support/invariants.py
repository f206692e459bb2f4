"""What must never be true in the rows, asked over any connection: the scoreboard's questions and one more."""

import time
from typing import Any

from refunds.selectors.invariant_checks import CHECKS, PARAMETERS

# The questions Q1 to Q5 of the recipes, by the scoreboard's names.
QUESTIONS = {
    "Q1": ("RESERVED_ABOVE_CAPTURED", "NEGATIVE_REMAINING"),
    "Q2": ("KEY_OR_BODY_CHANGED",),
    "Q3": ("WORKFLOW_HISTORY_BROKEN", "OPERATION_HISTORY_BROKEN", "APPROVAL_HISTORY_BROKEN"),
    "Q4": ("REFUND_CLAIMED_TWICE",),
    "Q5": ("OPERATION_UNAPPROVED", "COMMAND_CHANGED", "TOO_FEW_APPROVED", "MAKER_APPROVED"),
}
# Q6: a transaction that is held open while somebody else is talked to.
_IDLE_SECONDS = 2
_HELD_OPEN = """
    SELECT pid::text, xact_start::text FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'idle in transaction'
    AND clock_timestamp() - xact_start > make_interval(secs => %(seconds)s)"""


def broken(cursor: Any) -> dict[str, list[str]]:
    """Return what breaks an invariant, by the question's name; ``cursor`` is Django's or psycopg's."""
    asked = {check.name: check.sql for check in CHECKS}
    missing = {name for names in QUESTIONS.values() for name in names} - set(asked)
    assert not missing, f"the scoreboard no longer asks {sorted(missing)}"
    found = {}
    for name, sql in asked.items():
        cursor.execute(sql, PARAMETERS)
        if rows := cursor.fetchall():
            found[name] = [str(row[0]) for row in rows]
    if held := _held_open(cursor):
        found["HELD_OPEN"] = held
    return found


def _held_open(cursor: Any) -> list[str]:
    """Return the sessions that hold one transaction open; on a busy machine a short one may look so once."""
    still: set[tuple[str, str]] | None = None
    for _ in range(2):
        cursor.execute(_HELD_OPEN, {"seconds": _IDLE_SECONDS})
        seen = set(cursor.fetchall())
        still = seen if still is None else still & seen
        if not still:
            return []
        time.sleep(_IDLE_SECONDS)
    return sorted(pid for pid, _ in still or ())
