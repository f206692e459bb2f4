"""No network inside a transaction: whatever calls another system asks this first."""

from django.conf import settings
from django.db import connections


class OpenTransactionError(RuntimeError):
    """If you see this, another system was called inside a database transaction.

    It can take seconds to answer, rows would stay locked meanwhile, and a rollback would erase the only trace of
    what was done. Commit first, call, then open the next transaction.
    """


def refuse_open_transaction() -> None:
    """Raise OpenTransactionError if any connection of this thread is inside a transaction.

    The transaction that a test case wraps around a test is not counted; Django marks its blocks.
    """
    if not settings.configured:  # no settings were read, so no connection can exist
        return
    for connection in connections.all(initialized_only=True):
        blocks = connection.atomic_blocks
        opened_by_hand = connection.connection is not None and not connection.autocommit and not blocks
        if opened_by_hand or any(not getattr(block, "_from_testcase", False) for block in blocks):
            raise OpenTransactionError(f"a transaction is open on the connection {connection.alias!r}")
