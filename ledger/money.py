"""Money is an integer number of minor units and a currency code; text is made only at the edge."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from babel.core import Locale
from babel.numbers import format_currency, is_currency

MAX_MINOR_UNITS: Final = 2**63 - 1
_LOCALE: Final = Locale.parse("en_US")


# ISO 4217's minor units where they are not 2. Locale data (CLDR) is for display and differs: it gives HUF and COP
# no decimals, and a stored 1000 would then mean a hundred times too much.
_NO_DECIMALS: Final = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"
_THREE_DECIMALS: Final = "BHD IQD JOD KWD LYD OMR TND"
_ISO_EXPONENTS: Final = {
    **dict.fromkeys(_NO_DECIMALS.split(), 0),
    **dict.fromkeys(_THREE_DECIMALS.split(), 3),
    "CLF": 4,
    "UYW": 4,
}


class UnknownCurrencyError(ValueError):
    """If you see this, a row or a file names a currency that ISO 4217 does not have."""


@dataclass(frozen=True, slots=True, order=False)
class Money:
    """An amount in minor units of its currency (4999 USD is $49.99, 500 JPY is 500 yen)."""

    amount_minor_units: int
    currency: str

    def __str__(self) -> str:
        return format_minor_units(self.amount_minor_units, self.currency)


def exponent(currency: str) -> int:
    """Return how many decimals ISO 4217 gives the currency: 2 for USD, 0 for JPY, 3 for KWD."""
    if len(currency) != 3 or not is_currency(currency):  # noqa: PLR2004 - the length of an ISO code
        raise UnknownCurrencyError(currency)
    return _ISO_EXPONENTS.get(currency, 2)


def format_minor_units(amount_minor_units: int, currency: str) -> str:
    """Return the amount as people read it: ``$49.99``, ``¥500``, ``KWD 5.120``."""
    places = exponent(currency)
    value = Decimal(amount_minor_units).scaleb(-places)
    pattern = "¤#,##0" + ("." + "0" * places if places else "")
    text: str = format_currency(value, currency, pattern, locale=_LOCALE, currency_digits=False)
    if text.startswith(currency):
        return f"{currency} {text.removeprefix(currency).strip()}"
    return text


def parse_major_units(text: str, currency: str) -> int:
    """Return minor units for a plain decimal in major units (``145.05`` USD is 14505), exactly.

    Raises ValueError for anything but digits with at most the currency's decimals; no float is involved.
    """
    places = exponent(currency)
    whole, _, fraction = text.partition(".")
    sign = -1 if whole.startswith("-") else 1
    digits = whole.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 16:  # noqa: PLR2004 - beyond any amount
        raise ValueError(f"not an amount: {text[:40]!r}")
    if fraction.rstrip("0") and len(fraction.rstrip("0")) > places:
        raise ValueError(f"more decimals than {currency} has: {text[:40]!r}")
    if fraction and not (fraction.isascii() and fraction.isdigit()):
        raise ValueError(f"not an amount: {text[:40]!r}")
    scaled = (fraction + "0" * places)[:places]
    return sign * int(digits + scaled)
