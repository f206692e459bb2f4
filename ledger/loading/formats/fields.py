"""One value of a file at a time: text into exact, bounded, typed values. No database; a refusal is a FieldError."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, TypeVar

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from ledger.intake import IntakeRefusedError, check_order_number
from ledger.money import MAX_MINOR_UNITS, UnknownCurrencyError, exponent, parse_major_units

MAX_EMAIL: Final = 150  # what a user name can hold, which the address also becomes
_LAST: Final = 4
_MOST_SEEN: Final = 1000
_MOST_DIGITS: Final = len(str(MAX_MINOR_UNITS))
_SHOWN: Final = 60
_STRIPE_TIMES: Final = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M")

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)


class FieldError(ValueError):
    """If you see this, a value in a file is missing or cannot be what its name says."""


class OddNumber(str):
    """A JSON number that is no amount: a fraction, NaN, or more digits than any amount has. Never a float."""

    __slots__ = ()


def needed(values: Mapping[str, Any], name: str, parse: Callable[[Any], T]) -> T:
    """Return a value that must be there."""
    value = given(values, name, parse)
    if value is None:
        raise FieldError(f"{name} is missing")
    return value


def given(values: Mapping[str, Any], name: str, parse: Callable[[Any], T]) -> T | None:
    """Return a value, or None if the file leaves it out or empty."""
    value = values.get(name)
    if value is None or value == "":
        return None
    try:
        return parse(value)
    except FieldError as error:
        raise FieldError(f"{name} {error}") from None


def identifier(limit: int) -> Callable[[Any], str]:
    """Return a reader of exact text without control characters, at most ``limit`` characters."""

    def read(value: Any) -> str:
        text = _text(value).strip()
        if any(not character.isprintable() for character in text):
            raise FieldError(f"has hidden characters: {_shown(text)}")
        if not text or len(text) > limit:
            raise FieldError(f"must have 1 to {limit} characters: {_shown(text)}")
        return text

    return read


def slug(value: Any) -> str:
    """Return a merchant code: ASCII letters, digits, hyphens, underscores."""
    text = identifier(50)(value)
    if not (text.isascii() and text.replace("-", "").replace("_", "").isalnum()):
        raise FieldError(f"may have letters, digits, - and _ only: {_shown(text)}")
    return text


def words(limit: int) -> Callable[[Any], str]:
    """Return a reader of text that only people read: control characters become spaces, the rest is cut."""

    def read(value: Any) -> str:
        visible = "".join(c if c.isprintable() else " " for c in _text(value))
        return " ".join(visible.split())[:limit]

    return read


def order_number(value: Any) -> str:
    """Return an order number as a customer will be able to ask for it; a leading ``#`` goes."""
    try:
        return check_order_number(_text(value))
    except IntakeRefusedError:
        raise FieldError(f"must be 1 to 64 printable ASCII characters: {_shown(value)}") from None


def last4(value: Any) -> str:
    """Return the last four digits; a spreadsheet's lost leading zeros are put back."""
    text = _text(value).strip()
    if not (text.isascii() and text.isdigit()) or len(text) > _LAST:
        raise FieldError(f"must be at most four digits: {_shown(text)}")
    return text.zfill(_LAST)


def email(value: Any) -> str:
    """Return an e-mail address in lower case."""
    text = _text(value).strip().lower()
    try:
        validate_email(text)
    except ValidationError:
        raise FieldError(f"is no e-mail address: {_shown(text)}") from None
    if len(text) > MAX_EMAIL:
        raise FieldError(f"is longer than {MAX_EMAIL} characters: {_shown(text)}")
    return text


def currency(value: Any) -> str:
    """Return an ISO 4217 code in upper case."""
    code = _text(value).strip().upper()
    try:
        exponent(code)
    except UnknownCurrencyError:
        raise FieldError(f"is no ISO 4217 currency: {_shown(value)}") from None
    return code


def minor_units(value: Any) -> int:
    """Return a positive amount in minor units."""
    amount = whole_number(value)
    if amount == 0:
        raise FieldError("must be more than zero")
    return amount


def times_seen(value: Any) -> int:
    """Return how often a feed listed a row: 1 to 1000."""
    count = whole_number(value)
    if not 1 <= count <= _MOST_SEEN:
        raise FieldError(f"must be between 1 and {_MOST_SEEN}: {_shown(value)}")
    return count


def whole_number(value: Any) -> int:
    """Return a whole number from 0 to the largest that can be stored; text must be digits alone."""
    if isinstance(value, str) and not isinstance(value, OddNumber):
        text = value.strip()
        value = int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else value
    if type(value) is not int:
        raise FieldError(f"must be a whole number without sign, point or exponent: {_shown(value)}")
    if not 0 <= value <= MAX_MINOR_UNITS:
        raise FieldError(f"must be between 0 and {MAX_MINOR_UNITS}: {_shown(value)}")
    return value


def major_units(code: str) -> Callable[[Any], int]:
    """Return a reader of a plain decimal in major units, exact: ``145.05`` USD is 14505, ``500`` JPY is 500."""

    def read(value: Any) -> int:
        text = _text(value).strip()
        try:
            amount = parse_major_units(text, code)
        except ValueError:
            raise FieldError(
                f"must be a plain decimal such as 1234.50, with no more decimals than {code} has: {_shown(text)}"
            ) from None
        if not 0 <= amount <= MAX_MINOR_UNITS:
            raise FieldError(f"must be between 0 and what can be stored: {_shown(text)}")
        return amount

    return read


def moment(value: Any) -> datetime:
    """Return a time with its offset as UTC: ``2026-11-28T10:00:00Z``."""
    try:
        found = datetime.fromisoformat(_text(value).strip())
        if found.tzinfo is None:
            raise FieldError(f"has no UTC offset: {_shown(value)}")
        return found.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        if isinstance(error, FieldError):
            raise
        raise FieldError(f"must be a time such as 2026-11-28T10:00:00Z: {_shown(value)}") from None


def stripe_moment(value: Any) -> datetime:
    """Return a time of a column that says "(UTC)" in its name: ``2026-11-28 10:00:00`` or without seconds."""
    for form in _STRIPE_TIMES:
        try:
            return datetime.strptime(_text(value).strip(), form).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise FieldError(f"must be a UTC time such as 2026-11-28 10:00:00: {_shown(value)}")


def one_of(values: type[E]) -> Callable[[Any], E]:
    """Return a reader of one of an enumeration's codes, whatever their case."""

    def read(value: Any) -> E:
        try:
            return values(_text(value).strip().upper())
        except ValueError:
            raise FieldError(f"must be one of {', '.join(values)}: {_shown(value)}") from None

    return read


def _text(value: Any) -> str:
    if not isinstance(value, str) or isinstance(value, OddNumber):
        raise FieldError(f"must be text in quotes: {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    text = str(value) if isinstance(value, OddNumber) else repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
