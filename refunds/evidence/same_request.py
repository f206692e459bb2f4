"""Compares a request that is about to go out again with the earlier attempts, and with what came of them since."""

from collections.abc import Sequence
from typing import Final

from refunds.evidence.provider_facts import events_about, settlements_about
from refunds.gateways.contract import ProviderContract
from refunds.gateways.port import Gateway
from refunds.gateways.registry import uses_live_mode
from refunds.models import RefundOperation
from refunds.verdicts import AttemptFacts

_REASONS: Final = {
    "request_body_sha256": "REQUEST_BODY_CHANGED",
    "idempotency_key": "KEY_CHANGED",
    "provider": "PROVIDER_CHANGED",
    "api_version": "API_VERSION_CHANGED",
    "account": "ACCOUNT_CHANGED",
    "livemode": "MODE_CHANGED",
}


def what_differs(operation: RefundOperation, gateway: Gateway, body_sha256: str) -> str | None:
    """Return what differs from an earlier attempt (a code), or None: one key must never carry two requests.

    The provider would refuse the second one, or worse, take it for a new refund.
    """
    now = {
        "request_body_sha256": body_sha256,
        "idempotency_key": operation.idempotency_key,
        "provider": gateway.provider,
        "api_version": gateway.api_version,
        "account": operation.account,
        "livemode": uses_live_mode(),
    }
    for attempt in operation.attempts.order_by("number").values(*now):
        for column, reason in _REASONS.items():
            if attempt[column] not in (now[column], None):  # None: from before it was kept
                return reason
    return None


def why_not_again(
    operation: RefundOperation, attempts: Sequence[AttemptFacts], contract: ProviderContract
) -> str | None:
    """Return what became known since the operation was called executable and speaks against another call, or None.

    An answer may have come after absence was proven without it, and an event or a settled row may still wait for the
    look-up that it asks for. Whoever calls holds the operation's lock.
    """
    late = contract.server_errors.late_effects.value
    if any(attempt.was_done_unread for attempt in attempts):
        return "ANSWERED_AS_DONE"
    if any(attempt.may_have_executed and attempt.http_status in late for attempt in attempts):
        return "LATE_EFFECT_POSSIBLE"
    categories = contract.settlement.refund_categories.value
    settled = any(row.category in categories for row in settlements_about(operation))
    return "PROVIDER_TOLD_OF_REFUND" if settled or events_about(operation, contract) else None
