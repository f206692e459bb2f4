"""One set of detectors: where sensitive data stands in a text, whoever asks. Pure.

Most texts hold none: one look for the signs of each family finds those, and its detector runs only where they are.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from ledger.redaction.bank import find_cards, find_ibans, find_security_codes, may_hold_iban
from ledger.redaction.blocks import LONG, find_in_blocks
from ledger.redaction.contacts import find_emails, find_phones, may_hold_phone
from ledger.redaction.credentials import find_credentials
from ledger.redaction.kinds import Detector, Kind, Span
from ledger.redaction.passwords import find_passwords
from ledger.redaction.reading import readings
from ledger.redaction.signs import any_of

# How each family shows in lower case; every sign begins with a plain character, which keeps looking for it fast.
# Texts outside ASCII are looked at by every detector: their words have more forms than these.
_CREDENTIALS: Final = (
    *(
        "private key",
        "authori",
        "cookie",
        "secret",
        "token",
        r"key\b",
        "apikey",
        "session",
        "csrf",
        "xsrf",
        "sessid",
    ),
    *(
        r"connect\.sid",
        "signature",
        "bearer",
        "basic",
        "digest",
        r"://[^\s]{1,300}@",
        r"sk[_\-]",
        r"rk_",
        r"pk_",
        "ak_",
    ),
    *(
        "api_",
        "key_",
        r"sg\.",
        "whsec_",
        r"gh[pousr]_",
        "github_pat",
        "glpat",
        "xox",
        "xapp",
        "npm_",
        "pypi-",
        "hf_",
    ),
    *("aiza", "ya29", "akia", "asia", "eyj", r"shp(?:at|ss|ca|pa)_", "dop_v1"),
)
_NUMBERED: Final = r"[^\r\n]{0,60}?[0-9]"
_PASSWORDS: Final = (
    *(
        "pass",
        "pw",
        "kennwort",
        "mdp",
        "contrase",
        "clave",
        "senha",
        "palavra",
        "wachtwoord",
        "haslo",
        "parola",
    ),
    *(
        "sifre",
        "salasana",
        "losenord",
        "adgangskode",
        "heslo",
        "jelszo",
        "kata sandi",
        "phrase",
        "recovery words",
    ),
    *(
        rf"{word}(?![a-z]){_NUMBERED}{{4}}"
        for word in ("pin", "geheimzahl", "nip", "code", "otp", "tan", "you sent")
    ),
)
_EMAILS: Final = ("@", " dot ", " punkt ", " punto ")
_BRACKETED: Final = tuple(rf"{bracket} ?(?:at|arroba|chez)\b" for bracket in (r"\(", r"\[", r"\{", "<"))
_ESCAPES: Final = ("%[0-9a-f]{2}", r"\\u[0-9a-f]{4}", r"\\x[0-9a-f]{2}", r"\\[nrt]", "&#", r"&[a-z]{3,7};")
_CODES: Final = (
    *(
        word + _NUMBERED
        for word in (
            r"cv[vcn]",
            "csc",
            "cav2",
            "card ver",
            "code",
            "nummer",
            "ziffer",
            "codi",
            "digits",
            r"c\.v\.",
            "security num",
            "number on the",
            "cv2",
            "cryptogramme",
            "kod",
        )
    ),
    *(r"\(cv", r"\( cv", "is my c", "is the c", "is my s", "is the s"),
)
# Telephone numbers and cards have at least seven digits; most that have are times, amounts and identifiers.
_SEVEN_DIGITS: Final = re.compile(r"[0-9](?:[^0-9A-Za-z]{0,8}[0-9]){6}")
_THIRTEEN_DIGITS: Final = re.compile(r"[0-9](?:[^0-9A-Za-z]{0,8}[0-9]){12}")


_WORD_FAMILIES: Final[tuple[tuple[re.Pattern[str], Detector], ...]] = (
    (any_of(_CREDENTIALS), find_credentials),
    (any_of(_PASSWORDS), find_passwords),
    (any_of((*_EMAILS, *_BRACKETED)), find_emails),
    (any_of(_CODES), find_security_codes),
)
_ANY_WORD: Final = any_of((*_CREDENTIALS, *_PASSWORDS, *_EMAILS, *_BRACKETED, *_CODES, *_ESCAPES))
_ESCAPED: Final = any_of(_ESCAPES)
_ALL: Final = (*(detector for _, detector in _WORD_FAMILIES), find_phones, find_ibans, find_cards)
_MOST_PASSES: Final = (
    16  # masking one find can leave another in plain sight; a long text is looked at less often
)
_ORDER: Final = {kind: place for place, kind in enumerate(Kind)}
_added: list[Detector] = []


def add_detector(detector: Detector) -> None:
    """Let one more detector look at what people write; called once, at the start of a process."""
    _added[:] = [detector]


def find_sensitive(text: str) -> list[Span]:
    """Return every find in the text; finds may overlap."""
    if len(text) > LONG:
        return find_in_blocks(text, find_sensitive)
    if not text.isascii():
        return _without_parts_of_accounts([*find_cards(text), *_find_in_readings(text)])
    lower = text.lower()
    word = _ANY_WORD.search(lower)
    found = _find_numbers(text, lower)
    if word is not None:
        escaped = _ESCAPED.search(lower, word.start())
        found.extend(_find_in_readings(text) if escaped else _find_by_words(text, lower))
    return _without_parts_of_accounts(found) if found else found


def _without_parts_of_accounts(found: list[Span]) -> list[Span]:
    """Leave out the numbers inside a bank account's: its digits may pass for a card number by chance."""
    accounts = [span for span in found if span.kind == Kind.IBAN]
    return [
        span
        for span in found
        if span.kind == Kind.IBAN
        or not any(account.start <= span.start and span.end <= account.end for account in accounts)
    ]


