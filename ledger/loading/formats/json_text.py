"""JSON text as plain values in which nothing was guessed, and on which line each object stands. Pure."""

import json
import re
from typing import Any, Final

from ledger.loading.formats.fields import OddNumber
from ledger.loading.formats.files import UnreadableFileError

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


class RepeatedKeys(dict[str, Any]):
    """An object that says a key twice; which of the two counts is anybody's guess, so neither does."""

    keys_twice: tuple[str, ...] = ()


def parse_json(text: str) -> Any:
    """Return the document; numbers that are no amounts come as OddNumber, never as floats."""
    try:
        return json.loads(
            text,
            object_pairs_hook=_object,
            parse_float=OddNumber,
            parse_int=_whole,
            parse_constant=OddNumber,
        )
    except json.JSONDecodeError as error:
        raise UnreadableFileError(f"line {error.lineno}: {error.msg}") from error
    except RecursionError as error:
        raise UnreadableFileError("the objects are nested too deeply") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    names = [name for name, _ in pairs]
    repeated = RepeatedKeys(found)
    repeated.keys_twice = tuple(sorted({name for name in names if names.count(name) > 1}))
    return repeated


def _whole(digits: str) -> int | OddNumber:
    return OddNumber(digits) if len(digits) > len(str(2**64)) else int(digits)


class _Level:
    """One open object or list and the name of what comes next in it."""

    def __init__(self, path: str, *, is_list: bool) -> None:
        self.path, self.is_list = path, is_list
        self.index, self.key = 0, ""

    def child(self) -> str:
        if self.is_list:
            return f"{self.path}[{self.index}]"
        return f"{self.path}.{self.key}" if self.path else self.key


def lines_of(text: str) -> dict[str, int]:
    """Return the line on which each object begins, by path (``orders[3].payments[0]``), for valid JSON."""
    lines: dict[str, int] = {}
    levels: list[_Level] = []
    line, seen, last_text = 1, 0, ""
    for token in _TOKEN.finditer(text):
        line += text.count("\n", seen, token.start())
        seen = token.start()
        sign = token.group()
        if sign in "{[":
            path = levels[-1].child() if levels else ""
            if sign == "{":
                lines[path] = line
            levels.append(_Level(path, is_list=sign == "["))
        elif sign in "}]":
            levels.pop()
        elif sign == ":":
            levels[-1].key = last_text
        elif sign == "," and levels[-1].is_list:
            levels[-1].index += 1
        else:
            last_text = sign.strip('"')
    return lines
