"""What is known about the attempts of one operation."""

from refunds.gateways.port import AnswerClass
from refunds.models import GatewayAttempt
from refunds.verdicts import AttemptFacts


def attempts_of(operation_id: str) -> tuple[AttemptFacts, ...]:
    """Return every attempt of the operation with its answer, oldest first; one query."""
    rows = (
        GatewayAttempt.objects.filter(operation_id=operation_id)
        .order_by("number")
        .values_list(
            "started_at",
            "response__answer_class",
            "response__http_status",
            "response__error_type",
            "response__error_code",
            "response__retry_forbidden",
            "response__went_back_before",
            "account",
            "livemode",
        )
    )
    return tuple(
        AttemptFacts(
            started_at,
            AnswerClass(cls) if cls else None,
            status,
            error_type or "",
            error_code or "",
            retry_forbidden=bool(forbidden),
            went_back_before=bool(went_back),
            account=account,
            livemode=livemode,
        )
        for started_at, cls, status, error_type, error_code, forbidden, went_back, account, livemode in rows
    )
