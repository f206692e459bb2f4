"""Finds e-mail addresses and telephone numbers in free text. Pure.

A telephone number has to look like one or be called one: order numbers, tracking numbers, amounts and dates are
made of the same digits, and people need them.
"""

import re
from collections.abc import Iterator
from typing import Final

from ledger.redaction.kinds import Kind, Span
from ledger.redaction.signs import any_of

_DOMAIN: Final = r"(?:[\w\-]{1,63}\.){1,8}(?:[^\W\d_]{2,63}|xn--[a-z0-9\-]{1,59})"
_EMAIL: Final = re.compile(
    r"(?:(?<![\w.+%'!#$*/^`|~\-])(?:[\w.+'!#$*/^`|~\-]|%(?!40)){1,256}"
    r"|\"(?:[^\"\\\r\n]|\\[^\r\n]){1,64}\")"
    rf"@(?:{_DOMAIN}|localhost\b|\[?(?:[0-9]{{1,3}}\.){{3}}[0-9]{{1,3}}\b\]?)",
    re.IGNORECASE,
)
# Written so that machines do not see it: jane (at) mail (dot) example, jane at mail dot example, jane @ mail.example
_AT: Final = r" ?[\[({<] ?(?:at|ät|arroba|chez|@) ?[\])}>] ?"
_DOT: Final = r"(?: ?[\[({<] ?(?:dot|punkt|punto|point|\.) ?[\])}>] ?| (?:dot|punkt|punto) |\.| \. )"
_EMAIL_APART: Final = re.compile(
    rf"(?<![\w.+\-])[\w.+\-]{{1,64}}+(?:{_AT}[\w\-]{{1,63}}(?:{_DOT}[\w\-]{{1,63}}){{0,4}}"
    rf"| at [\w\-]{{1,63}}(?: (?:dot|punkt|punto) [\w\-]{{1,63}}){{1,4}}"
    rf"| ?@ ?[\w\-]{{1,63}}(?:(?:\.| \. )[\w\-]{{1,63}}){{0,3}}(?:\.| \. )[^\W\d_]{{2,24}})(?!\w)",
    re.IGNORECASE,
)

