"""The one redactor: what must not leave this system, taken out of any text or value. Pure.

Used for every line of the log, and for whatever else leaves the erasable rows. It is the second guard: the first is
that ids and codes are written, and never what people wrote. Redacting what is redacted changes nothing.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from ledger.card_numbers import find_card_numbers, mask_card_numbers

MASK: Final = "[REDACTED]"
_DEEPEST: Final = 8
_SHORTEST_CARD: Final = 10**12
_SHORT: Final = 40  # characters

# Members with these names hold secrets, or what people wrote, whatever their value.
_SENSITIVE: Final = frozenset(
    {
        *("password", "password1", "password2", "passwd", "pwd", "passcode", "secret", "secrets", "token"),
        "pw",
        *("authorization", "cookie", "cookies", "credentials", "session", "sessionid", "csrftoken"),
        *(
            "csrfmiddlewaretoken",
            "card",
            "cvv",
            "cvc",
            "pin",
            "pan",
            "iban",
            "email",
            "mail",
            "phone",
            "address",
        ),
        *(
            "message",
            "text",
            "body",
            "note",
            "notes",
            "description",
            "content",
            "prompt",
            "completion",
            "draft",
        ),
    }
)
_SENSITIVE_PAIRS: Final = frozenset(
    {
        *("api_key", "secret_key", "private_key", "access_key", "signing_key", "session_key"),
        *("card_number", "set_cookie", "user_agent"),
    }
)
_WORDS: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+")

# A quoted value ends at its own quote, any other at the next sign that ends one.
_SEPARATOR: Final = r"""(?:\\?["'])?\s{0,3}(?>=>|[=:])\s{0,3}+(?P<quote>\\?["'])?+"""
_QUOTED: Final = r"(?:(?!(?P=quote))[^\r\n]){1,4000}"
_NAMES: Final = (
    r"(?:pass(?:word|wd|code|phrase)[0-9]?|pwd|(?<![a-z])pw|secret|token|api[_\-]?key|secret[_\-]?key|access[_\-]?key"
    r"|private[_\-]?key|session(?:id|[_\-](?:id|key))|csrf[a-z_\-]{0,20}|cvv2?|cvc2?)"
)
_DONE: Final = r"(?!\[REDACTED\])"
_RULES: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (
        re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,30}-----|\Z)", re.DOTALL),
        MASK,
    ),
    (re.compile(r"(://)[^\s\"'<>]{1,300}@"), rf"\1{MASK}@"),
    (
        re.compile(
            rf"(?i)\b((?:(?:proxy-)?authorization|(?:set-)?cookie|x-api-key|stripe-signature){_SEPARATOR})"
            rf"{_DONE}(?(quote){_QUOTED}|[^\r\n]{{1,4000}})"
        ),
        rf"\1{MASK}",
    ),
    (
        re.compile(rf"(?i)({_NAMES}{_SEPARATOR}){_DONE}(?(quote){_QUOTED}|[^\s,;&\"'}}\])]{{1,2000}})"),
        rf"\1{MASK}",
    ),
    (
        re.compile(rf"(?i)\b((?:pass(?:word|code)|pin|cvv2?|cvc2?) (?:is|was) ){_DONE}\S{{1,200}}"),
        rf"\1{MASK}",
    ),
    (re.compile(rf"(?i)\b(bearer\s{{1,3}}+){_DONE}[A-Za-z0-9._~+/\-]{{4,4000}}=*"), rf"\1{MASK}"),
    (
        re.compile(
            r"(?i)\b((?:basic|token|digest)\s{1,3}+)(?=[A-Za-z._~+/\-]{0,200}[0-9=])[A-Za-z0-9._~+/\-]{12,4000}=*"
        ),
        rf"\1{MASK}",
    ),
    (
        re.compile(
            r"\b(?:(?:sk|rk)_[A-Za-z0-9_]{4,300}|whsec_[A-Za-z0-9+/_]{4,300}=*|sk-[A-Za-z0-9_\-]{12,300}"
            r"|gh[pousr]_[A-Za-z0-9]{20,300}|AKIA[0-9A-Z]{16}"
            r"|eyJ[A-Za-z0-9_\-]{8,4000}(?:\.[A-Za-z0-9_\-]{1,4000}){0,2})"
        ),
        MASK,
    ),
    (
        re.compile(
            r"(?:(?<![\w.+%'!#$*/^`|~\-])(?:[\w.+'!#$*/^`|~\-]|%(?!40)){1,256}"
            r"|\"(?:[^\"\\\r\n]|\\[^\r\n]){1,64}\")"
            r"(?:@|%40)(?:(?:[\w\-]{1,63}\.){1,8}[\w\-]{1,63}|localhost\b)"
        ),
        MASK,
    ),
)
# Most texts hold nothing of it: one look at the lower-case text finds those.
_SUSPICIOUS: Final = re.compile(
    r"@|%40|private key|authori|cookie|pass|pw|secret|token|key|session|csrf|cv[vc]|pin |signature|bearer|basic"
    r"|digest|[sr]k[_\-]|whsec_|gh[pousr]_|akia|eyj"
)
_MANY_DIGITS: Final = re.compile(r"[0-9](?:[^0-9A-Za-z]{0,8}[0-9]){12}")
# What lines are mostly made of: identifiers, digests and times, which hold nothing else.
_HARMLESS: Final = re.compile(
    r"(?![sr]k_)[a-z]{2,5}_[0-9A-Z]{26}|(?=[0-9]*[a-f])(?:[0-9a-f]{32}|[0-9a-f]{64})"
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?(?:Z|\+00:00)"
)
_REMEMBERED: Final = 4096
# Short texts that were looked at and hold nothing: codes and names come again and again.
_clean: set[str] = set()


