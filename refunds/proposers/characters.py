"""Which characters may stand in text that a model wrote or that a model will read. Pure."""

import re
import unicodedata
from typing import Final

_JOINERS: Final = frozenset("\u200c\u200d")
_LINE_SEPARATORS: Final = frozenset({"Zl", "Zp"})
_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co"}) | _LINE_SEPARATORS
# Everything beyond printable ASCII and the three usual white spaces is looked at one by one.
_LOOKED_AT: Final = re.compile(r"[^\n\r\t\x20-\x7e]")
# These hide as well, although no category says so: noncharacters and supplementary variation selectors.
_HIDDEN_OTHERWISE: Final = re.compile(
    "[\ufdd0-\ufdef\U000e0100-\U000e01ef"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0, 0x110000, 0x10000))
    + "]"
)
_NOT_STORABLE: Final = re.compile("[\x00\ud800-\udfff]")


def has_unsafe_characters(text: str) -> bool:
    """Say whether the text holds a control, bidirectional, invisible, surrogate or private-use character.

    Line feed, carriage return and tab are fine. A zero-width joiner is fine between two characters outside
    ASCII, where emoji, Persian and Indic scripts need it.
    """
    return any(_is_unsafe(match) for match in _LOOKED_AT.finditer(text))


def remove_unsafe_characters(text: str) -> str:
    """Return the text without its unsafe characters; a line separator becomes a line feed."""
    while has_unsafe_characters(text):
        text = _LOOKED_AT.sub(_replacement, text)
    return text


def make_storable(text: str) -> str:
    """Return the text with what a PostgreSQL text cannot hold (NUL, lone surrogates) replaced.

    The stand-in is a private-use character: a text that was unsafe stays unsafe.
    """
    return _NOT_STORABLE.sub("\ue000", text)


def _replacement(match: re.Match[str]) -> str:
    character = match.group()
    if not _is_unsafe(match):
        return character
    return "\n" if unicodedata.category(character) in _LINE_SEPARATORS else ""


def _is_unsafe(match: re.Match[str]) -> bool:
    character = match.group()
    if character in _JOINERS:
        return not (_is_joined(match.string, match.start() - 1) and _is_joined(match.string, match.end()))
    hidden = unicodedata.category(character) in _HIDDEN_CATEGORIES
    return hidden or _HIDDEN_OTHERWISE.match(character) is not None


def _is_joined(text: str, index: int) -> bool:
    return 0 <= index < len(text) and not text[index].isascii() and text[index] not in _JOINERS
