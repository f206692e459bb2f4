"""What PostgreSQL does at the end of a transaction with the facts in it, for tests that roll theirs back."""

from django.db import connection

from refunds.models import FreezingEntry, RefundOperation

NAMES = ", ".join(
    trigger.get_pgid(model)
    for model in (FreezingEntry, RefundOperation)
    for trigger in model._meta.triggers
    if trigger.name == "freezes_overdrawn"
)


def facts_committed():
    """Let the facts of this transaction freeze what they overdraw, as its commit would."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET CONSTRAINTS {NAMES} IMMEDIATE")
        cursor.execute(f"SET CONSTRAINTS {NAMES} DEFERRED")
