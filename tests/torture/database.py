"""The observer: a session of its own that sees what is committed, asks the invariants, and empties the tables."""

import json
from dataclasses import dataclass, field
from typing import Any

import psycopg
from django.db import connection

from refunds.selectors.invariant_checks import CHECKS, PARAMETERS

_TABLES = {
    "operations": "refund_operations",
    "workflows": "refund_workflows",
    "attempts": "gateway_attempts",
    "responses": "gateway_responses",
    "checks": "reconciliation_checks",
    "operation_events": "refund_operation_events",
    "workflow_events": "refund_workflow_events",
    "approval_events": "approval_events",
    "approvals": "approval_requests",
    "outbox": "audit_outbox",
    "notifications": "notifications",
    "cases": "review_cases",
    "entries": "ledger_entries",
    "webhooks": "gateway_webhooks",
    "switches": "switches",
    "payments": "ledger_payments",
}
_EVERYTHING = "SELECT " + ", ".join(
    f"(SELECT coalesce(json_agg(t ORDER BY {'name' if table == 'switches' else 'id'}), '[]') FROM {table} t)"
    if table != "gateway_responses"
    else f"(SELECT coalesce(json_agg(t ORDER BY attempt_id), '[]') FROM {table} t)"
    for table in _TABLES.values()
)
_ASKED = " UNION ALL ".join(
    f"SELECT '{check.name}', found.id::text FROM ({check.sql}) AS found(id)" for check in CHECKS
)
_KEPT = ("django_migrations", "django_content_type", "auth_permission", "django_site")
_FRESH_AFTER = 400  # deletes leave dead rows behind


@dataclass(frozen=True, slots=True)
class Rows:
    """Every row that matters, as committed: a list of columns by name for each table."""

    operations: list[dict[str, Any]] = field(default_factory=list)
    workflows: list[dict[str, Any]] = field(default_factory=list)
    attempts: list[dict[str, Any]] = field(default_factory=list)
    responses: list[dict[str, Any]] = field(default_factory=list)
    checks: list[dict[str, Any]] = field(default_factory=list)
    operation_events: list[dict[str, Any]] = field(default_factory=list)
    workflow_events: list[dict[str, Any]] = field(default_factory=list)
    approval_events: list[dict[str, Any]] = field(default_factory=list)
    approvals: list[dict[str, Any]] = field(default_factory=list)
    outbox: list[dict[str, Any]] = field(default_factory=list)
    notifications: list[dict[str, Any]] = field(default_factory=list)
    cases: list[dict[str, Any]] = field(default_factory=list)
    entries: list[dict[str, Any]] = field(default_factory=list)
    webhooks: list[dict[str, Any]] = field(default_factory=list)
    switches: list[dict[str, Any]] = field(default_factory=list)
    payments: list[dict[str, Any]] = field(default_factory=list)


class Observer:
    """A connection beside the product's."""

    def __init__(self) -> None:
        settings = connection.settings_dict
        self._session = psycopg.connect(
            dbname=settings["NAME"],
            user=settings["USER"] or None,
            password=settings["PASSWORD"] or None,
            host=settings["HOST"] or None,
            port=settings["PORT"] or None,
            autocommit=True,
        )
        self._emptied = 0

    def close(self) -> None:
        """End the session."""
        self._session.close()

    def rows(self) -> Rows:
        """Return every committed row."""
        found = self._session.execute(_EVERYTHING, prepare=True).fetchone()
        assert found is not None
        return Rows(*found)

    def broken(self) -> list[tuple[str, str]]:
        """Return the invariants of the live scoreboard that do not hold, each with the row that breaks it."""
        return self._session.execute(_ASKED, PARAMETERS, prepare=True).fetchall()

    def one(self, sql: str, *params: object) -> Any:
        """Return the first column of the first row, None without a row."""
        found = self._session.execute(sql, params).fetchone()
        return found[0] if found else None

    def all(self, sql: str, *params: object) -> list[Any]:
        """Return all rows."""
        return self._session.execute(sql, params).fetchall()

    def empty(self) -> None:
        """Delete everything that a run left; triggers that protect evidence do not run for the owner's session."""
        self._emptied += 1
        tables = [
            name
            for (name,) in self.all("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
            if name not in _KEPT
        ]
        if self._emptied % _FRESH_AFTER == 0:
            with self._session.transaction():
                self._session.execute("SET LOCAL session_replication_role = replica")
                self._session.execute(f"TRUNCATE {', '.join(tables)}")
            return
        deletes = "; ".join(f"DELETE FROM {name}" for name in tables)
        self._session.execute(
            f"BEGIN; SET LOCAL session_replication_role = replica; {deletes}; COMMIT"  # one round trip
        )

    def waits_for_lock(self, pid: int) -> bool:
        """Say whether a session waits for a row that another one holds."""
        return bool(self.one("SELECT cardinality(pg_blocking_pids(%s))", pid))


def as_text(value: object) -> str:
    """Return a value as the trace writes it."""
    return json.dumps(value, default=str, sort_keys=True)
