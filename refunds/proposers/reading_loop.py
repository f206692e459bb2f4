"""Asking a model what a message says, and again at most twice for the form of its answer only."""

from dataclasses import dataclass
from functools import partial

from refunds.proposers.asking import LEAST_SECONDS, Line, ask_and_repair, turns
from refunds.proposers.port import Declined, Proposed, Unavailable
from refunds.proposers.reading import MessageReader, ParsedReading, ReadingContext, parse_reading
from refunds.proposers.router import Admission, RoutedModel
from refunds.proposers.schema import Malformed, MalformedReason


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
    requests = 0
    for name, model, seconds in turns(line, deadline_seconds=deadline_seconds):
        reader = model.admitted(admission) if isinstance(model, RoutedModel) else model
        if not isinstance(reader, MessageReader) or seconds < LEAST_SECONDS:
            continue
        answer, asked = ask_and_repair(partial(reader.read_message, context), _is_repairable, seconds=seconds)
        requests += asked
        if not isinstance(answer, Unavailable):
            return ReadingOutcome(reader=name, answer=answer, parsed=_parse(answer), requests=requests)
    return None


def _is_repairable(text: str) -> bool:
    parsed = parse_reading(text)
    return isinstance(parsed, Malformed) and parsed.repairable


def _parse(answer: Proposed | Declined) -> ParsedReading | Malformed:
    if isinstance(answer, Proposed):
        return parse_reading(answer.raw_text)
    return Malformed(repairable=False, reason=MalformedReason.DECLINED)
