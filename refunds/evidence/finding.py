"""The duplicate finding with everything the pure rule needs, read from rows."""

from datetime import datetime

from django.db.models import Exists, OuterRef, Q

from ledger.duplicates import DuplicateFinding, find_duplicate
from ledger.models import LedgerEntry
from ledger.snapshot import EntryStatus, LedgerSnapshot
from refunds.evidence.policy import ApplicablePolicy
from refunds.models import RefundOperation
from refunds.states import UNRESOLVED_OPERATION_STATES, OperationState

# The ledger's own row about an operation's refund, while it says that the money went back.
_STANDING_ENTRY = LedgerEntry.objects.filter(
    merchant_id=OuterRef("merchant_id"),
    account=OuterRef("account"),
    processor_reference=OuterRef("processor_reference"),
    payment_id=OuterRef("payment_id"),
    status=EntryStatus.SUCCEEDED,
)


def finding_for(
    *,
    snapshot: LedgerSnapshot,
    policy: ApplicablePolicy,
    now: datetime,
    leaving_out_operation: str | None = None,
) -> DuplicateFinding:
    """Apply the rule of stage 5 to a snapshot; an operation that asks about itself leaves itself out.

    An operation is open while it is unresolved, and again once the ledger no longer bears its completion out: money
    that came back is for people, and never a reason to refund a second time automatically.
    """
    payment_ids = [payment.payment_id for payment in snapshot.order.payments]
    unsettled = RefundOperation.objects.filter(
        Q(state__in=UNRESOLVED_OPERATION_STATES)
        | Q(state=OperationState.COMPLETED) & ~Exists(_STANDING_ENTRY),
        payment_id__in=payment_ids,
    )
    if leaving_out_operation is not None:
        unsettled = unsettled.exclude(pk=leaving_out_operation)
    return find_duplicate(
        order=snapshot.order,
        taken_at=snapshot.taken_at,
        now=now,
        max_snapshot_age=policy.rules.snapshot_max_age,
        window=policy.rules.duplicate_window,
        open_operation_payment_ids=frozenset(unsettled.values_list("payment_id", flat=True)),
    )
