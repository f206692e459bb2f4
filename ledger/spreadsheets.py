"""Rows for programs that calculate: text that people wrote stays text, and numbers stay numbers. Pure.

A cell that begins with one of a few signs is run as a formula by whoever opens the file, so such a text gets an
apostrophe in front, which spreadsheets show as nothing. Source: owasp.org/www-community/attacks/CSV_Injection.
"""

import csv
import unicodedata
from collections.abc import Iterable, Iterator
from datetime import datetime
from io import StringIO
from typing import Final

Cell = str | int | datetime | None

BYTE_ORDER_MARK: Final = "\ufeff"  # without it some programs read UTF-8 as something else
_STARTS_A_FORMULA: Final = frozenset("=+-@|%")
_NOT_SHOWN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def csv_lines(header: Iterable[str], rows: Iterable[Iterable[Cell]]) -> Iterator[str]:
    """Yield the lines of a CSV file (RFC 4180) with a byte order mark, one row each."""
    yield BYTE_ORDER_MARK + _line(header)
    for row in rows:
        yield _line(row)


def plain_text(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula: on one line, without characters that show nothing."""
    shown = "".join(" " if unicodedata.category(character) in _NOT_SHOWN else character for character in text)
    first = unicodedata.normalize("NFKC", shown).lstrip()[:1]
    return f"'{shown}" if first in _STARTS_A_FORMULA and first else shown


def _line(cells: Iterable[Cell]) -> str:
    line = StringIO()
    csv.writer(line, quoting=csv.QUOTE_NONNUMERIC).writerow([_cell(cell) for cell in cells])
    return line.getvalue()


def _cell(cell: Cell) -> str | int:
    if isinstance(cell, int):
        return cell
    if isinstance(cell, datetime):
        return cell.isoformat(timespec="seconds")
    return plain_text(cell or "")
