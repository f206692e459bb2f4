"""Read one JSON document out of untrusted text, noting every defect instead of stopping at the first. Pure.

No number is ever converted, since a proposal holds none. Nothing here raises for any input.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

MAX_DEPTH: Final = 8
MAX_NUMBER_LENGTH: Final = 15
_JSON_SPACES: Final = " \t\n\r"
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_FENCE: Final = re.compile(r"\A```[\w-]{0,16}\s*\n?(.*?)\s*(?:```\s*)?\Z", re.DOTALL)
_KEY_END: Final = re.compile("[:=]")
_KEY_REVERSED: Final = re.compile(r"""\s{0,8}["']?([\w$.\- ]{1,64})""")
_KEY_WINDOW: Final = 80
_ESCAPE: Final = re.compile(r"\\u([0-9a-fA-F]{4})")


class Defect(StrEnum):
    """What is wrong with a text that should be one JSON object."""

    BYTE_ORDER_MARK = "BYTE_ORDER_MARK"
    CODE_FENCE = "CODE_FENCE"
    NOT_JSON = "NOT_JSON"
    TRAILING_TEXT = "TRAILING_TEXT"
    SEVERAL_OBJECTS = "SEVERAL_OBJECTS"
    CONTRADICTORY_OBJECTS = "CONTRADICTORY_OBJECTS"
    DUPLICATE_KEY = "DUPLICATE_KEY"
    CONTRADICTORY_KEYS = "CONTRADICTORY_KEYS"
    NON_FINITE_NUMBER = "NON_FINITE_NUMBER"
    HUGE_NUMBER = "HUGE_NUMBER"
    TOO_DEEP = "TOO_DEEP"


@dataclass(frozen=True)
class Number:
    """A number as it was written."""

    written: str


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a text holds: the document if there is one, its keys and strings, the text outside, defects."""

    document: Any
    keys: tuple[str, ...]
    strings: tuple[str, ...]
    prose: str
    defects: tuple[Defect, ...]


def read_document(text: str) -> Reading:
    """Read the first JSON document of `text`; `document` is None when there is none."""
    defects: list[Defect] = []
    if text.startswith("\ufeff"):
        defects.append(Defect.BYTE_ORDER_MARK)
        text = text[1:]
    if fenced := _FENCE.match(text.strip()):
        defects.append(Defect.CODE_FENCE)
        text = fenced.group(1)
    if _depth(text) > MAX_DEPTH:
        return _undecoded(text, [*defects, Defect.TOO_DEEP])
    reader = _Reader()
    document, rest = reader.read(text.strip(_JSON_SPACES))
    if document is _NOTHING:
        return _undecoded(text, [*defects, Defect.NOT_JSON])
    if rest:
        defects.append(reader.judge_rest(document, rest))
    return Reading(
        document=document,
        keys=(*reader.keys, *_loose_keys(rest)),
        strings=tuple(_strings(document)),
        prose=_unescape(rest),
        defects=(*defects, *reader.defects),
    )


class _Nothing:
    """The absence of a document, which differs from the document `null`."""


_NOTHING: Final = _Nothing()


class _Reader:
    """One decoder and what its hooks saw."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.defects: list[Defect] = []
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_int=self._number,
            parse_float=self._number,
            parse_constant=self._constant,
        )

    def read(self, text: str) -> tuple[Any, str]:
        try:
            document, end = self._decoder.raw_decode(text)
        except (ValueError, RecursionError):
            return _NOTHING, text
        return document, text[end:].strip(_JSON_SPACES)

    def judge_rest(self, document: Any, rest: str) -> Defect:
        """Say what follows a document: prose, the same object again, or a different one."""
        while rest:
            another, rest = self.read(rest.lstrip(","))
            if not isinstance(another, dict | list):
                return Defect.TRAILING_TEXT
            if another != document:
                return Defect.CONTRADICTORY_OBJECTS
        return Defect.SEVERAL_OBJECTS

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in pairs:
            self.keys.append(key)
            if key in result:
                same = result[key] == value
                self.defects.append(Defect.DUPLICATE_KEY if same else Defect.CONTRADICTORY_KEYS)
            result[key] = value
        return result

    def _number(self, written: str) -> Number:
        if len(written) > MAX_NUMBER_LENGTH or re.search(r"[eE][+-]?\d{3}", written):
            self.defects.append(Defect.HUGE_NUMBER)
        return Number(written)

    def _constant(self, written: str) -> Number:
        self.defects.append(Defect.NON_FINITE_NUMBER)
        return Number(written)


def _undecoded(text: str, defects: list[Defect]) -> Reading:
    text = _unescape(text)
    return Reading(
        document=None, keys=tuple(_loose_keys(text)), strings=(), prose=text, defects=tuple(defects)
    )


def _loose_keys(text: str) -> Iterator[str]:
    """Yield what would be keys if the text were well formed, quoted or not."""
    for end in _KEY_END.finditer(text):
        before = text[max(0, end.start() - _KEY_WINDOW) : end.start()]
        if key := _KEY_REVERSED.match(before[::-1]):
            yield key.group(1)[::-1].strip()


def _unescape(text: str) -> str:
    """Return the text with its JSON escapes of characters resolved and surrogate pairs joined."""
    units = _ESCAPE.sub(lambda match: chr(int(match.group(1), 16)), text)
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _depth(text: str) -> int:
    """Return how deep brackets nest outside strings."""
    depth = deepest = 0
    for character in _STRING.sub("", text):
        if character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
