"""Ask the proposers in order, within one deadline, and let the form of an answer be repaired.

Who does not answer is followed by the next. Who answers badly is not: a better answer from somebody else would be
shopping for a yes, and so would be an action that changes while the form of an answer is repaired. Every bound is
over all layers: at most ``MOST_REQUESTS`` requests to one model for one proposal, of which at most three go
unanswered in a row, and at most ``MAX_REPAIRS`` repairs.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from refunds.proposers.attempts import MAX_REQUESTS
from refunds.proposers.port import (
    Declined,
    ProposalContext,
    ProposalResult,
    Proposed,
    Proposer,
    Unavailable,
)
from refunds.proposers.router import Admission, RoutedModel
from refunds.proposers.schema import (
    Malformed,
    MalformedReason,
    ParsedProposal,
    names_another_action,
    parse_proposal,
)

MAX_REPAIRS: Final = 2
# A repair is asked for only while fewer requests than this were made, and makes at most as many itself.
MOST_REQUESTS: Final = 2 * MAX_REQUESTS - 1
# Of the time that is left, a model that is not the last one may use this much, so that the next has some.
_SHARE: Final = 0.6
LEAST_SECONDS: Final = 0.1

Line = Sequence[tuple[str, Proposer | RoutedModel]]


@dataclass(frozen=True, slots=True)
class ProposalOutcome:
    """What came of asking: who answered, what it was worth, how much asking it took, and who else did not answer.

    ``unavailable`` holds ``NAME:KIND`` for each model that was passed over. ``documents`` says which house texts
    stood in the question, as evidence; empty where the answer is no model's.
    """

    proposer: str
    answer: Proposed | Declined
    parsed: ParsedProposal | Malformed
    requests: int
    unavailable: tuple[str, ...]
    documents: tuple[Mapping[str, str | int], ...] = ()

    @property
    def defect(self) -> str:
        """The code of what is wrong with the answer: how the model declined, or its defect; empty for a proposal."""
        if isinstance(self.answer, Declined):
            return str(self.answer.kind)
        return str(self.parsed.reason) if isinstance(self.parsed, Malformed) else ""


def ask_in_order(
    line: Line, context: ProposalContext, *, deadline_seconds: float, admission: Admission
) -> ProposalOutcome:
    """Return the first answer. The last in ``line`` needs no network and always answers."""
    unavailable: list[str] = []
    requests = 0
    for name, model, seconds in turns(line, deadline_seconds=deadline_seconds):
        proposer = model.admitted(admission) if isinstance(model, RoutedModel) else model
        question = _Question(proposer, context)
        result, asked = ask_and_repair(question.ask, _is_repairable, seconds=max(LEAST_SECONDS, seconds))
        requests += asked
        if isinstance(result, Unavailable):
            unavailable.append(f"{name}:{result.kind}")
        else:
            return ProposalOutcome(name, result, question.parse(result), requests, tuple(unavailable))
    raise RuntimeError("The last proposer needs no network and always answers.")


def turns(line: Line, *, deadline_seconds: float) -> Iterator[tuple[str, Proposer | RoutedModel, float]]:
    """Yield each of the line with the seconds that are left for it of one deadline; the last needs no time."""
    ends_at = time.monotonic() + deadline_seconds
    for place, (name, model) in enumerate(line):
        remaining = ends_at - time.monotonic()
        more_follow = len(line) - place - 2 > 0
        yield name, model, remaining * _SHARE if more_follow else remaining


def ask_and_repair(
    ask: Callable[..., ProposalResult], is_repairable: Callable[[str], bool], *, seconds: float
) -> tuple[ProposalResult, int]:
    """Ask one model, and ask again at most twice for the form of its answer only; return how many requests it took.

    ``ask`` takes ``deadline_seconds`` and ``repair_of``, as ``Proposer.propose`` does.
    """
    ends_at = time.monotonic() + seconds
    result = ask(deadline_seconds=seconds)
    requests = result.requests
    for _repair in range(MAX_REPAIRS):
        remaining = ends_at - time.monotonic()
        if not (isinstance(result, Proposed) and is_repairable(result.raw_text)):
            break
        if remaining <= 0 or requests >= MAX_REQUESTS:
            break
        again = ask(deadline_seconds=remaining, repair_of=result.raw_text)
        requests += again.requests
        if isinstance(again, Unavailable):
            break
        result = again
    return result, requests


def _is_repairable(text: str) -> bool:
    parsed = parse_proposal(text)
    return isinstance(parsed, Malformed) and parsed.repairable


class _Question:
    """One question to one proposer, which remembers the answers whose form was to be repaired."""

    def __init__(self, proposer: Proposer, context: ProposalContext) -> None:
        self._proposer, self._context = proposer, context
        self._earlier: list[str] = []

    def ask(self, *, deadline_seconds: float, repair_of: str | None = None) -> ProposalResult:
        if repair_of is not None:
            self._earlier.append(repair_of)
        return self._proposer.propose(self._context, deadline_seconds=deadline_seconds, repair_of=repair_of)

    def parse(self, answer: Proposed | Declined) -> ParsedProposal | Malformed:
        """Return what an answer is worth: a repair is of the form, and the action stays the same."""
        if not isinstance(answer, Proposed):
            return Malformed(repairable=False, reason=MalformedReason.DECLINED)
        parsed = parse_proposal(answer.raw_text)
        if isinstance(parsed, ParsedProposal) and any(
            names_another_action(text, parsed) for text in self._earlier
        ):
            return Malformed(repairable=False, reason=MalformedReason.CHANGED_IN_REPAIR)
        return parsed
