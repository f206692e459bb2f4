"""One value of a file at a time: text into exact, bounded, typed values. No database; a refusal is a FieldError."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, TypeVar

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from ledger.card_numbers import mask_card_numbers
from ledger.intake import CARD_NUMBER_MASK, IntakeRefusedError, check_order_number
from ledger.money import MAX_MINOR_UNITS, UnknownCurrencyError, exponent

MAX_EMAIL: Final = 150  # what a user name can hold, which the address also becomes
_LAST: Final = 4
_MOST_SEEN: Final = 1000
_MOST_DIGITS: Final = len(str(MAX_MINOR_UNITS))
_SHOWN: Final = 60

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
        text = text_of(value).strip()
        if any(not character.isprintable() for character in text):
            raise FieldError(f"has hidden characters: {shown(text)}")
        if not text or len(text) > limit:
            raise FieldError(f"must have 1 to {limit} characters: {shown(text)}")
        return text

    return read


def slug(value: Any) -> str:
    """Return a merchant code: ASCII letters, digits, hyphens, underscores."""
    text = identifier(50)(value)
    if not (text.isascii() and text.replace("-", "").replace("_", "").isalnum()):
        raise FieldError(f"may have letters, digits, - and _ only: {shown(text)}")
    return text


def words(limit: int) -> Callable[[Any], str]:
    """Return a reader of text that only people read: control characters become spaces, the rest is cut."""

    def read(value: Any) -> str:
        visible = "".join(c if c.isprintable() else " " for c in text_of(value))
        return " ".join(visible.split())[:limit]

    return read


def note(limit: int) -> Callable[[Any], str]:
    """Return a reader of free text that somebody wrote: as ``words``, and without any card number."""
    read = words(limit)
    return lambda value: read(mask_card_numbers(text_of(value), CARD_NUMBER_MASK))


def order_number(value: Any) -> str:
    """Return an order number as a customer will be able to ask for it; a leading ``#`` goes."""
    try:
        return check_order_number(text_of(value))
    except IntakeRefusedError:
        raise FieldError(f"must be 1 to 64 printable ASCII characters: {shown(value)}") from None


def last4(value: Any) -> str:
    """Return the last four digits; a spreadsheet's lost leading zeros are put back."""
    text = text_of(value).strip()
    if not (text.isascii() and text.isdigit()) or len(text) > _LAST:
        raise FieldError(f"must be at most four digits: {shown(text)}")
    return text.zfill(_LAST)


def email(value: Any) -> str:
    """Return an e-mail address in lower case."""
    text = text_of(value).strip().lower()
    try:
        validate_email(text)
    except ValidationError:
        raise FieldError(f"is no e-mail address: {shown(text)}") from None
    if len(text) > MAX_EMAIL:
        raise FieldError(f"is longer than {MAX_EMAIL} characters: {shown(text)}")
    return text


def currency(value: Any) -> str:
    """Return an ISO 4217 code in upper case."""
    code = text_of(value).strip().upper()
    try:
        exponent(code)
    except UnknownCurrencyError:
        raise FieldError(f"is no ISO 4217 currency: {shown(value)}") from None
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
        raise FieldError(f"must be between 1 and {_MOST_SEEN}: {shown(value)}")
    return count


def whole_number(value: Any) -> int:
    """Return a whole number from 0 to the largest that can be stored; text must be digits alone."""
    if isinstance(value, str) and not isinstance(value, OddNumber):
        text = value.strip()
        value = int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else value
    if type(value) is not int:
        raise FieldError(f"must be a whole number without sign, point or exponent: {shown(value)}")
    if not 0 <= value <= MAX_MINOR_UNITS:
        raise FieldError(f"must be between 0 and {MAX_MINOR_UNITS}: {shown(value)}")
    return value


def moment(value: Any) -> datetime:
    """Return a time with its offset as UTC: ``2026-11-28T10:00:00Z``."""
    try:
        found = datetime.fromisoformat(text_of(value).strip())
        if found.tzinfo is None:
            raise FieldError(f"has no UTC offset: {shown(value)}")
        return found.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        if isinstance(error, FieldError):
            raise
        raise FieldError(f"must be a time such as 2026-11-28T10:00:00Z: {shown(value)}") from None


def one_of(values: type[E]) -> Callable[[Any], E]:
    """Return a reader of one of an enumeration's codes, whatever their case."""

    def read(value: Any) -> E:
        try:
            return values(text_of(value).strip().upper())
        except ValueError:
            raise FieldError(f"must be one of {', '.join(values)}: {shown(value)}") from None

    return read


def text_of(value: Any) -> str:
    """Return a value that is text; a number is not."""
    if not isinstance(value, str) or isinstance(value, OddNumber):
        raise FieldError(f"must be text in quotes: {shown(value)}")
    return value


def shown(value: Any) -> str:
    """Return a value as a message shows it, cut if it is long, and without any card number."""
    text = mask_card_numbers(str(value) if isinstance(value, OddNumber) else repr(value), CARD_NUMBER_MASK)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
