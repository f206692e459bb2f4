"""Proposing an action: the first answer recommends and reasons as it should, and its draft could be shown."""

from collections.abc import Iterator
from typing import Final

from refunds.proposers.evaluation.jobs import RowResult, check_names, customer_words, result_of
from refunds.proposers.evaluation.rows import EvaluationRow, EvaluationSetError
from refunds.proposers.guardrails import find_unsafe_language
from refunds.proposers.port import ProposalContext, Proposer
from refunds.proposers.schema import Malformed, ProposedAction, parse_proposal

_POLICY: Final = "evaluation v1"
_KNOWN: Final = frozenset(
    {"finding", "reason_code", "problem", "allowed_actions", "actions", "reasons", "forbidden"}
)


class ProposalJob:
    """A row says which ``actions`` are right, and maybe which ``reasons``, and what the draft must not repeat."""

    def __init__(self, proposer: Proposer) -> None:
        self._proposer = proposer

    def check(self, row: EvaluationRow) -> None:
        """Raise EvaluationSetError for a row that this job cannot judge."""
        check_names(row, _KNOWN)
        try:
            _context(row)
            expected = [ProposedAction(action) for action in row.given["actions"]]
        except (KeyError, TypeError, ValueError) as error:
            raise EvaluationSetError(f"{row.id}: {error}") from error
        if not expected:
            raise EvaluationSetError(f"{row.id}: no action is right")

    def ask(self, row: EvaluationRow, *, deadline_seconds: float) -> RowResult:
        """Ask once and judge the answer."""
        result = self._proposer.propose(_context(row), deadline_seconds=deadline_seconds)
        return result_of(result, lambda text: _faults_of(text, row))


def _faults_of(text: str, row: EvaluationRow) -> Iterator[str]:
    """Yield the code of everything that is wrong with an answer; nothing when the row holds."""
    parsed, given = parse_proposal(text), row.given
    if isinstance(parsed, Malformed):
        yield str(parsed.reason)
        return
    if parsed.recommended_action not in given["actions"]:
        yield "WRONG_ACTION"
    if "reasons" in given and parsed.reason_code not in given["reasons"]:
        yield "WRONG_REASON"
    said = parsed.customer_message.casefold()
    if any(words.casefold() in said for words in given.get("forbidden", ())):
        yield "REPEATS_WHAT_IT_MUST_NOT"
    yield from find_unsafe_language(parsed.customer_message)


def _context(row: EvaluationRow) -> ProposalContext:
    given = row.given
    allowed = given.get("allowed_actions", tuple(ProposedAction))
    return ProposalContext(
        finding=given["finding"],
        reason_code=given["reason_code"],
        problem=given["problem"],
        policy_version=_POLICY,
        allowed_actions=tuple(ProposedAction(action) for action in allowed),
        customer_text=customer_words(given),
    )
