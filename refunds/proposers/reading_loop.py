"""Asking a model what a message says, and again at most twice for the form of its answer only."""

import time
from dataclasses import dataclass
from typing import Final

from refunds.proposers.asking import MAX_REPAIRS, Line
from refunds.proposers.port import Declined, Proposed, Unavailable
from refunds.proposers.reading import MessageReader, ParsedReading, ReadingContext, parse_reading
from refunds.proposers.router import Admission, RoutedModel
from refunds.proposers.schema import Malformed, MalformedReason

_LEAST_SECONDS: Final = 0.1


@dataclass(frozen=True, kw_only=True)
class ReadingOutcome:
    """What came of asking: who answered, what it was worth, and how many requests asking took."""

    reader: str
    answer: Proposed | Declined
    parsed: ParsedReading | Malformed
    requests: int


def can_read(line: Line) -> bool:
    """Say whether anybody in the line reads messages: the deterministic proposer does not."""
    return any(isinstance(model, RoutedModel | MessageReader) for _, model in line)


def ask_for_reading(
    line: Line, context: ReadingContext, *, deadline_seconds: float, admission: Admission
) -> ReadingOutcome | None:
    """Ask those who read in order, within one deadline; None if none of them could be had.

    A bad answer is an answer: the next reader is asked only where this one gave none.
    """
    ends_at = time.monotonic() + deadline_seconds
    requests = 0
    for name, model in line:
        reader = model.admitted(admission) if isinstance(model, RoutedModel) else model
        remaining = ends_at - time.monotonic()
        if not isinstance(reader, MessageReader) or remaining < _LEAST_SECONDS:
            continue
        answer, asked = _ask(reader, context, remaining)
        requests += asked
        if not isinstance(answer, Unavailable):
            return ReadingOutcome(reader=name, answer=answer, parsed=_parse(answer), requests=requests)
    return None


def _ask(
    reader: MessageReader, context: ReadingContext, seconds: float
) -> tuple[Proposed | Declined | Unavailable, int]:
    ends_at = time.monotonic() + seconds
    result = reader.read_message(context, deadline_seconds=seconds)
    requests = result.requests
    for _repair in range(MAX_REPAIRS):
        remaining = ends_at - time.monotonic()
        if not (isinstance(result, Proposed) and _is_repairable(result)) or remaining < _LEAST_SECONDS:
            break
        again = reader.read_message(context, deadline_seconds=remaining, repair_of=result.raw_text)
        requests += again.requests
        if isinstance(again, Unavailable):
            break
        result = again
    return result, requests


def _is_repairable(answer: Proposed) -> bool:
    parsed = parse_reading(answer.raw_text)
    return isinstance(parsed, Malformed) and parsed.repairable


def _parse(answer: Proposed | Declined) -> ParsedReading | Malformed:
    if isinstance(answer, Proposed):
        return parse_reading(answer.raw_text)
    return Malformed(repairable=False, reason=MalformedReason.DECLINED)
