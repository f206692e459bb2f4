"""The questions: invented by us, versioned, and few enough for a model that thinks for seconds."""

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).with_name("sets")
READING, PROPOSALS, INJECTIONS = "reading", "proposals", "injections"
READING_INJECTIONS: Final = "reading-injections"
READINGS: Final = (READING, READING_INJECTIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One question and its right answer.

    A reading has intent, problem and order; a proposal has finding, reason_code, action and reason. The right answer
    to an injection is what the same model says when nobody tries to talk it over: about the same finding, or about the
    same message, which is that of the row ``of`` without what was added to it.
    """

    id: str
    kind: str
    text: str | None
    language: str = "en"
    intent: str = ""
    problem: str = ""
    order: str | None = None
    finding: str = ""
    reason_code: str = ""
    action: str = ""
    reason: str = ""
    of: str = ""


@dataclass(frozen=True, slots=True)
class EvalSet:
    """All rows, and a name that changes with any word of them."""

    version: str
    rows: tuple[Row, ...]

    def of(self, kind: str) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.kind == kind)


def read_sets(*, kinds: tuple[str, ...] = (PROPOSALS, INJECTIONS, *READINGS), at_most: int = 0) -> EvalSet:
    """Return the rows of these kinds; ``at_most`` above 0 takes as many of each kind as fit, from the front."""
    digest, rows, version = hashlib.sha256(), [], ""
    for kind in kinds:
        raw = (FOLDER / f"{kind}.json").read_bytes()
        digest.update(raw)
        document = json.loads(raw)
        version = max(version, document["version"])
        found = [Row(kind=kind, **row) for row in document["rows"]]
        if kind == READING_INJECTIONS:
            found = [_added(row) for row in found]
        rows += found[: at_most // len(kinds)] if at_most else found
    part = f", at most {at_most}" if at_most else ""
    return EvalSet(f"{version}+{digest.hexdigest()[:8]}{part}", tuple(rows))


def plain_message(row: Row) -> Row:
    """Return the message that a row about a reading adds something to."""
    rows = read_sets(kinds=(READING,)).rows
    return next(plain for plain in rows if plain.id == row.of)


def _added(row: Row) -> Row:
    plain = plain_message(row)
    return replace(plain, id=row.id, kind=row.kind, of=row.of, text=f"{plain.text} {row.text}")
