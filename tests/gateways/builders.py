"""Commands and adapters for the gateway tests."""

from dataclasses import replace
from typing import Any

from refunds.gateways.contract import STRIPE_V1, ProviderContract
from refunds.gateways.port import RefundCommand
from refunds.gateways.stripe import StripeGateway
from tests.support.gateway_simulator import GatewaySimulator

_COMMAND = RefundCommand(
    operation_id="rfop_01K2TEST",
    idempotency_key="refund:rfop_01K2TEST",
    account="",
    payment_reference="ch_A2",
    amount_minor_units=4999,
    currency="USD",
    reason_code="DUPLICATE_CHARGE",
)


def refund_command(operation_id: str = "rfop_01K2TEST", **changes: Any) -> RefundCommand:
    """Return a command for $49.99 of ch_A2; the key follows from the operation id."""
    named = {"operation_id": operation_id, "idempotency_key": f"refund:{operation_id}"}
    return replace(_COMMAND, **(named | changes))


def stripe_gateway_at(
    url: str,
    *,
    waits: list[float] | None = None,
    connect: float = 1.0,
    answer: float = 5.0,
    contract: ProviderContract = STRIPE_V1,
) -> StripeGateway:
    """Return the adapter for an address; its waits are recorded instead of slept."""
    return StripeGateway(
        api_key=GatewaySimulator.api_key,
        api_base=url,
        connect_timeout_seconds=connect,
        answer_timeout_seconds=answer,
        contract=contract,
        sleep=(waits if waits is not None else []).append,
    )