def _find_numbers(text: str, lower: str) -> list[Span]:
    """Return the numbers in an ASCII text; this and one look for words is what every line of the log passes."""
    found: list[Span] = []
    digits = _SEVEN_DIGITS.search(text)
    if digits is not None:
        if _THIRTEEN_DIGITS.search(text, digits.start()):
            found.extend(find_cards(text))
        if may_hold_phone(lower, digits.start()):
            found.extend(find_phones(text))
    if may_hold_iban(lower):
        found.extend(find_ibans(text))
    return found


def _find_by_words(text: str, lower: str) -> Iterator[Span]:
    for sign, detector in _WORD_FAMILIES:
        if sign.search(lower):
            yield from detector(text)


def find_in_words(text: str) -> list[Span]:
    """Return every find in what a person wrote, those of an added detector among them."""
    found = find_sensitive(text)
    for detector in _added:
        found.extend(detector(text))
    return found


def mask(text: str, marker: Callable[[Kind], str], find: Callable[[str], list[Span]] = find_sensitive) -> str:
    """Return the text with a marker in the place of every find; masking what is masked changes nothing."""
    for _ in range(max(1, min(_MOST_PASSES, LONG // (2 * len(text) + 1)))):
        spans = find(text)
        if not spans:
            break
        parts: list[str] = []
        reached = 0
        for kind, start, end in _merged(spans):
            parts += (text[reached:start], marker(kind))
            reached = end
        text = "".join((*parts, text[reached:]))
    return text


def _find_in_readings(text: str) -> Iterator[Span]:
    """Yield what stands in the text as a reader sees it, card numbers that only show there among it."""
    for reading in readings(text):
        plain = reading.plain
        if plain.isascii():
            lower = plain.lower()
            yield from map(reading.in_text, (*_find_numbers(plain, lower), *_find_by_words(plain, lower)))
            continue
        for detector in _ALL:
            yield from map(reading.in_text, detector(plain))


def _merged(found: Iterable[Span]) -> list[Span]:
    """Return what to replace: finds that overlap are one, of the kind that is named first."""
    merged: list[Span] = []
    for span in sorted(found, key=lambda span: (span.start, -span.end)):
        if span.start >= span.end:
            continue
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            kind = min(span.kind, last.kind, key=_ORDER.__getitem__)
            merged[-1] = Span(kind, last.start, max(last.end, span.end))
        else:
            merged.append(span)
    return merged
