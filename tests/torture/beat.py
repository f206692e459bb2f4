"""The beat table's scanners, and which of them look at rows that are due."""


def _due(table: str, column: str, condition: str = "true") -> str:
    return f"SELECT min(greatest({column}, claimed_until)) FROM {table} WHERE {column} IS NOT NULL AND {condition}"


Due = tuple[str, tuple[str, ...]]
_OPEN_MAIL = "delivered_at IS NULL AND failed_at IS NULL"
_WITH_PEOPLE = "state = 'MANUAL_REVIEW'"
DUE: tuple[Due, ...] = (
    (_due("refund_workflows", "next_attempt_at"), ("resume_workflows", "recheck_evidence")),
    (_due("refund_operations", "next_attempt_at"), ("resume_workflows",)),
    (
        _due("refund_operations", "next_check_at", f"NOT {_WITH_PEOPLE}"),
        ("recover_submitted", "reconcile_unknown"),
    ),
    (_due("gateway_webhooks", "next_attempt_at", "outcome = 'RECEIVED'"), ("apply_webhooks",)),
    (_due("notifications", "next_attempt_at", _OPEN_MAIL), ("retry_notifications",)),
)
# What people have is looked at for weeks; a run follows the first of these looks.
DUE_LATE: tuple[Due, ...] = ((_due("refund_operations", "next_check_at", _WITH_PEOPLE), ("look_late",)),)
SCANNERS: list[str] = []


def load_scanners() -> None:
    """Take the scanners from the deployment's own beat table, in its order."""
    from config.celery import app  # noqa: PLC0415 - it configures Celery, and only a run needs it

    left_out = {"heartbeat", "check_invariants", "relay_audit_outbox"}
    named = [row["task"].removeprefix("refunds.") for row in app.conf.beat_schedule.values()]
    SCANNERS[:] = [name for name in named if name not in left_out]
