"""A file's bytes as text, within bounds, and as a table where it is one. Every refusal names the line."""

import csv
import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MAX_BYTES: Final = 256 * 2**20


class UnreadableFileError(Exception):
    """If you see this, the file as a whole cannot be read in this format; no single row is to blame."""


@dataclass(frozen=True, slots=True)
class Table:
    """A CSV file: its column names in lower case, and its rows with the line on which each begins."""

    columns: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]

    def records(self) -> Iterator[tuple[int, dict[str, str]]]:
        """Yield line number and values by column name; a row with another number of cells has none."""
        for line, cells in self.rows:
            fits = len(cells) == len(self.columns)
            values = (cell.strip() for cell in cells)
            yield line, dict(zip(self.columns, values, strict=True)) if fits else {}


def read_text(path: Path) -> str:
    """Return the file's text, UTF-8 with or without a byte order mark."""
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise UnreadableFileError(f"the file has {size} bytes; at most {MAX_BYTES} are read at once")
        raw = path.read_bytes()
    except OSError as error:
        raise UnreadableFileError(f"{error.strerror or error}") from error
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UnreadableFileError(f"line {line}: byte 0x{raw[error.start]:02x} is not UTF-8") from error


def read_table(text: str) -> Table:
    """Return comma-separated text as a table; empty lines are left out."""
    rows: list[tuple[int, tuple[str, ...]]] = []
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                rows.append((line, tuple(cells)))
            line = reader.line_num + 1
    except csv.Error as error:
        raise UnreadableFileError(f"line {reader.line_num}: {error}") from error
    if not rows:
        raise UnreadableFileError("the file is empty")
    columns = tuple(" ".join(cell.split()).lower() for cell in rows[0][1])
    twice = sorted(name for name, times in Counter(columns).items() if name and times > 1)
    if twice:
        raise UnreadableFileError(f"line {rows[0][0]}: these columns stand twice: {', '.join(twice)}")
    return Table(columns=columns, rows=tuple(rows[1:]))
