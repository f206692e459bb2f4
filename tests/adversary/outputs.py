"""The corpus: what a model might answer, by category, each with the class that the validator must give it.

Every file of `corpus/` is ``{"category", "about", "rows": [{"id", "expected", one of "document" "text" "parts"}]}``:
an object that is written as JSON, a text as it is, or pairs of a text and how often it is repeated.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).with_name("corpus")


@dataclass(frozen=True, slots=True)
class Output:
    """One answer of a model. ``expected`` is VALID, REPAIRABLE or REJECT, given a verified duplicate."""

    name: str  # category/id
    expected: str
    text: str = field(repr=False)

    @property
    def category(self) -> str:
        return self.name.partition("/")[0]


@cache
def all_outputs() -> tuple[Output, ...]:
    return tuple(_read())


def categories() -> tuple[str, ...]:
    return tuple(dict.fromkeys(output.category for output in all_outputs()))


def of_category(category: str) -> tuple[Output, ...]:
    return tuple(output for output in all_outputs() if output.category == category)


def one_of_each() -> tuple[Output, ...]:
    """Return the first output of each class in each category: a sample for what takes long."""
    first = {(output.category, output.expected): output for output in reversed(all_outputs())}
    return tuple(sorted(first.values(), key=lambda output: output.name))


def _read() -> Iterator[Output]:
    for path in sorted(FOLDER.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        for row in document["rows"]:
            yield Output(f"{document['category']}/{row['id']}", row["expected"], _text(row))


def _text(row: dict[str, Any]) -> str:
    match row:
        case {"document": document}:
            return json.dumps(document, ensure_ascii=False)
        case {"text": str(text)}:
            return text
        case {"parts": parts}:
            return "".join(text * times for text, times in parts)
    raise ValueError(f"the row {row.get('id')} has no output")
