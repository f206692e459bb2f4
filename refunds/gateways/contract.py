"""ProviderContract: what a provider promises, and the operator's decision where it promises nothing. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from types import MappingProxyType
from typing import Final

from refunds.gateways.port import ProviderStatus

WINDOWS: Final = frozenset(
    {
        "idempotency_key_retention_seconds",
        "safe_resend_seconds",
        "in_flight_horizon_seconds",
        "reconciliation_intervals",
    }
)


class AmountNotRepresentableError(ValueError):
    """If you see this, the provider has no exact number for this amount and currency; nothing was sent."""


class ContractOverrideError(ValueError):
    """If you see this, GATEWAY_CONTRACT_OVERRIDES names a window that does not exist or cannot hold."""


@dataclass(frozen=True, slots=True)
class AmountRule:
    """How the provider writes a currency: ``iso_units`` ISO minor units are ``provider_units`` of its own."""

    iso_units: int = 1
    provider_units: int = 1
    multiple_of: int = 1  # of the provider's number


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderContract:
    """The facts that execution and reconciliation rest on. Windows are seconds."""

    provider: str
    api_version: str
    idempotency_key_max_length: int
    idempotency_key_retention_seconds: float
    safe_resend_seconds: float
    in_flight_horizon_seconds: float
    reconciliation_intervals: tuple[timedelta, ...]
    read_budget: int
    amount_rules: Mapping[str, AmountRule]
    refused_currencies: frozenset[str]
    statuses: Mapping[str, ProviderStatus]

    def __post_init__(self) -> None:
        waits = self.reconciliation_intervals
        if not 0 < self.safe_resend_seconds < self.idempotency_key_retention_seconds:
            raise ContractOverrideError(
                "safe_resend_seconds must lie inside idempotency_key_retention_seconds"
            )
        if self.in_flight_horizon_seconds <= 0:
            raise ContractOverrideError("in_flight_horizon_seconds must be positive")
        if not waits or waits[0] <= timedelta(0) or list(waits) != sorted(waits):
            raise ContractOverrideError("reconciliation_intervals must be positive and must not shrink")

    def provider_amount(self, *, amount_minor_units: int, currency: str) -> int:
        """Return the provider's number for an amount; raises AmountNotRepresentableError."""
        rule = self._rule(currency)
        amount, rest = divmod(amount_minor_units * rule.provider_units, rule.iso_units)
        if amount <= 0 or rest or amount % rule.multiple_of:
            raise AmountNotRepresentableError(f"{amount_minor_units} {currency}")
        return amount

    def minor_units(self, *, provider_amount: int, currency: str) -> int:
        """Return ISO minor units for the provider's number; raises AmountNotRepresentableError."""
        rule = self._rule(currency)
        amount, rest = divmod(provider_amount * rule.iso_units, rule.provider_units)
        if amount <= 0 or rest:
            raise AmountNotRepresentableError(f"{provider_amount} {currency} at the provider")
        return amount

    def status(self, provider_status: str) -> ProviderStatus:
        """Return the status for the provider's word; its lists are open, so an unknown word is expected."""
        return self.statuses.get(provider_status, ProviderStatus.UNRECOGNISED)

    def _rule(self, currency: str) -> AmountRule:
        if not re.fullmatch("[A-Z]{3}", currency) or currency in self.refused_currencies:
            raise AmountNotRepresentableError(f"no settled amount rule for {currency}")
        return self.amount_rules.get(currency, AmountRule())


def with_overrides(
    contract: ProviderContract, overrides: Mapping[str, float | Sequence[float]]
) -> ProviderContract:
    """Return the contract with the operator's windows, in seconds; raises ContractOverrideError."""
    unknown = sorted(set(overrides) - WINDOWS)
    if unknown:
        raise ContractOverrideError(
            f"no such window: {', '.join(unknown)}; there are {', '.join(sorted(WINDOWS))}"
        )
    changes: dict[str, float | tuple[timedelta, ...]] = {}
    for name, value in overrides.items():
        is_list = isinstance(value, Sequence)
        if is_list != (name == "reconciliation_intervals"):
            raise ContractOverrideError(f"{name} must be {'one number' if is_list else 'a list of numbers'}")
        changes[name] = tuple(timedelta(seconds=s) for s in value) if isinstance(value, Sequence) else value
    return replace(contract, **changes)  # type: ignore[arg-type]  # the names are fields, checked above


_ZERO_DECIMAL = "BIF CLP DJF GNF JPY KMF KRW PYG RWF VND VUV XAF XOF XPF"
_THREE_DECIMAL = "BHD JOD KWD OMR TND"

STRIPE_V1: Final = ProviderContract(
    provider="stripe",
    # docs.stripe.com/api/versioning: pinned, so that an account's upgrade cannot change an answer's shape.
    api_version="2026-10-28.endive",
    # docs.stripe.com/api/idempotent_requests
    idempotency_key_max_length=255,
    # docs.stripe.com/api/idempotent_requests: keys may be pruned once "at least 24 hours old"; reused after
    # that, one executes again.
    idempotency_key_retention_seconds=24 * 3600,
    # Operator decision: 22 h leave two hours for clocks and queues.
    safe_resend_seconds=22 * 3600,
    # Operator decision: no longest execution time is stated; before it, an empty list proves nothing.
    in_flight_horizon_seconds=15 * 60,
    # Operator decision: about eight hours of reads, so that a person has most of the safe window left.
    reconciliation_intervals=(
        timedelta(seconds=30),
        timedelta(minutes=2),
        timedelta(minutes=5),
        timedelta(minutes=15),
        timedelta(minutes=30),
        timedelta(hours=1),
        timedelta(hours=2),
        timedelta(hours=4),
    ),
    # docs.stripe.com/rate-limits: 500 reads for each payment in 30 days.
    read_budget=500,
    amount_rules=MappingProxyType(
        {
            # docs.stripe.com/currencies#zero-decimal
            **{currency: AmountRule() for currency in _ZERO_DECIMAL.split()},
            # docs.stripe.com/currencies#zero-decimal lists MGA; ISO 4217 gives it two decimals.
            "MGA": AmountRule(iso_units=100),
            # The last digit of a refund must be 0; docs.stripe.com/currencies#three-decimal
            **{currency: AmountRule(multiple_of=10) for currency in _THREE_DECIMAL.split()},
            # Written with two decimals, which must be 00; docs.stripe.com/currencies#special-cases
            "ISK": AmountRule(provider_units=100, multiple_of=100),
        }
    ),
    # Operator decision. UGX: docs.stripe.com/currencies lists it as zero-decimal and as a two-decimal special
    # case, a factor of 100 apart. The others: not two-decimal in ISO 4217 and not named on that page.
    refused_currencies=frozenset({"UGX", "IQD", "LYD", "CLF", "UYI", "UYW"}),
    # docs.stripe.com/api/refunds/object
    statuses=MappingProxyType(
        {
            "succeeded": ProviderStatus.SUCCEEDED,
            "pending": ProviderStatus.PENDING,
            "requires_action": ProviderStatus.REQUIRES_ACTION,
            "failed": ProviderStatus.FAILED,
            "canceled": ProviderStatus.CANCELED,
        }
    ),
)
