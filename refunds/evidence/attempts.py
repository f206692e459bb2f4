"""What is known about the attempts of one operation, and the provider's windows to judge them by."""

from datetime import timedelta

from refunds.gateways.contract import ProviderContract
from refunds.gateways.port import AnswerClass
from refunds.models import GatewayAttempt
from refunds.verdicts import AbsenceRule, AttemptFacts


def attempts_of(operation_id: str) -> tuple[AttemptFacts, ...]:
    """Return every attempt of the operation with its answer, oldest first; one query."""
    rows = (
        GatewayAttempt.objects.filter(operation_id=operation_id)
        .order_by("number")
        .values_list("started_at", "response__answer_class", "response__http_status")
    )
    return tuple(
        AttemptFacts(started_at, AnswerClass(cls) if cls else None, status)
        for started_at, cls, status in rows
    )


def absence_rule(contract: ProviderContract) -> AbsenceRule:
    """Return the contract's windows for absence and for sending a key again."""
    return AbsenceRule(
        in_flight_horizon=timedelta(seconds=contract.in_flight_horizon_seconds),
        safe_resend=timedelta(seconds=contract.safe_resend_seconds),
    )
