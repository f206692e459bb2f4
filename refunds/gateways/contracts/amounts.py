"""How a provider writes amounts of money. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from refunds.gateways.contracts.stated import Stated
from refunds.gateways.contracts.terms import AmountUnit

MOST: Final = 2**63 - 1  # what a row can hold; more is no amount, whatever the provider says


class AmountNotRepresentableError(ValueError):
    """If you see this, the provider has no exact number for this amount and currency; nothing was sent."""


@dataclass(frozen=True, slots=True)
class AmountRule:
    """How the provider writes a currency: ``iso_units`` ISO minor units are ``provider_units`` of its own."""

    iso_units: int = 1
    provider_units: int = 1
    multiple_of: int = 1  # of the provider's number


@dataclass(frozen=True, slots=True, kw_only=True)
class AmountRules:
    """The provider's numbers; a currency without a rule of its own is written in ISO 4217 minor units."""

    unit: Stated[AmountUnit]
    by_currency: Stated[Mapping[str, AmountRule]]
    refused_currencies: Stated[frozenset[str]]

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
        if not 0 < amount <= MOST or rest:
            raise AmountNotRepresentableError(f"{provider_amount} {currency} at the provider")
        return amount

    def _rule(self, currency: str) -> AmountRule:
        if not re.fullmatch("[A-Z]{3}", currency) or currency in self.refused_currencies.value:
            raise AmountNotRepresentableError(f"no settled amount rule for {currency}")
        return self.by_currency.value.get(currency, AmountRule())