def redact_text(text: str) -> str:
    """Return the text without card numbers, credentials, e-mail addresses and passwords of connection URLs."""
    if text in _clean or _HARMLESS.fullmatch(text):
        return text
    shown = _redacted(text)
    if len(text) <= _SHORT and shown == text and len(_clean) < _REMEMBERED:
        _clean.add(text)
    return shown


def _redacted(text: str) -> str:
    if not text.isascii() or _MANY_DIGITS.search(text):
        text = mask_card_numbers(text, MASK)
    if _SUSPICIOUS.search(text.lower()):
        for pattern, replacement in _RULES:
            text = pattern.sub(replacement, text)
    return text


def redact(value: Any, *, name: str = "") -> Any:
    """Return a value as it may be shown, made of plain JSON types; ``name`` is the member that holds it.

    Members with sensitive names are replaced whatever they hold. An exception is shown by its type alone: its words
    may quote what somebody wrote.
    """
    return _redact(value, name, _DEEPEST)


def is_sensitive(name: str) -> bool:
    """Say whether a member of this name is never shown: ``customer_message`` is, ``message_id`` is not."""
    known = _known_names.get(name)
    if known is None:
        words = [word.lower() for word in _WORDS.findall(name)]
        known = "_".join(words) in _SENSITIVE | _SENSITIVE_PAIRS or (
            bool(words) and (words[-1] in _SENSITIVE or "_".join(words[-2:]) in _SENSITIVE_PAIRS)
        )
        if len(_known_names) < _REMEMBERED:
            _known_names[name] = known
    return known


_known_names: dict[str, bool] = {}


def _redact(value: Any, name: str, deeper: int) -> Any:
    if value is None or isinstance(value, bool | float):
        return value
    if name and is_sensitive(name):
        return MASK if value != "" else value
    if isinstance(value, int):
        return MASK if abs(value) >= _SHORTEST_CARD and find_card_numbers(str(abs(value))) else value
    if deeper and isinstance(value, Mapping):
        return {_shown_name(key): _redact(inner, str(key), deeper - 1) for key, inner in value.items()}
    if deeper and isinstance(value, list | tuple | set | frozenset):
        return [_redact(inner, name, deeper - 1) for inner in value]
    return _as_text(value)


def _as_text(value: Any) -> str:
    if isinstance(value, BaseException):
        return type(value).__name__
    if isinstance(value, bytes | bytearray):
        return redact_text(bytes(value).decode("utf-8", "replace"))
    return redact_text(str(value))


def _shown_name(key: Any) -> str:
    name = str(key)
    return name if name.isidentifier() else redact_text(name)
