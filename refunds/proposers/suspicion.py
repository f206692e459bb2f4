"""Which keys show that a model tries to state what only trusted code may state. Pure.

Source: stage 7, "hallucinated identifier, or unsafe tool request must be rejected rather than repeatedly
reprompted into apparent validity".
"""

import re
from collections.abc import Iterable
from typing import Final

_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NOT_A_LETTER: Final = re.compile(r"[^a-z]+")
# Parts of words that are long enough to mean nothing else.
_STEMS: Final = re.compile(
    "amount|currenc|customer|tenant|merchant|account|transaction|payment|invoice|charge|order|refund|price|"
    "minorunit|discount|credit|voucher|coupon|e-?mail|phone|address|passw|secret|token|bearer|webhook|endpoint|"
    "argument|function|command|instruct|execut|approv|overrid|polic|receipt|balance|iban|session|scope|"
    "permission|privilege|workflow|operation|fingerprint|idempot"
)
# Short words that count only when they stand alone: "id" is in "confidence".
_WORDS: Final = frozenset(
    {
        "id",
        "ids",
        "uid",
        "uuid",
        "guid",
        "ref",
        "refs",
        "reference",
        "url",
        "uri",
        "href",
        "link",
        "key",
        "keys",
    }
    | {
        "tool",
        "tools",
        "call",
        "calls",
        "action",
        "actions",
        "name",
        "user",
        "users",
        "owner",
        "role",
        "admin",
    }
    | {
        "system",
        "card",
        "cards",
        "pan",
        "cvv",
        "cvc",
        "pin",
        "cents",
        "sum",
        "total",
        "value",
        "fee",
        "limit",
    }
    | {"limits", "usd", "eur", "gbp", "jpy", "kwd", "state", "status", "sql", "query", "method", "headers"}
)


def has_forbidden_key(keys: Iterable[str], *, known: frozenset[str]) -> bool:
    """Say whether a key beyond the known ones names an identifier, amount, tool or authority.

    A key with a character outside ASCII or with a digit counts: it is a look-alike or carries an identifier.
    """
    plain = {_letters(key) for key in known}
    return any(_is_forbidden(key) for key in keys if key not in known and _letters(key) not in plain)


def _is_forbidden(key: str) -> bool:
    if not key.isascii() or any(character.isdigit() for character in key):
        return True
    words = _CAMEL.sub(" ", key).casefold()
    return _STEMS.search(_letters(key)) is not None or not _WORDS.isdisjoint(_NOT_A_LETTER.split(words))


def _letters(key: str) -> str:
    """Return only the letters of a key; a key outside ASCII keeps what makes it one."""
    return _NOT_A_LETTER.sub("", key.casefold()) if key.isascii() else key
