"""What a customer may send, checked the same way by pages and API before anything is stored. Pure.

What cannot be used is refused, and never cleaned into something that the customer did not write. Sensitive data that
nobody needs is the exception, in the open: a visible marker stands in its place, the writer is told, and what is
stored, and whose digest is kept, is the text with the marker. Card data is not taken out but refused, so that whoever
sends it learns not to.
"""

import unicodedata
from collections.abc import Collection
from typing import Final

from ledger.redaction import NAMES, Kind, find_in_words, find_sensitive, mask

MAX_MESSAGE: Final = 2000
MAX_ORDER_NUMBER: Final = 64
MAX_CLIENT_TOKEN: Final = 100
PROBLEMS: Final = ("DUPLICATE_CHARGE",)
MARKERS: Final = {kind: f"[{name} removed]" for kind, name in NAMES.items()}
CARD_NUMBER_MASK: Final = MARKERS[Kind.CARD_NUMBER]
REFUSED: Final = frozenset({Kind.CARD_NUMBER, Kind.SECURITY_CODE})  # the rest is taken out

_LOOKED_AHEAD: Final = 200  # characters: a card number with all that may stand between its digits
_LINE_BREAKS: Final = frozenset("\n\t")
# Unicode's embeddings, overrides and isolates: they show a text in another order than the one it is stored in.
_BIDI_CONTROLS: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_FORBIDDEN: Final = frozenset({"Cc", "Cs"})
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Zl", "Zp", "Zs"})
_HIDDEN: Final = (_INVISIBLE | _FORBIDDEN) - {"Zs"}
# Letters, marks and symbols that show nothing by themselves: fillers, joiners, variation selectors, the blank
# braille pattern (Unicode's Default_Ignorable_Code_Point outside the categories above, and U+2800).
_BLANK: Final = frozenset(
    map(
        chr,
        (
            *(0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0),
            *range(0x180B, 0x1810),
            *range(0xFE00, 0xFE10),
            *range(0xE0100, 0xE01F0),
        ),
    )
)


