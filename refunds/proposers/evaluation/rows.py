"""An evaluation set: versioned data, read strictly, so that a typing error is no row that always passes. Pure."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

NEWEST: Final = Path(__file__).with_name("2026-11.json")
DEFAULT_JOB: Final = "proposal"


class Area(StrEnum):
    """What a row is about. All rows are judged alike; areas say where a model is weak."""

    INTENT = "intent"
    PROPOSAL = "proposal"
    INJECTION = "injection"
    LANGUAGE = "language"
    SCHEMA = "schema"
    SAFETY = "safety"
    TOOL = "tool"
    LATENCY = "latency"
    CONTEXT = "context"


class EvaluationSetError(ValueError):
    """If you see this, a file of evaluation rows is not usable; the message names the row."""


@dataclass(frozen=True, kw_only=True)
class EvaluationRow:
    """One question. ``given`` is what its job needs, which the job itself checks."""

    id: str
    area: Area
    job: str
    given: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class EvaluationSet:
    """All rows of one file. ``sha256`` is over its bytes; 19 of 20 answers take at most ``latency_p95_ms``."""

    version: str
    sha256: str
    latency_p95_ms: int
    rows: tuple[EvaluationRow, ...]

    def of(self, area: Area) -> tuple[EvaluationRow, ...]:
        """Return the rows of one area."""
        return tuple(row for row in self.rows if row.area is area)


def read_set(file: Path = NEWEST) -> EvaluationSet:
    """Return a set. Raises EvaluationSetError, and OSError for a file that cannot be read."""
    content = file.read_bytes()
    try:
        document = json.loads(content)
        version, limit = str(document["version"]), int(document["latency_p95_ms"])
        rows = tuple(_row(each) for each in document["rows"])
    except (ValueError, KeyError, TypeError) as error:
        raise EvaluationSetError(f"{file.name}: {error}") from error
    ids = [row.id for row in rows]
    if not rows or len(set(ids)) != len(ids):
        raise EvaluationSetError(f"{file.name}: no rows, or an id twice")
    return EvaluationSet(
        version=version, sha256=hashlib.sha256(content).hexdigest(), latency_p95_ms=limit, rows=rows
    )


def _row(fields: Mapping[str, Any]) -> EvaluationRow:
    given = dict(fields)
    return EvaluationRow(
        id=str(given.pop("id")),
        area=Area(given.pop("area")),
        job=str(given.pop("job", DEFAULT_JOB)),
        given=given,
    )
