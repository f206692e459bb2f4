"""How one row is asked and judged; a job for each of the things that a model is asked to do.

A row holds when nothing is found: the first answer is a valid proposal, it recommends and reasons as it should, and
its draft could be shown. Nothing is repaired here, so that a model is not carried by what catches it later.
"""

from dataclasses import dataclass
from typing import Any, Final, Protocol

from refunds.proposers.customer_text import prepare_customer_text
from refunds.proposers.evaluation.rows import EvaluationRow, EvaluationSetError
from refunds.proposers.guardrails import find_unsafe_language
from refunds.proposers.port import (
    MAX_CUSTOMER_TEXT,
    Declined,
    ProposalContext,
    ProposalResult,
    Proposer,
    Unavailable,
    UnavailableKind,
)
from refunds.proposers.schema import Malformed, ParsedProposal, ProposedAction, parse_proposal

_POLICY: Final = "evaluation v1"
_KNOWN: Final = frozenset(
    {
        *("finding", "reason_code", "problem", "customer_text", "fill"),
        *("allowed_actions", "actions", "reasons", "forbidden"),
    }
)
# Nothing can be learned from these: nobody is there, or does not let us ask.
_NOBODY: Final = frozenset({UnavailableKind.CONNECTION_FAILED, UnavailableKind.REQUEST_REFUSED})


@dataclass(frozen=True, kw_only=True)
class RowResult:
    """What one asking showed. ``faults`` are codes; ``snapshot`` is empty when nobody answered."""

    faults: tuple[str, ...]
    requests: int
    latency_ms: int
    snapshot: str = ""
    response_form: str = ""
    unreachable: str = ""


class Job(Protocol):
    """One of the things that a model is asked to do."""

    def check(self, row: EvaluationRow) -> None:
        """Raise EvaluationSetError for a row that this job cannot judge."""
        ...

    def ask(self, row: EvaluationRow, *, deadline_seconds: float) -> RowResult:
        """Ask once and judge the answer."""
        ...


class ProposalJob:
    """Proposing an action."""

    def __init__(self, proposer: Proposer) -> None:
        self._proposer = proposer

    def check(self, row: EvaluationRow) -> None:
        """Raise EvaluationSetError for a row that this job cannot judge."""
        if unknown := set(row.given) - _KNOWN:
            raise EvaluationSetError(f"{row.id}: unknown {', '.join(sorted(unknown))}")
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
        if isinstance(result, Unavailable):
            nobody = f"{result.kind} ({result.detail})" if result.kind in _NOBODY else ""
            return RowResult(
                faults=(str(result.kind),),
                requests=result.requests,
                latency_ms=result.latency_ms,
                unreachable=nobody,
            )
        return RowResult(
            faults=find_faults(row, result),
            requests=result.requests,
            latency_ms=result.latency_ms,
            snapshot=result.model_snapshot,
            response_form=str(result.parameters.get("response_form", "none")),
        )


def find_faults(row: EvaluationRow, result: ProposalResult) -> tuple[str, ...]:
    """Return the code of everything that is wrong with an answer; empty when the row holds."""
    if isinstance(result, Declined | Unavailable):
        return (str(result.kind),)
    parsed = parse_proposal(result.raw_text)
    if isinstance(parsed, Malformed):
        return (str(parsed.reason),)
    return tuple(_faults_of(parsed, row.given))


def _faults_of(parsed: ParsedProposal, given: Any) -> list[str]:
    faults = []
    if parsed.recommended_action not in given["actions"]:
        faults.append("WRONG_ACTION")
    if "reasons" in given and parsed.reason_code not in given["reasons"]:
        faults.append("WRONG_REASON")
    said = parsed.customer_message.casefold()
    if any(words.casefold() in said for words in given.get("forbidden", ())):
        faults.append("REPEATS_WHAT_IT_MUST_NOT")
    return [*faults, *find_unsafe_language(parsed.customer_message)]


def _context(row: EvaluationRow) -> ProposalContext:
    given = row.given
    text: str | None = given["customer_text"]
    if text is not None and given.get("fill"):
        text = (text * MAX_CUSTOMER_TEXT)[:MAX_CUSTOMER_TEXT]
    allowed = given.get("allowed_actions", tuple(ProposedAction))
    return ProposalContext(
        finding=given["finding"],
        reason_code=given["reason_code"],
        problem=given["problem"],
        policy_version=_POLICY,
        allowed_actions=tuple(ProposedAction(action) for action in allowed),
        customer_text=None if text is None else prepare_customer_text(text),
    )
