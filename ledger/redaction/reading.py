"""A text as a reader sees it: every script's digits plain, hidden characters left out, escapes undone. Pure.

Detectors look at a reading; what they find is masked in the text itself.
"""

import re
import sys
import unicodedata
from dataclasses import dataclass
from typing import Final

from ledger.redaction.kinds import Span

_REMEMBERED: Final = 4096
_DROPPED: Final = frozenset({0x034F, 0x115F, 0x1160, 0x20E3, 0x2800, 0x3164, 0xFFA0, *range(0xFE00, 0xFE10)})
_MINUS: Final = 0x2212  # not in the category of dashes
_QUOTES: Final = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2039\u203a", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u300c\u300d\u300e\u300f", '"'),
}
# JSON's \u0040 and \n, a program's \x40, an address's %40, a page's &#64; and &commat;
_NAMED: Final = {
    "nbsp": " ",
    "commat": "@",
    "colon": ":",
    "equals": "=",
    "period": ".",
    "plus": "+",
    "lowbar": "_",
    "quot": '"',
    "apos": "'",
    "amp": "&",
    "hyphen": "-",
    "sol": "/",
    "Tab": "\t",
    "NewLine": "\n",
}
_ESCAPE: Final = re.compile(
    r"(?P<json>\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2})|(?P<space>\\[nrt])"
    rf"|&(?P<named>{'|'.join(_NAMED)});"
    r"|(?P<percent>(?:%[0-9a-fA-F]{2})+)|&#(?:x(?P<hex>[0-9a-fA-F]{1,6})|(?P<dec>[0-9]{1,7}));"
)
_REACH: Final = 200  # characters on both sides of an escape that are surely read with it
_FARTHEST: Final = 5_000


class _Plain(dict[int, str]):
    """Every character as the one that it looks like, or as nothing."""

    def __missing__(self, code: int) -> str:
        plain = _plain(chr(code))
        if len(self) < _REMEMBERED:
            self[code] = plain
        return plain


def _plain(character: str) -> str:
    if character.isascii():
        return character
    digit, category = unicodedata.digit(character, None), unicodedata.category(character)
    if digit is not None:
        return str(digit)
    if category in {"Cf", "Cs"} or ord(character) in _DROPPED:
        return ""
    if category == "Pd" or ord(character) == _MINUS:
        return "-"
    if character.isspace():
        return "\n" if category in {"Zl", "Zp", "Cc"} else " "
    compatible = unicodedata.normalize("NFKC", _QUOTES.get(character, character))
    return compatible if len(compatible) == 1 else character


_PLAIN: Final = _Plain()


@dataclass(frozen=True, slots=True)
class Reading:
    """``plain[i]`` is read from ``text[starts[i]:ends[i]]``; without places, from ``text[i]``."""

    plain: str
    starts: list[int] | None = None
    ends: list[int] | None = None

    def in_text(self, span: Span) -> Span:
        """Return where a find in the reading stands in the text."""
        if self.starts is None or self.ends is None:
            return span
        return Span(span.kind, self.starts[span.start], self.ends[span.end - 1])


def readings(text: str) -> list[Reading]:
    """Return one reading, and more of the lines that hold escapes."""
    found = [_read(text)]
    if "%" in text or "\\" in text or "&" in text:
        found.extend(_read_unescaped(text, start, end) for start, end in _around_escapes(text))
    return found


def _around_escapes(text: str) -> list[tuple[int, int]]:
    """Return the parts of a text to read without escapes: some lines around each, as far as a find may reach."""
    parts: list[tuple[int, int]] = []
    for escape in _ESCAPE.finditer(text):
        if parts and escape.end() <= parts[-1][1] - _REACH:
            continue
        start = text.rfind("\n", 0, max(0, escape.start() - _REACH)) + 1
        end = text.find("\n", escape.end() + _REACH)
        start, end = max(start, escape.start() - _FARTHEST), len(text) if end < 0 else end
        end = min(end, escape.end() + _FARTHEST)
        if parts and start <= parts[-1][1]:
            parts[-1] = (parts[-1][0], end)
        else:
            parts.append((start, end))
    return parts


def _read(text: str) -> Reading:
    if text.isascii():
        return Reading(text)
    plain = text.translate(_PLAIN)
    if len(plain) == len(text):
        return Reading(plain)
    kept = [index for index, character in enumerate(text) if _PLAIN[ord(character)]]
    return Reading(plain, kept, [index + 1 for index in kept])


def _read_unescaped(text: str, first: int, last: int) -> Reading:
    plain: list[str] = []
    starts: list[int] = []
    ends: list[int] = []

    def add(piece: str, start: int, end: int | None) -> None:
        for offset, character in enumerate(piece):
            shown = _PLAIN[ord(character)]
            plain.append(shown)
            starts.extend([start if end is not None else start + offset] * len(shown))
            ends.extend([end if end is not None else start + offset + 1] * len(shown))

    reached = first
    for escape in _ESCAPE.finditer(text, first, last):
        add(text[reached : escape.start()], reached, None)
        add(_unescaped(escape), *escape.span())
        reached = escape.end()
    add(text[reached:last], reached, None)
    return Reading("".join(plain), starts, ends)


def _unescaped(escape: re.Match[str]) -> str:
    if escape["json"]:
        return chr(int(escape["json"].lstrip("\\ux"), 16))
    if escape["space"]:
        return "\t" if escape["space"].endswith("t") else "\n"
    if escape["named"]:
        return _NAMED[escape["named"]]
    if escape["percent"]:
        return bytes.fromhex(escape["percent"].replace("%", "")).decode("utf-8", "replace")
    code = int(escape["hex"], 16) if escape["hex"] else int(escape["dec"])
    return chr(code) if code <= sys.maxunicode else "?"