_SIGNS: Final = r"[ \t\r\n.()/\-+]{0,3}"
# +44 20 7946 0958, with the country code; or as numbers are grouped inside a country. What a number begins with is
# looked at after its first character, so that the search can skip to signs and digits.
_SHAPED: Final = re.compile(
    rf"[+(0-9](?:(?<=\+)(?<![0-9A-Za-z_+]\+) ?\(?[1-9](?:{_SIGNS}[0-9]){{6,14}}(?![0-9A-Za-z_])"
    r"|(?<![0-9A-Za-z_.#/+\-].)(?:"
    r"(?<=\()(?:[2-9][0-9]{2}\) ?[0-9]{3}[ .\-][0-9]{4}|0?[1-9][0-9]{1,4}\) ?[0-9]{3,5}[ \-]?[0-9]{3,5})"
    r"|(?<=1)[ .\-][2-9][0-9]{2}([ .\-])[0-9]{3}\1[0-9]{4}"
    r"|(?<=[2-9])[0-9]{2}([ .\-])[0-9]{3}\2[0-9]{4}"
    r"|(?<=1)[3-9][0-9]([ \-])[0-9]{4}\3[0-9]{4}"
    r"|(?<=0)0[1-9][0-9]{0,2}(?:[ \-/]\(?[0-9]{1,8}\)?){2,5}"
    r"|(?<=0)[1-9][0-9]{0,3}(?:[ \-/]{1,3}[0-9]{2,8}){1,4}"
    r")(?![0-9A-Za-z_/]|[.,:\-][0-9]))"
)
_LONGEST_USER: Final = 300  # characters of a name and a password before a host
_ENDS_A_USER: Final = re.compile(r"[\s\"'<>/@]")
_TRUNK_DIGITS: Final = range(9, 16)
_PHONE_WORDS: Final = (
    *(
        "phone",
        "tel",
        "mob",
        "cell",
        "fax",
        "call",
        "ring",
        "text me",
        "sms",
        "reach me",
        "tlf",
        "tfno",
        "whats ?app",
    ),
    *("handy", "rufnummer", "portable", "movil", "puhelin"),
)
_OTHER_PHONE_WORDS: Final = (
    r"t[eé]l|móvil|тел|电话|電話|手机|手機|전화|휴대폰|هاتف|جوال|טלפון|फ़ोन|फोन|โทร|điện thoại"
)
_PHONE_WORD: Final = any_of(_PHONE_WORDS)
_CALLED_A_PHONE: Final = re.compile(
    rf"(?:(?<![^\W\d_])|phone)(?:{'|'.join(_PHONE_WORDS)}|{_OTHER_PHONE_WORDS})\w{{0,9}}(?: (?:me|us))?"
    r"(?:[\s:.=#()\"'\\>?\-]{1,3}(?:(?:number|numbers|no|nr|num|nummer|n[uú]m[eé]?ro|numero|номер|is|are|at|on|me|my"
    r"|under|unter|lautet|ist|est|es|[eé])(?![^\W\d_]))?|番号|号码|號碼|번호|は|是|为){0,4}"
    rf"(?P<value>(?<!\d)\(?\+?[0-9](?:{_SIGNS}[0-9]){{6,14}})(?![0-9A-Za-z_])",
    re.IGNORECASE,
)
# What stands before a number that is none.
_OTHER_NUMBER: Final = re.compile(
    r"(?<![^\W\d_])(?:order|tracking|invoice|reference|ref|parcel|receipt|ticket|case|booking|shipment|serial|article|item|sku|id|"
    r"bestellung|bestellnummer|rechnung|rechnungsnummer|sendung|sendungsnummer|commande|facture|pedido|factura|ordine"
    r"|заказ\w?)"
    r"(?: ?(?:number|numéro|numero|número|nummer|no|nr|num|id|n[°º]))?[\s:.#=\-]{0,3}\Z",
    re.IGNORECASE,
)
_LOOKED_BACK: Final = 30  # characters


def may_hold_phone(lower: str, first_digit: int) -> bool:
    """Say at two looks whether a text in lower case may hold a telephone number; it begins near that place."""
    begins = max(0, first_digit - 3)  # with a sign, a space and a bracket before it
    return _SHAPED.search(lower, begins) is not None or _PHONE_WORD.search(lower) is not None


def find_emails(plain: str) -> Iterator[Span]:
    """Yield e-mail addresses, also the ones that are written apart."""
    for pattern in (_EMAIL, _EMAIL_APART):
        for match in pattern.finditer(plain):
            if not _is_before_a_host(plain, match.start()):
                yield Span(Kind.EMAIL, *match.span())


def _is_before_a_host(plain: str, start: int) -> bool:
    """Say whether a name and a password of an address stand here: those are found as such, and its host is kept."""
    _, slashes, before = plain[max(0, start - _LONGEST_USER) : start].rpartition("://")
    return bool(slashes) and _ENDS_A_USER.search(before) is None


def find_phones(plain: str) -> Iterator[Span]:
    """Yield telephone numbers: international ones, ones grouped as in some country, ones that are called so."""
    for match in _SHAPED.finditer(plain):
        before = plain[max(0, match.start() - _LOOKED_BACK) : match.start()]
        if match.group().startswith("+") or (
            _is_long_enough(match.group()) and not _OTHER_NUMBER.search(before)
        ):
            yield Span(Kind.PHONE, *match.span())
    for match in _CALLED_A_PHONE.finditer(plain):
        yield Span(Kind.PHONE, *match.span("value"))


def _is_long_enough(number: str) -> bool:
    """Say whether a number with a leading zero has as many digits as telephones have; a date has fewer."""
    return not number.startswith("0") or sum(map(str.isdigit, number)) in _TRUNK_DIGITS
