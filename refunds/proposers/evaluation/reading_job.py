"""Reading a message: the first answer is the one reading that is right, field by field."""

import json
from collections.abc import Iterator
from typing import Final

from refunds.proposers.evaluation.jobs import RowResult, check_names, customer_words, result_of
from refunds.proposers.evaluation.rows import EvaluationRow, EvaluationSetError
from refunds.proposers.reading import (
    MessageReader,
    ParsedReading,
    ReadingContext,
    hinted_number,
    parse_reading,
)
from refunds.proposers.schema import Malformed

_KNOWN: Final = frozenset({"reading"})


class ReadingJob:
    """A row says which ``reading`` is right, as a model would say it."""

    def __init__(self, reader: MessageReader) -> None:
        self._reader = reader

    def check(self, row: EvaluationRow) -> None:
        """Raise EvaluationSetError for a row that this job cannot judge, or that its own reading does not meet."""
        check_names(row, _KNOWN)
        try:
            unmet = tuple(_faults_of(json.dumps(row.given["reading"]), row))
        except (KeyError, TypeError, ValueError) as error:
            raise EvaluationSetError(f"{row.id}: {error}") from error
        if unmet:
            raise EvaluationSetError(f"{row.id}: no reading meets it: {', '.join(unmet)}")

    def ask(self, row: EvaluationRow, *, deadline_seconds: float) -> RowResult:
        """Ask once and judge the answer."""
        result = self._reader.read_message(_context(row), deadline_seconds=deadline_seconds)
        return result_of(result, lambda text: _faults_of(text, row))


def _faults_of(text: str, row: EvaluationRow) -> Iterator[str]:
    """Yield the code of everything that is wrong with an answer; nothing when the row holds.

    A hint that does not stand in the words would be dropped later. Here it is a fault of its own, whatever is right.
    """
    parsed, right, context = parse_reading(text), _right(row), _context(row)
    if isinstance(parsed, Malformed):
        yield str(parsed.reason)
        return
    for name in ("intent", "problem", "language"):
        if getattr(parsed, name) != getattr(right, name):
            yield f"WRONG_{name.upper()}"
    hint = hinted_number(parsed, context)
    if hint is None and parsed.order_hint is not None:
        yield "INVENTED_HINT"
    elif hint != hinted_number(right, context):
        yield "WRONG_HINT"


def _right(row: EvaluationRow) -> ParsedReading:
    parsed = parse_reading(json.dumps(row.given["reading"]))
    if isinstance(parsed, Malformed):
        raise EvaluationSetError(f"what is right is no reading: {parsed.reason}")
    return parsed


def _context(row: EvaluationRow) -> ReadingContext:
    return ReadingContext(customer_text=customer_words(row.given) or "")
