"""Finds what pays: card numbers, the security codes printed beside them, and bank accounts. Pure.

Sources: ISO/IEC 7812 (Luhn), ISO 13616 (IBAN: length by country, remainder 1 modulo 97).
"""

import re
from collections.abc import Iterator
from typing import Final

from ledger.card_numbers import find_card_numbers
from ledger.redaction.kinds import Kind, Span

# The length of an IBAN in each country that has one (SWIFT's IBAN registry, release 99).
_IBAN_LENGTHS: Final = {
    **dict.fromkeys(["NO"], 15),
    **dict.fromkeys(["BE", "BI"], 16),
    **dict.fromkeys(["DK", "FK", "FO", "FI", "GL", "NL", "SD"], 18),
    **dict.fromkeys(["MK", "SI"], 19),
    **dict.fromkeys(["AT", "BA", "EE", "KZ", "LT", "LU", "MN", "XK"], 20),
    **dict.fromkeys(["CH", "CR", "HR", "LI", "LV"], 21),
    **dict.fromkeys(["BG", "BH", "DE", "GB", "GE", "IE", "ME", "RS", "VA"], 22),
    **dict.fromkeys(["AE", "GI", "IL", "IQ", "OM", "SO", "TL"], 23),
    **dict.fromkeys(["AD", "CZ", "ES", "MD", "PK", "RO", "SA", "SE", "SK", "TN", "VG"], 24),
    **dict.fromkeys(["LY", "PT", "ST"], 25),
    **dict.fromkeys(["IS", "TR"], 26),
    **dict.fromkeys(["BF", "CF", "CG", "CI", "CM", "DJ", "FR", "GR", "IT", "MC", "MG", "MR", "SM"], 27),
    **dict.fromkeys(["AL", "AZ", "BY", "CY", "DO", "GT", "HN", "HU", "LB", "NI", "PL", "SN", "SV", "YE"], 28),
    **dict.fromkeys(["BR", "EG", "PS", "QA", "UA"], 29),
    **dict.fromkeys(["JO", "KW", "MU"], 30),
    **dict.fromkeys(["MT", "SC"], 31),
    **dict.fromkeys(["LC"], 32),
    **dict.fromkeys(["RU"], 33),
}
_IBAN_SIGNS: Final = frozenset(" \t\r\n-.+/")
_IBAN_START: Final = re.compile(
    r"(?<![^\W_])(?:IBAN)?([A-Z]{2})[ \-]?[0-9]{2}(?=[ \t\r\n\-.+/]{0,3}[A-Z0-9])", re.IGNORECASE
)
_COUNTRIES: Final = "|".join(country.lower() for country in _IBAN_LENGTHS)
# Two digits first, so that the search can skip to them; the long list last, for the few places that are left.
_IBAN_HINT: Final = re.compile(
    r"[0-9][0-9](?:(?<=[a-z]{2}[0-9]{2})|(?<=[a-z]{2}[ \-][0-9]{2}))(?=(?:[ \t\r\n\-.+/]{0,3}[0-9a-z]){11})"
    rf"(?:(?<=(?:{_COUNTRIES})[0-9]{{2}})|(?<=(?:{_COUNTRIES})[ \-][0-9]{{2}}))"
)
_MOST_SIGNS: Final = 3
_BASE_36: Final = 36

