"""What must hold once everything is quiet: nothing is left without an owner, and both books tell of the same refunds."""

from typing import Any

from tests.torture.database import Rows
from tests.torture.oracles.watch import ABANDONED
from tests.torture.provider.book import Provider

Found = list[tuple[str, str]]
_TERMINAL = frozenset({"COMPLETED", "NO_REFUND_DUE", "REJECTED", "WITHDRAWN"})
_PEOPLE = frozenset({"REQUIRES_HUMAN_APPROVAL", "MANUAL_REVIEW"})
_ON_ITS_WAY = frozenset({"pending", "requires_action"})


def endings(rows: Rows, provider: Provider, *, events_lost: bool) -> Found:
    """Return what is wrong with the end of a run."""
    found = [*_orphans(rows, provider), *_owed(rows)]
    for operation in rows.operations:
        found += _books_agree(operation, provider, events_lost=events_lost)
    for one in provider.refunds:
        if one.operation_id is not None and not any(row["id"] == one.operation_id for row in rows.operations):
            found.append(("BOOKS_AGREE", f"{one.reference} is of no operation"))
    return found


def _orphans(rows: Rows, provider: Provider) -> Found:
    found = []
    owned = {row["subject_id"] for row in rows.cases if row["closed_at"] is None}
    for row in rows.workflows:
        state = row["state"]
        if state in _TERMINAL or (state in _PEOPLE and row["id"] in owned):
            continue
        waits = [
            one
            for operation in rows.operations
            if operation["workflow_id"] == row["id"] and operation["state"] == "PROVIDER_PENDING"
            for one in provider.of_operation(operation["id"])
            if one.status in _ON_ITS_WAY
        ]
        if not waits:
            found.append(("NOBODY_OWNS_THE_END", f"{row['id']} is {state}"))
    return found


def _books_agree(operation: dict[str, Any], provider: Provider, *, events_lost: bool) -> Found:
    state, mine = operation["state"], provider.of_operation(operation["id"])
    live = [one for one in mine if one.live]
    if state == "COMPLETED" and not live and not events_lost:
        return [("BOOKS_AGREE", f"{operation['id']} is COMPLETED and its money came back")]
    if state in ABANDONED and live:
        return [("BOOKS_AGREE", f"{operation['id']} is {state} and was paid")]
    if state == "PROVIDER_PENDING" and not any(one.status in _ON_ITS_WAY for one in mine):
        return [("BOOKS_AGREE", f"{operation['id']} waits for nothing")]
    if state in {"CREATED", "SUBMITTED", "STATUS_UNKNOWN", "CONFIRMED_ABSENT"}:
        return [("NOBODY_OWNS_THE_END", f"{operation['id']} is {state}")]
    return []


def _owed(rows: Rows) -> Found:
    """Every refund that was completed has its one receipt."""
    told = [row["logical_event_id"] for row in rows.notifications]
    return [
        ("RECEIPT_OWED", row["id"])
        for row in rows.operations
        if row["state"] == "COMPLETED" and told.count(f"refund.completed:{row['id']}") != 1
    ]
