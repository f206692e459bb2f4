"""What every job of a model has in common: rows that can be judged, one question, and what its answer showed.

A row holds when nothing is found: the first answer is of the right form and says what it should. Nothing is repaired
here, so that a model is not carried by what catches it later.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from refunds.proposers.customer_text import prepare_customer_text
from refunds.proposers.evaluation.rows import EvaluationRow, EvaluationSetError
from refunds.proposers.port import (
    MAX_CUSTOMER_TEXT,
    Declined,
    ProposalResult,
    Unavailable,
    UnavailableKind,
)

_WORDS: Final = frozenset({"customer_text", "fill", "ending"})
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


def check_names(row: EvaluationRow, known: frozenset[str]) -> None:
    """Raise EvaluationSetError for a member that is neither ``known`` nor one of the customer's words."""
    if unknown := set(row.given) - known - _WORDS:
        raise EvaluationSetError(f"{row.id}: unknown {', '.join(sorted(unknown))}")
    if "ending" in row.given and not row.given.get("fill"):
        raise EvaluationSetError(f"{row.id}: an ending stands after a text that is filled up")


def customer_words(given: Mapping[str, Any]) -> str | None:
    """Return what the customer of a row wrote, as a model may be told it; None if that is nothing.

    With ``fill`` it is repeated until it is as long as a question allows; ``ending`` stands once, after all of that.
    Raises KeyError or TypeError where it is no text.
    """
    text: str | None = given["customer_text"]
    if text is None:
        return None
    if given.get("fill"):
        ending: str = given.get("ending", "")
        room = MAX_CUSTOMER_TEXT - len(ending) - 1
        text = f"{(text * MAX_CUSTOMER_TEXT)[:room]} {ending}"
    return prepare_customer_text(text)


def result_of(result: ProposalResult, find_faults: Callable[[str], Iterable[str]]) -> RowResult:
    """Return what an answer showed; ``find_faults`` is asked about the text of one that is not declined."""
    if isinstance(result, Unavailable):
        nobody = f"{result.kind} ({result.detail})" if result.kind in _NOBODY else ""
        return RowResult(
            faults=(str(result.kind),),
            requests=result.requests,
            latency_ms=result.latency_ms,
            unreachable=nobody,
        )
    return RowResult(
        faults=(str(result.kind),) if isinstance(result, Declined) else tuple(find_faults(result.raw_text)),
        requests=result.requests,
        latency_ms=result.latency_ms,
        snapshot=result.model_snapshot,
        response_form=str(result.parameters.get("response_form", "none")),
    )
