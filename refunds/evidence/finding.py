"""The duplicate finding with everything the pure rule needs, read from rows."""

from datetime import datetime

from ledger.duplicates import DuplicateFinding, find_duplicate
from refunds.evidence.books import Books
from refunds.evidence.policy import ApplicablePolicy


def finding_for(
    *, books: Books, policy: ApplicablePolicy, now: datetime, leaving_out_operation: str | None = None
) -> DuplicateFinding:
    """Apply the rule of stage 5; an operation that asks about itself leaves itself out.

    An operation is open while it is unresolved, and again once the ledger no longer bears its completion out: money
    that came back is for people, and never a reason to refund a second time automatically.
    """
    return find_duplicate(
        order=books.snapshot.order,
        taken_at=books.snapshot.taken_at,
        now=now,
        max_snapshot_age=policy.rules.snapshot_max_age,
        window=policy.rules.duplicate_window,
        open_operation_payment_ids=books.unsettled_payments(leaving_out_operation=leaving_out_operation),
    )
