"""Does a draft say more than a model may say? Pure.

Check 7 of stage 7, and half of "customer text never claims more than the stored state supports": a model
knows no amount, date, identifier or outcome, so a draft that states one invented it. The rules would rather
drop a harmless draft than show a false one: the catalogue speaks without it.

The word rules know English, the language that drafts are asked for in. A draft they cannot read is unsafe.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ledger.redaction import Kind, find_sensitive
from refunds.proposers import patterns, wording
from refunds.proposers.characters import has_unsafe_characters

GUARDRAILS_VERSION: Final = "1"
MAX_CHECKED: Final = 20_000
# Rules that only a draft can be held to: broken JSON has few sentences and names the fields.
# Codes of what is not kept either: a draft that holds it is stored masked, and fails for its mask.
NOT_KEPT: Final = frozenset({"EMAIL", "CARD_NUMBER", "IBAN", "PHONE", "SECRET"})
DRAFT_RULES: Final = frozenset({"UNCHECKED_SCRIPT", "UNCHECKED_LANGUAGE", "FIELD_NAME"})

_QUOTES: Final = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u201c": '"', "\u201d": '"'},
)
_DASHES: Final = re.compile(r"[\u2010-\u2015\u2212]")
_SPACES: Final = re.compile(r"\s+")
_WORD: Final = re.compile(r"[^\W\d_]+")
# Words that English sentences can hardly do without: at least one in twelve. Small words that other languages have
# as well ("is", "was", "of", "we", "to", "i", "for") prove nothing: a Dutch or Polish claim would pass as English.
_ENGLISH: Final = frozenset(
    _WORD.findall(
        "the and you your with this that can have has not are its our they there please thank thanks if would could "
        "about from my it sorry hello here help other looks looked understood asked found charged colleague"
    )
)
_ONE_IN: Final = 12
_NAMED: Final = r"(?:(?<=\border )|(?<=\bpurchase )|(?<=\brequest )|(?<=\bcase ))"


@dataclass(frozen=True, kw_only=True)
class _Draft:
    """One draft in the forms that the rules read."""

    raw: str
    shown: str  # compatibility forms unified: full-width letters and digits are letters and digits
    folded: str  # lower case, straight quotes, plain hyphens, single spaces
    unreferenced: str  # folded, without the identifiers that the draft may repeat


def find_unsafe_language(text: str, *, allowed_references: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the codes of everything unsafe in a draft, in a fixed order; empty when it may be shown.

    `allowed_references` are identifiers that trusted code established as this customer's (the order number);
    a draft may repeat exactly those. No part of the text is ever part of a code.
    """
    if len(text) > MAX_CHECKED:
        return ("TOO_LONG",)
    shown = unicodedata.normalize("NFKC", text)
    folded = _fold(shown)
    draft = _Draft(
        raw=text,
        shown=shown,
        folded=folded,
        unreferenced=_remove_references(folded, allowed_references),
    )
    return tuple(code for code, finds in _RULES if finds(draft))


def fold_without(draft: str, references: tuple[str, ...]) -> str:
    """Return a draft as the forms of sentences are written: folded, line breaks kept, without these identifiers.

    Only where one stands behind what it names: "order 50", but not "charged 50 twice", where it reads as an amount.
    """
    lines = (_fold(line) for line in unicodedata.normalize("NFKC", draft).splitlines())
    return "\n".join(_remove_references(line, references, behind=_NAMED) for line in lines)


def _fold(text: str) -> str:
    return _SPACES.sub(" ", _DASHES.sub("-", text.casefold().translate(_QUOTES)))


def _remove_references(folded: str, references: tuple[str, ...], *, behind: str = r"(?<![\w#])") -> str:
    for reference in filter(None, map(_fold, references)):
        folded = re.sub(rf"{behind}#?{re.escape(reference)}(?!\w)", "", folded)
    return folded


_Rule = Callable[[_Draft], bool]


def _shown(pattern: re.Pattern[str]) -> _Rule:
    return lambda draft: pattern.search(draft.shown) is not None


def _folded(pattern: re.Pattern[str]) -> _Rule:
    return lambda draft: pattern.search(draft.folded) is not None


def _unreferenced(pattern: re.Pattern[str]) -> _Rule:
    return lambda draft: pattern.search(draft.unreferenced) is not None


def _has_other_script(draft: _Draft) -> bool:
    """Say whether a letter is not Latin: a draft in English needs none, and look-alikes hide words."""
    return any(
        character.isalpha() and not character.isascii() and "LATIN" not in unicodedata.name(character, "")
        for character in draft.shown
    )


def _is_not_english(draft: _Draft) -> bool:
    words = _WORD.findall(draft.folded)
    return sum(word in _ENGLISH for word in words) * _ONE_IN < len(words)


def _holds(*kinds: Kind) -> _Rule:
    return lambda draft: any(span.kind in kinds for span in find_sensitive(draft.shown))


def _has_card_number(draft: _Draft) -> bool:
    return _PAYS(draft) or wording.CARD_TAIL.search(draft.folded) is not None


def _has_phone(draft: _Draft) -> bool:
    """Look at what is left without references: an order number may have a telephone number's form."""
    return any(span.kind == Kind.PHONE for span in find_sensitive(draft.unreferenced))


# Stricter than for what people write: a draft needs no such sign, with or without a whole domain behind it.
_ADDRESSED: Final = re.compile(r"[\w.+\-]@[\w.\-]")
_PAYS: Final = _holds(Kind.CARD_NUMBER, Kind.SECURITY_CODE)


_RULES: Final[tuple[tuple[str, _Rule], ...]] = (
    ("UNSAFE_CHARACTERS", lambda draft: has_unsafe_characters(draft.raw)),
    ("UNCHECKED_SCRIPT", _has_other_script),
    ("UNCHECKED_LANGUAGE", _is_not_english),
    ("OBFUSCATED", _folded(wording.SPACED_LETTERS)),
    ("MARKUP", _shown(wording.MARKUP)),
    ("LINK", _shown(patterns.LINK)),
    ("EMAIL", lambda draft: _ADDRESSED.search(draft.shown) is not None or _holds(Kind.EMAIL)(draft)),
    ("CARD_NUMBER", _has_card_number),
    ("IBAN", _holds(Kind.IBAN)),
    ("PHONE", _has_phone),
    ("SECRET", _holds(Kind.PASSWORD, Kind.TOKEN, Kind.COOKIE, Kind.KEY)),
    ("MASKED", lambda draft: wording.MASK in draft.raw),
    ("SENSITIVE_REQUEST", _folded(wording.SENSITIVE_REQUEST)),
    ("UNVERIFIED_REFERENCE", _unreferenced(wording.REFERENCE)),
    ("MONEY_AMOUNT", _folded(wording.MONEY)),
    ("DATE", _folded(wording.DATE)),
    ("PROMISE", _folded(wording.PROMISE)),
    ("STATUS_CLAIM", _folded(wording.STATUS)),
    ("COMMITMENT", _folded(wording.COMMITMENT)),
    ("FIELD_NAME", _folded(wording.FIELD_NAME)),
    ("INSTRUCTION_ECHO", _folded(wording.INSTRUCTION)),
)
