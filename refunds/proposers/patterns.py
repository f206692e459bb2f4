"""What personal data, secrets and links look like in free text. Pure.

Every repetition is bounded, so that no text makes a pattern slow.
"""

import re
import unicodedata
from typing import Final

EMAIL: Final = re.compile(r"[\w.+\-]{1,64}@[\w.\-]{1,255}|\b\w{1,64} ?[(\[]at[)\]] ?\w{1,64}", re.IGNORECASE)
PHONE: Final = re.compile(r"(?<!\w)\+?\(?\d(?:[ \t().\-/]{0,3}\d){6,14}(?!\w)")
IBAN: Final = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b")
SECRET: Final = re.compile(
    r"\b[a-z]{2,6}_(?:live|test)_[A-Za-z0-9]{4,200}"
    r"|\bsk-[A-Za-z0-9_\-]{12,200}"
    r"|\bwhsec_[A-Za-z0-9]{4,200}"
    r"|\beyJ[A-Za-z0-9_\-]{6,2000}(?:\.[A-Za-z0-9_\-]{1,2000}){0,2}"
    r"|\bbearer\s{1,3}[A-Za-z0-9._~+/\-]{8,2000}"
    r"|\b(?:password|passcode|cvv2?|cvc2?|security code|pin)\s{0,3}(?:is|was|:|=)\s{0,3}\S{1,200}",
    re.IGNORECASE,
)
_TOP_LEVEL_DOMAINS: Final = (
    "com|net|org|info|biz|io|co|app|dev|ai|gl|ly|xyz|top|online|site|shop|store|link|click|example|test|page|"
    "uk|de|fr|es|eu|ru|cn|ch|nl|pl|zip|mov"
)
LINK: Final = re.compile(
    r"[a-z][a-z0-9+.\-]{0,20}://|\bwww\."
    r"|\b(?:javascript|data|mailto|tel|vbscript|file):\S"
    rf"|\b[a-z0-9][a-z0-9\-]{{0,62}}\.(?:{_TOP_LEVEL_DOMAINS})\b"
    r"|\b\w{1,63} (?:dot|\(dot\)|\[dot\]) (?:com|net|org|io)\b"
    r"|\b\d{1,3}(?:\.\d{1,3}){3}\b",
    re.IGNORECASE,
)
# In the order in which they are masked: a longer shape before a shorter one that would split it.
PERSONAL_PATTERNS: Final = (IBAN, EMAIL, PHONE, SECRET)

_DIGIT_RUN: Final = re.compile(r"\d(?:[ \t\r\n.\-_/]{0,3}\d){12,}")
_CARD_LENGTHS: Final = range(13, 20)
_ISSUER_DIGITS: Final = frozenset({2, 3, 4, 5, 6})


def find_card_numbers(text: str) -> list[tuple[int, int]]:
    """Return the spans of digit groups that together pass the Luhn check and have a card number's length.

    Any separator and any script's digits count. A span starts and ends where a group of digits does, so that
    a longer unbroken number (a tracking number) is not searched for a card inside it.
    """
    spans: list[tuple[int, int]] = []
    for run in _DIGIT_RUN.finditer(text):
        places = [index for index in range(run.start(), run.end()) if text[index].isdecimal()]
        spans.extend(_cards_in_run(text, places))
    return spans


def _cards_in_run(text: str, places: list[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    first = 0
    while first < len(places):
        length = _card_length(text, places, first) if _starts_group(places, first) else 0
        if length:
            found.append((places[first], places[first + length - 1] + 1))
        first += length or 1
    return found


def _card_length(text: str, places: list[int], first: int) -> int:
    if unicodedata.decimal(text[places[first]]) not in _ISSUER_DIGITS:
        return 0
    for length in reversed(_CARD_LENGTHS):
        after = first + length
        if after <= len(places) and _starts_group(places, after):
            digits = [unicodedata.decimal(text[place]) for place in places[first:after]]
            if _passes_luhn(digits):
                return length
    return 0


def _starts_group(places: list[int], index: int) -> bool:
    return index in {0, len(places)} or places[index] != places[index - 1] + 1


def _passes_luhn(digits: list[int]) -> bool:
    doubled = (divmod(digit * 2, 10) for digit in digits[-2::-2])
    return (sum(digits[-1::-2]) + sum(tens + ones for tens, ones in doubled)) % 10 == 0
