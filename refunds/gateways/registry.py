"""The one gateway that this process may use, and the contract it works under, from the settings."""

from datetime import timedelta
from functools import cache

from django.conf import settings

from refunds.gateways.contract import STRIPE_V1, ProviderContract, with_overrides
from refunds.gateways.port import Gateway, RefundCommand
from refunds.gateways.stripe import StripeGateway
from refunds.gateways.stripe_commands import refusal_before_sending

_MARGIN = timedelta(seconds=5)


class GatewayNotConfiguredError(RuntimeError):
    """If you see this, a process without the provider's credentials was asked to speak to the provider.

    Only the workers of the queue ``money`` have them; start one, or set STRIPE_API_KEY.
    """


@cache
def get_contract() -> ProviderContract:
    """Return the provider's contract with the operator's windows."""
    return with_overrides(STRIPE_V1, settings.GATEWAY_CONTRACT_OVERRIDES)


@cache
def get_gateway() -> Gateway:
    """Return the adapter; raise ``GatewayNotConfiguredError`` in a process without credentials."""
    if not settings.STRIPE_API_KEY:
        raise GatewayNotConfiguredError
    return StripeGateway(
        api_key=settings.STRIPE_API_KEY,
        api_base=settings.STRIPE_API_BASE,
        connect_timeout_seconds=min(5.0, settings.GATEWAY_TIMEOUT_SECONDS),
        answer_timeout_seconds=settings.GATEWAY_TIMEOUT_SECONDS,
        contract=get_contract(),
    )


def uses_live_mode() -> bool:
    """Say whether this process's credentials are for real money; docs.stripe.com/keys names the prefixes."""
    return settings.STRIPE_API_KEY.startswith(("sk_live_", "rk_live_"))


def why_unsendable(
    *, account: str, payment_reference: str, amount_minor_units: int, currency: str
) -> str | None:
    """Return why the provider could never be sent this refund (a code), or None; nothing is sent to find out."""
    command = RefundCommand(
        operation_id="rfop_unsent",
        idempotency_key="refund:rfop_unsent",
        account=account,
        payment_reference=payment_reference,
        amount_minor_units=amount_minor_units,
        currency=currency,
        reason_code="DUPLICATE_CHARGE",
    )
    return refusal_before_sending(command, get_contract())


def response_window() -> timedelta:
    """Return how long an answer may take before its absence means that it is lost."""
    return timedelta(seconds=2 * settings.GATEWAY_TIMEOUT_SECONDS) + _MARGIN