class IntakeRefusedError(ValueError):
    """If you see this, what a person sent cannot be used; ``code`` is stable and ``text`` is for that person."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(code)
        self.code, self.text = code, text


def check_message(text: str) -> str:
    """Return what is kept of a message, at most 2000 characters.

    It is trimmed, its line breaks are line feeds, and a marker stands in the place of sensitive data. Checking what
    was kept changes nothing. Raises IntakeRefusedError: MESSAGE_REQUIRED, MESSAGE_TOO_LONG, MESSAGE_NOT_READABLE,
    MESSAGE_HAS_CARD_NUMBER, MESSAGE_HAS_SECURITY_CODE.
    """
    trimmed = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    if any(_is_unreadable(character) for character in trimmed):
        raise IntakeRefusedError(
            "MESSAGE_NOT_READABLE", "The text contains hidden control characters. Type it again without them."
        )
    if all(_is_invisible(character) for character in trimmed):
        raise IntakeRefusedError("MESSAGE_REQUIRED", "Tell us what happened.")
    _refuse_length(trimmed)
    found = find_in_words(trimmed)
    _refuse_card_data({span.kind for span in found})
    if not found:
        return trimmed
    kept = mask(trimmed, MARKERS.__getitem__, find_in_words)
    _refuse_length(kept)  # a marker may be longer than what it stands for
    return kept


def _refuse_length(text: str) -> None:
    if len(text) > MAX_MESSAGE:
        raise IntakeRefusedError("MESSAGE_TOO_LONG", f"Use at most {MAX_MESSAGE} characters.")


def _refuse_card_data(kinds: Collection[Kind]) -> None:
    if Kind.CARD_NUMBER in kinds:
        raise IntakeRefusedError(
            "MESSAGE_HAS_CARD_NUMBER",
            "Don't send card numbers: we never need one, and nothing was saved. If it matters which card it was, "
            "give its last four digits only, for example: the card ending in 1234.",
        )
    if Kind.SECURITY_CODE in kinds:
        raise IntakeRefusedError(
            "MESSAGE_HAS_SECURITY_CODE",
            "Don't send the security code of a card: we never need it, and nothing was saved. Leave it out.",
        )


def removed_from(kept: str) -> tuple[Kind, ...]:
    """Return the kinds whose marker stands in a text that was kept, in a fixed order."""
    return tuple(kind for kind, marker in MARKERS.items() if marker in kept)


def tell_removed(kept: str) -> str:
    """Return one sentence about what was taken out of a text, or nothing."""
    names = [_with_article(NAMES[kind]) for kind in removed_from(kept)]
    if not names:
        return ""
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"We took out what looked like {listed} before anything was saved: we never need that."


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'aeio' else 'a'} {name}"


_NOTE_TEXTS: Final = {
    "NOTE_REQUIRED": "Write a note, or leave the field empty.",
    "NOTE_TOO_LONG": "The note is too long.",
    "NOTE_NOT_READABLE": "The note contains hidden control characters.",
    "NOTE_HAS_CARD_NUMBER": "The note contains a card number. Give the card's last four digits only.",
    "NOTE_HAS_SECURITY_CODE": "The note contains the security code of a card. Leave it out.",
}


def check_note(text: str) -> str:
    """Return a colleague's note, held against the rules of a message; an empty one stays empty.

    Raises IntakeRefusedError: NOTE_REQUIRED (nothing in it can be seen), NOTE_TOO_LONG, NOTE_NOT_READABLE,
    NOTE_HAS_CARD_NUMBER, NOTE_HAS_SECURITY_CODE.
    """
    if not text.strip():
        return ""
    try:
        return check_message(text)
    except IntakeRefusedError as refused:
        code = refused.code.replace("MESSAGE", "NOTE")
        raise IntakeRefusedError(code, _NOTE_TEXTS[code]) from refused


def without_sensitive_data(text: str, *, most: int = MAX_MESSAGE) -> str:
    """Return what may be shown again to whoever typed it: the text with a marker for everything sensitive.

    No more than ``most`` characters are searched or shown, and no part of a find that stands across the cut.
    """
    beginning = text.replace("\r\n", "\n")[: most + _LOOKED_AHEAD]
    across = (span.start for span in find_sensitive(beginning) if span.start < most < span.end)
    return mask(beginning[: min(across, default=most)], MARKERS.__getitem__)


def has_hidden_characters(text: str) -> bool:
    """Say whether a text holds what nobody can see in it: controls, joiners, fillers, marks of direction, tags.

    Spaces of every kind, line feeds and tabs are none. For texts that somebody else approves by reading them.
    """
    return any(_is_hidden(character) for character in text)


def check_order_number(text: str) -> str:
    """Return the order number without spaces around it and without a leading ``#``; printable ASCII, at most 64.

    Digits of other scripts are refused rather than read as ASCII ones: no record holds such a number.
    Raises IntakeRefusedError: ORDER_NUMBER_REQUIRED, ORDER_NUMBER_INVALID.
    """
    number = text.strip(" \t\r\n").removeprefix("#")
    if not number:
        raise IntakeRefusedError("ORDER_NUMBER_REQUIRED", "Choose an order, or type an order number.")
    if len(number) > MAX_ORDER_NUMBER or not (number.isascii() and number.isprintable()):
        raise IntakeRefusedError(
            "ORDER_NUMBER_INVALID", "Type the order number as it stands in your order confirmation."
        )
    return number


def check_client_token(text: str) -> str:
    """Return a caller's token for one request: 1 to 100 visible ASCII characters and nothing sensitive.

    Raises IntakeRefusedError: CLIENT_TOKEN_INVALID.
    """
    if not 1 <= len(text) <= MAX_CLIENT_TOKEN or not all("!" <= character <= "~" for character in text):
        raise IntakeRefusedError("CLIENT_TOKEN_INVALID", "Use 1 to 100 visible ASCII characters.")
    found = find_sensitive(text)
    if found:  # it is stored, and it is nobody's free text
        name = NAMES[found[0].kind]
        raise IntakeRefusedError("CLIENT_TOKEN_INVALID", f"Use a random text that contains no {name}.")
    return text


def check_problem(text: str) -> str:
    """Return the code of a problem, whatever its case; an empty text stays empty.

    Raises IntakeRefusedError: PROBLEM_UNKNOWN.
    """
    code = text.strip().upper()
    if code and code not in PROBLEMS:
        raise IntakeRefusedError("PROBLEM_UNKNOWN", f"Use one of: {', '.join(PROBLEMS)}.")
    return code


def _is_invisible(character: str) -> bool:
    return character in _BLANK or unicodedata.category(character) in _INVISIBLE


def _is_hidden(character: str) -> bool:
    if character in _LINE_BREAKS:
        return False
    return character in _BLANK or unicodedata.category(character) in _HIDDEN


def _is_unreadable(character: str) -> bool:
    if character in _LINE_BREAKS:
        return False
    return character in _BIDI_CONTROLS or unicodedata.category(character) in _FORBIDDEN
