"""What a refund command looks like at Stripe, and what is never sent. Pure.

docs.stripe.com/api/refunds/create
"""

import hashlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from refunds.gateways.codes import AdapterCode
from refunds.gateways.contract import AmountNotRepresentableError, ProviderContract
from refunds.gateways.port import RefundCommand

if TYPE_CHECKING:
    from stripe.params import RefundCreateParams, RefundListParams

# The refund's metadata is the correlator of reconciliation: docs.stripe.com/metadata.
OPERATION_ID_KEY: Final = "refund_operation_id"

# docs.stripe.com/api/refunds/create: `reason` is optional, and "fraudulent" would block the customer's card.
_REASONS: Final[Mapping[str, str]] = MappingProxyType({"DUPLICATE_CHARGE": "duplicate"})

# docs.stripe.com/api/charges and /payment_intents; payments without a card have charges named py_.
_PARAMETER_BY_PREFIX: Final = (("ch_", "charge"), ("py_", "charge"), ("pi_", "payment_intent"))


def payment_parameter(payment_reference: str) -> str | None:
    """Return ``charge`` or ``payment_intent`` for a reference; None where Stripe has no such reference."""
    for prefix, parameter in _PARAMETER_BY_PREFIX:
        if payment_reference.startswith(prefix) and _is_reference(payment_reference):
            return parameter
    return None


def is_account(account: str) -> bool:
    """Whether this is a connected account or "", the platform: docs.stripe.com/connect/authentication."""
    return account == "" or (account.startswith("acct_") and account.isascii() and account[5:].isalnum())


def refusal_before_sending(command: RefundCommand, contract: ProviderContract) -> AdapterCode | None:
    """Return why this command must never be sent, or None.

    An empty key counts: the SDK would replace it by a random one, and the next attempt would pay again.
    """
    key = command.idempotency_key
    if not 0 < len(key) <= contract.idempotency_key_max_length or not (key.isascii() and key.isprintable()):
        return AdapterCode.KEY_NOT_USABLE
    if not is_account(command.account):
        return AdapterCode.ACCOUNT_UNSUPPORTED
    if payment_parameter(command.payment_reference) is None:
        return AdapterCode.PAYMENT_REFERENCE_UNSUPPORTED
    try:
        _amount(command, contract)
    except AmountNotRepresentableError:
        return AdapterCode.AMOUNT_NOT_REPRESENTABLE
    return None


def create_parameters(command: RefundCommand, contract: ProviderContract) -> "RefundCreateParams":
    """Return the parameters of the create call; equal commands give equal bytes on the wire."""
    parameters: RefundCreateParams = {
        "amount": _amount(command, contract),
        "metadata": {OPERATION_ID_KEY: command.operation_id},
    }
    if payment_parameter(command.payment_reference) == "charge":
        parameters["charge"] = command.payment_reference
    else:
        parameters["payment_intent"] = command.payment_reference
    if _REASONS.get(command.reason_code) == "duplicate":
        parameters["reason"] = "duplicate"
    return parameters


def list_parameters(payment_reference: str, starting_after: str | None) -> "RefundListParams":
    """Return the parameters of one page of a payment's refunds, the largest page that is allowed."""
    parameters: RefundListParams = {"limit": 100}  # docs.stripe.com/api/refunds/list
    if payment_parameter(payment_reference) == "charge":
        parameters["charge"] = payment_reference
    else:
        parameters["payment_intent"] = payment_reference
    if starting_after is not None:
        parameters["starting_after"] = starting_after
    return parameters


def body_sha256(command: RefundCommand, contract: ProviderContract) -> str:
    """Return SHA-256 of the form body that the SDK makes of the command; of no bytes if it is never sent."""
    if refusal_before_sending(command, contract) is not None:
        return hashlib.sha256(b"").hexdigest()
    pairs: list[tuple[str, object]] = []
    for name, value in create_parameters(command, contract).items():
        if isinstance(value, dict):
            pairs += [(f"{name}[{key}]", inner) for key, inner in value.items()]
        else:
            pairs.append((name, value))
    body = urlencode(pairs).replace("%5B", "[").replace("%5D", "]")
    return hashlib.sha256(body.encode("ascii")).hexdigest()


def _is_reference(text: str) -> bool:
    return text.isascii() and text.replace("_", "").isalnum()


def _amount(command: RefundCommand, contract: ProviderContract) -> int:
    return contract.provider_amount(amount_minor_units=command.amount_minor_units, currency=command.currency)
