"""Ask the proposers in order, within one deadline, and let the form of an answer be repaired.

Who does not answer is followed by the next. Who answers badly is not: a better answer from somebody else would be
shopping for a yes. Every bound is over all layers: at most ``MOST_REQUESTS`` requests to one model for one proposal,
of which at most three go unanswered in a row, and at most ``MAX_REPAIRS`` repairs.
"""

import time
from collections.abc import Iterable, Sequence
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
from refunds.proposers.schema import Malformed, MalformedReason, ParsedProposal, parse_proposal

MAX_REPAIRS: Final = 2
# A repair is asked for only while fewer requests than this were made, and makes at most as many itself.
MOST_REQUESTS: Final = 2 * MAX_REQUESTS - 1
# Of the time that is left, a model that is not the last one may use this much, so that the next has some.
_SHARE: Final = 0.6
_LEAST_SECONDS: Final = 0.1

Line = Sequence[tuple[str, Proposer | RoutedModel]]


@dataclass(frozen=True, slots=True)
class ProposalOutcome:
    """What came of asking: who answered, what it was worth, how much asking it took, and who else did not answer.

    ``unavailable`` holds ``NAME:KIND`` for each model that was passed over.
    """

    proposer: str
    answer: Proposed | Declined
    parsed: ParsedProposal | Malformed
    requests: int
    unavailable: tuple[str, ...]

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
    ends_at = time.monotonic() + deadline_seconds
    unavailable: list[str] = []
    requests = 0
    for later, (name, model) in _with_models_after(line):
        remaining = max(_LEAST_SECONDS, ends_at - time.monotonic())
        seconds = remaining * _SHARE if later else remaining
        proposer = model.admitted(admission) if isinstance(model, RoutedModel) else model
        result, parsed, asked = _ask(proposer, context, seconds)
        requests += asked
        if not isinstance(result, Unavailable) and parsed is not None:
            return ProposalOutcome(name, result, parsed, requests, tuple(unavailable))
        if isinstance(result, Unavailable):
            unavailable.append(f"{name}:{result.kind}")
    raise RuntimeError("The last proposer needs no network and always answers.")


def _with_models_after(line: Line) -> Iterable[tuple[int, tuple[str, Proposer | RoutedModel]]]:
    """Return each of the line with how many after it need time; the last one needs none."""
    return ((max(0, len(line) - place - 2), entry) for place, entry in enumerate(line))


def _ask(
    proposer: Proposer, context: ProposalContext, seconds: float
) -> tuple[ProposalResult, ParsedProposal | Malformed | None, int]:
    """Ask one proposer, and ask again at most twice for the form of its answer only."""
    ends_at = time.monotonic() + seconds
    result = proposer.propose(context, deadline_seconds=seconds)
    requests = result.requests
    for _repair in range(MAX_REPAIRS):
        parsed = _parse(result)
        if not (isinstance(result, Proposed) and isinstance(parsed, Malformed) and parsed.repairable):
            return result, parsed, requests
        remaining = ends_at - time.monotonic()
        if remaining <= 0 or requests >= MAX_REQUESTS:
            return result, parsed, requests
        again = proposer.propose(context, deadline_seconds=remaining, repair_of=result.raw_text)
        requests += again.requests
        if isinstance(again, Unavailable):
            return result, parsed, requests
        result = again
    return result, _parse(result), requests


def _parse(result: ProposalResult) -> ParsedProposal | Malformed | None:
    if isinstance(result, Proposed):
        return parse_proposal(result.raw_text)
    if isinstance(result, Declined):
        return Malformed(repairable=False, reason=MalformedReason.DECLINED)
    return None
