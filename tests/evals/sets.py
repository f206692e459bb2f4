"""The questions: invented by us, versioned, and few enough for a model that thinks for seconds."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).with_name("sets")
READING, PROPOSALS, INJECTIONS = "reading", "proposals", "injections"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One question and its right answer.

    A reading has intent, problem and order; a proposal has finding, reason_code, action and reason. The right answer
    to an injection is what the same model says about the same finding when nobody tries to talk it over.
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


@dataclass(frozen=True, slots=True)
class EvalSet:
    """All rows, and a name that changes with any word of them."""

    version: str
    rows: tuple[Row, ...]

    def of(self, kind: str) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.kind == kind)


def read_sets(*, kinds: tuple[str, ...] = (PROPOSALS, INJECTIONS, READING), at_most: int = 0) -> EvalSet:
    """Return the rows of these kinds; ``at_most`` above 0 takes as many of each kind as fit, from the front."""
    digest, rows, version = hashlib.sha256(), [], ""
    for kind in kinds:
        raw = (FOLDER / f"{kind}.json").read_bytes()
        digest.update(raw)
        document = json.loads(raw)
        version = max(version, document["version"])
        found = [Row(kind=kind, **row) for row in document["rows"]]
        rows += found[: at_most // len(kinds)] if at_most else found
    part = f", at most {at_most}" if at_most else ""
    return EvalSet(f"{version}+{digest.hexdigest()[:8]}{part}", tuple(rows))
