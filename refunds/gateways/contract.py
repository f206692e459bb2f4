"""The contract that execution and reconciliation rest on, and the operator's own windows. Pure.

The records stand in ``contracts``; only Stripe's is executed, the others are data that the verdicts are held against.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from math import isfinite
from types import MappingProxyType
from typing import Any, Final

from refunds.gateways.contracts.amounts import AmountNotRepresentableError, AmountRule
from refunds.gateways.contracts.record import ContractOverrideError, ProviderContract
from refunds.gateways.contracts.stated import decided
from refunds.gateways.contracts.stripe_v1 import STRIPE_V1

__all__ = [
    "STRIPE_V1",
    "WINDOWS",
    "AmountNotRepresentableError",
    "AmountRule",
    "ContractOverrideError",
    "ProviderContract",
    "with_overrides",
]

_INTERVALS: Final = "reconciliation_intervals"
# What an operator may set, in seconds: the name in GATEWAY_CONTRACT_OVERRIDES, and where it stands in the record.
WINDOWS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "idempotency_key_retention_seconds": ("retention", "seconds"),
        "safe_resend_seconds": ("resend", "safe_seconds"),
        "in_flight_horizon_seconds": ("in_flight", "horizon_seconds"),
        _INTERVALS: ("checks", "intervals"),
        "review_valid_seconds": ("review", "valid_seconds"),
    }
)


_LONGEST: Final = 200 * 365 * 24 * 3600.0  # seconds; longer than anybody keeps, promises or plans anything


def with_overrides(
    contract: ProviderContract, overrides: Mapping[str, float | Sequence[float]]
) -> ProviderContract:
    """Return the contract with the operator's windows, in seconds; raises ContractOverrideError."""
    unknown = sorted(set(overrides) - set(WINDOWS))
    if unknown:
        raise ContractOverrideError(
            f"no such window: {', '.join(unknown)}; there are {', '.join(sorted(WINDOWS))}"
        )
    groups: dict[str, Any] = {}
    for name, value in overrides.items():
        is_list = isinstance(value, Sequence)
        if is_list != (name == _INTERVALS):
            raise ContractOverrideError(f"{name} must be {'one number' if is_list else 'a list of numbers'}")
        if not all(
            isfinite(s) and s <= _LONGEST for s in (value if isinstance(value, Sequence) else [value])
        ):
            raise ContractOverrideError(f"{name} must be seconds, at most {_LONGEST:.0f} of them")
        group, field = WINDOWS[name]
        plain = tuple(timedelta(seconds=s) for s in value) if isinstance(value, Sequence) else value
        stated = decided(plain, "GATEWAY_CONTRACT_OVERRIDES")
        groups[group] = replace(groups.get(group, getattr(contract, group)), **{field: stated})
    promised = contract.idempotency_key_retention_seconds
    overridden = replace(contract, **groups)
    if overridden.idempotency_key_retention_seconds > promised:
        raise ContractOverrideError(
            f"idempotency_key_retention_seconds must not exceed what the provider promises: {promised:g} seconds"
        )
    return overridden