_CVV_WORD: Final = (
    r"(?:cvv2?|cvc2?|csc2?|cvn2?|cav2|card verification (?:value|code|number)|(?:card )?security code"
    r"|card security number|security number of (?:my|the) card|c\.v\.[vc]\.?|cv2"
    r"|(?:last )?(?:3|three) digits (?:on|from|at) (?:the |its )?back(?: of (?:my|the|your) card)?"
    r"|(?:code|number) on the (?:back|front) of (?:my|the|your) card|(?:3|three)[ \-]digit (?:security )?code"
    r"|sicherheitscode|kartenpr(?:ü|ue)fnummer|pr(?:ü|ue)fziffern?"
    r"|c[oó]d(?:igo|ice|\.)? (?:de |di )?(?:seguridad|seguran[çc]a|sicurezza)"
    r"|cryptogramme(?: visuel)?|code de s[eé]curit[eé]|beveiligingscode|kod zabezpieczaj[ąa]cy|g[üu]venlik kodu"
    r"|код безопасности|安全码|安全碼|セキュリティコード|보안 ?코드|رمز الأمان|קוד אבטחה)"
)
# What joins the words and the code; after "of my card" it can't be missing, or "of the card 4242" would be one.
_JOINT: Final = r"(?:(?:is|was|are|ist|lautet|war|es|est|era|é|è|это)\b|[:=#(>\-は是为為]|->)"
_OF_A_CARD: Final = r"\s(?:of|for|on|auf|de|da|del|von|der)(?:\s[^\W\d_]{1,12}){1,3}"
_CVV_BEFORE: Final = re.compile(
    rf"(?<![^\W\d_]){_CVV_WORD}s?[\"'\\]{{0,2}}(?:[\s\-](?:number|code|no\.?|nr\.?|nummer))?"
    rf"(?:{_OF_A_CARD}\s{{0,2}}{_JOINT}|(?:\s{{0,2}}{_JOINT}){{0,2}})[\s\"'\\(]{{0,4}}"
    r"(?P<value>(?<![0-9])[0-9](?:[ \-.]{0,2}[0-9]){2,3})(?![0-9])(?![.,\-/:][0-9])",
    re.IGNORECASE,
)
_CVV_AFTER: Final = re.compile(
    rf"(?<![0-9.,\-/#$€£])(?P<value>[0-9]{{3,4}})\s?(?:\(\s?(?:the |my )?{_CVV_WORD}\s?\)"
    rf"|is (?:the|my)(?: card'?s?)? {_CVV_WORD}(?![^\W\d_]))",
    re.IGNORECASE,
)


def find_cards(text: str) -> Iterator[Span]:
    """Yield card numbers; reads the text itself, hidden characters and all."""
    for start, end in find_card_numbers(text):
        yield Span(Kind.CARD_NUMBER, start, end)


def find_security_codes(plain: str) -> Iterator[Span]:
    """Yield the three or four digits that the words beside them call a card's security code."""
    for pattern in (_CVV_BEFORE, _CVV_AFTER):
        for match in pattern.finditer(plain):
            yield Span(Kind.SECURITY_CODE, *match.span("value"))


def may_hold_iban(lower: str) -> bool:
    """Say at one look whether a text in lower case may hold a bank account number."""
    return _IBAN_HINT.search(lower) is not None


def find_ibans(plain: str) -> Iterator[Span]:
    """Yield the bank account numbers of a country's length whose check digits hold, however they are spaced."""
    for match in _IBAN_START.finditer(plain):
        length = _IBAN_LENGTHS.get(match[1].upper(), 0)
        end = _end_of(plain, match.start(1), length) if length else 0
        if end and _passes_mod_97(plain[match.start(1) : end]):
            yield Span(Kind.IBAN, match.start(1), end)


def _end_of(plain: str, start: int, length: int) -> int:
    """Return where that many letters and digits end, if a word ends there too; else 0."""
    taken = signs = 0
    for place in range(start, len(plain)):
        character = plain[place]
        if character.isascii() and character.isalnum():
            taken, signs = taken + 1, 0
            if taken == length:
                after = plain[place + 1 : place + 2]
                return 0 if after.isascii() and after.isalnum() else place + 1
        elif character in _IBAN_SIGNS and signs < _MOST_SIGNS:
            signs += 1
        else:
            return 0
    return 0


def _passes_mod_97(written: str) -> bool:
    compact = "".join(character for character in written if character.isalnum())
    digits = "".join(str(int(character, _BASE_36)) for character in compact[4:] + compact[:4])
    return int(digits) % 97 == 1
