"""What people gave or asked for about an operation that they own: kept in its rows, whatever becomes of a nudge."""

from datetime import datetime
from typing import Final

from refunds.models import RefundOperation
from refunds.states import OperationState

GIVEN: Final = "REFERENCE_GIVEN"


def newest_given(operation: RefundOperation) -> str:
    """Return the provider's reference that a person gave last for an operation that people have; empty if none."""
    if operation.state != OperationState.MANUAL_REVIEW or operation.processor_reference is not None:
        return ""
    newest = operation.events.filter(reason=GIVEN).order_by("-pk").first()
    return "" if newest is None else str(newest.evidence.get("processor_reference", ""))


def look_soon(operation: RefundOperation, *, now: datetime) -> None:
    """Let the next scan look an operation up that people have, if the nudge is lost; the caller holds its lock.

    Whatever else is in doubt has a look-up coming, and an early one would use up one of the contract's checks.
    """
    if operation.state == OperationState.MANUAL_REVIEW:
        RefundOperation.objects.filter(pk=operation.pk).update(next_check_at=now)
