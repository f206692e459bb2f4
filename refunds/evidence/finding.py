"""The duplicate finding with everything the pure rule needs, read from rows."""

from datetime import datetime

from ledger.duplicates import DuplicateFinding, find_duplicate
from ledger.snapshot import LedgerSnapshot
from refunds.evidence.policy import ApplicablePolicy
from refunds.models import RefundOperation
from refunds.states import UNRESOLVED_OPERATION_STATES


def finding_for(
    *,
    snapshot: LedgerSnapshot,
    policy: ApplicablePolicy,
    now: datetime,
    leaving_out_operation: str | None = None,
) -> DuplicateFinding:
    """Apply the rule of stage 5 to a snapshot; an operation that asks about itself leaves itself out."""
    payment_ids = [payment.payment_id for payment in snapshot.order.payments]
    unresolved = RefundOperation.objects.filter(
        payment_id__in=payment_ids, state__in=UNRESOLVED_OPERATION_STATES
    )
    if leaving_out_operation is not None:
        unresolved = unresolved.exclude(pk=leaving_out_operation)
    return find_duplicate(
        order=snapshot.order,
        taken_at=snapshot.taken_at,
        now=now,
        max_snapshot_age=policy.rules.snapshot_max_age,
        window=policy.rules.duplicate_window,
        open_operation_payment_ids=frozenset(unresolved.values_list("payment_id", flat=True)),
    )
