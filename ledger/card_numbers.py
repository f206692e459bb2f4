"""Finds payment card numbers in free text, for whoever must not store, log or send one. Pure.

A card number is as many digits as its issuer's range has (13 to 19) that pass the Luhn check, in any script's digits,
in one piece or in groups with any spaces, dashes or line breaks between them. Identifiers of this system and of the
provider are never one, whatever digits they hold.
"""

import re
import unicodedata
from collections.abc import Mapping
from typing import Final

_MOST_BETWEEN: Final = 8
# How long the numbers of an issuer's range are, longest first. What begins with 2 is a card only in these ranges
# (Mir, Mastercard), so that 20261130... stays a time; 35 is none of 15 digits, so that a device's number stays one.
_ISSUERS: Final[tuple[tuple[re.Pattern[str], tuple[int, ...]], ...]] = (
    (re.compile(r"3[47]"), (15,)),
    (re.compile(r"3[0689]"), (19, 18, 17, 16, 14)),
    (re.compile(r"35|220[0-4]"), (19, 18, 17, 16)),
    (re.compile(r"4"), (19, 16, 13)),
    (re.compile(r"5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720"), (16,)),
    (re.compile(r"5[06-9]|6"), (19, 18, 17, 16, 15, 14, 13)),
)
_PIECES: Final = re.compile(
    # Identifiers, read first so that no number is looked for inside them.
    r"(?<![0-9A-Za-z])(?:"
    r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    r"|(?=[0-9]*[a-f])(?:[0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{32}|[0-9a-f]{16})"
    r"|(?=[0-9]*[A-Z])[0-9A-HJKMNP-TV-Z]{26}"
    r"|(?:wf|rfop|gwat|gwa|aud|apr|case|ch|re|pi|py|pyr|evt|req|cus|acct|txn|dp|du|pm|seti|row)_[0-9A-Za-z]{4,}"
    r")(?![0-9A-Za-z])"
    # Groups of digits; other signs only between groups as cards are printed, always the same sign.
    rf"|(?P<digits>[0-9](?:[ -]{{0,{_MOST_BETWEEN}}}[0-9]){{12,}}"
    r"|[0-9]{4}(?P<sign>[./_,|:;\\*=+~#&…·•']| ?[./_|:;\\*=+~#&…·•] |[_.]{2}|\) ?\(|\] ?\[|\" ?,? ?\"|' ?,? ?')"
    r"[0-9]{4,6}(?:(?P=sign)[0-9]{1,7}){1,3})"
)


class _Plain(dict[int, str]):
    """Every character as an ASCII digit, a space, or itself; the text keeps its length."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        digit = unicodedata.digit(character, None)
        if digit is not None:
            plain = str(digit)
        elif character == "-":  # kept: it makes a UUID
            plain = character
        elif character.isspace() or code in _JOINING or unicodedata.category(character) in _BETWEEN:
            plain = " "
        else:
            plain = character
        if len(self) < _REMEMBERED:
            self[code] = plain
        return plain


_REMEMBERED: Final = 4096
_BETWEEN: Final = frozenset({"Pd", "Zs", "Zl", "Zp", "Cf", "Cc"})
_JOINING: Final = frozenset({0x2212, 0xFE0F, 0x20E3})  # minus sign, and what makes a digit an emoji
_PLAIN: Final = _Plain()


def find_card_numbers(text: str) -> list[tuple[int, int]]:
    """Return the spans of card numbers, first to last.

    A span starts and ends where a group of digits does, so that a longer unbroken number (a tracking number) is not
    searched for a card inside it.
    """
    plain = text.translate(_PLAIN)
    spans: list[tuple[int, int]] = []
    for piece in _PIECES.finditer(plain):
        if piece["digits"]:
            places = [index for index in range(*piece.span()) if "0" <= plain[index] <= "9"]
            spans.extend(_cards_among(plain, places))
    return spans


def has_card_number(text: str) -> bool:
    """Say whether the text holds at least one card number."""
    return bool(find_card_numbers(text))


def mask_card_numbers(text: str, mask: str) -> str:
    """Return the text with every card number replaced."""
    for start, end in reversed(find_card_numbers(text)):
        text = text[:start] + mask + text[end:]
    return text


def _cards_among(plain: str, places: list[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    digits = "".join(plain[place] for place in places)
    starts = {0, len(places)} | {n for n in range(1, len(places)) if places[n] != places[n - 1] + 1}
    first = 0
    while first < len(places):
        length = _card_length(digits, starts, first) if first in starts else 0
        if length:
            found.append((places[first], places[first + length - 1] + 1))
        first += length or 1
    return found


def _card_length(digits: str, starts: set[int], first: int) -> int:
    lengths = next((lengths for issuer, lengths in _ISSUERS if issuer.match(digits, first)), ())
    ends = (length for length in lengths if first + length in starts)
    return next((length for length in ends if _passes_luhn(digits[first : first + length])), 0)


_DOUBLED: Final[Mapping[str, int]] = {str(n): sum(divmod(2 * n, 10)) for n in range(10)}


def _passes_luhn(digits: str) -> bool:
    return (sum(map(int, digits[-1::-2])) + sum(_DOUBLED[digit] for digit in digits[-2::-2])) % 10 == 0
