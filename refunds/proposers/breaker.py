"""When a model is left alone for a while: the rule's numbers, and the port to what counts them. Pure.

A breaker counts questions, each with its retries, and not requests. What the endpoint answered counts as an answer,
however bad: a refusal, a filtered, cut-off or malformed answer is about the content, and asking somebody else is for
the router to decide. Source of the states: learn.microsoft.com/azure/architecture/patterns/circuit-breaker.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from refunds.proposers.port import ProposalResult, Unavailable, UnavailableKind


class BreakerState(StrEnum):
    """What a breaker does with the next question."""

    CLOSED = "CLOSED"  # asks, and counts
    OPEN = "OPEN"  # does not ask, until the cooldown is over
    HALF_OPEN = "HALF_OPEN"  # asks a few times, to find out


class Outcome(StrEnum):
    """What a question taught about the endpoint."""

    ANSWERED = "ANSWERED"
    FAILED = "FAILED"  # 429, 5xx, no connection
    TIMED_OUT = "TIMED_OUT"  # a failure that also held a worker for the whole deadline


@dataclass(frozen=True, kw_only=True)
class BreakerThresholds:
    """When a breaker opens and closes. Rates are shares of the questions in the window, from 0 to 1.

    The defaults: of at least 10 questions within a minute half failed, or three in ten timed out, since each of those
    costs a worker its whole deadline; and those that failed were asked for at least 3 different people, so that
    nobody's own trouble takes the model from everybody. Of one person the newest questions count, as many as enough
    questions have for each of enough people (4), so that nobody's trouble makes the rate either. Then half a minute
    of rest, and at most 2 questions at once until 2 in a row were answered. A probe's place is free again after its
    lease, which is longer than any deadline.
    """

    window_seconds: float = 60.0
    min_questions: int = 10
    min_people: int = 3
    failure_rate: float = 0.5
    timeout_rate: float = 0.3
    cooldown_seconds: float = 30.0
    probes_at_once: int = 2
    probes_to_close: int = 2
    probe_lease_seconds: float = 75.0
    most_questions: int = 500  # that are remembered; of a busier window the newest count

    def __post_init__(self) -> None:
        if not (0 < self.failure_rate <= 1 and 0 < self.timeout_rate <= 1):
            raise ValueError("rates are shares, above 0 and up to 1")
        counts = (self.min_questions, self.min_people, self.probes_at_once, self.probes_to_close)
        if min(counts) < 1 or self.most_questions < self.min_questions:
            raise ValueError("counts are at least 1, and what is remembered is at least what is needed")


@dataclass(frozen=True, kw_only=True)
class Permit:
    """Whether one question may be asked. ``token`` names it to the breaker; empty when nobody counts."""

    allowed: bool
    token: str = ""
    generation: str = ""


class Breaker(Protocol):
    """Never raises and never waits for long: what cannot be counted is let through."""

    def admit(self) -> Permit:
        """Say whether a question may be asked now; one that is allowed is reported or released afterwards."""
        ...

    def report(self, permit: Permit, outcome: Outcome, *, asked_for: str) -> None:
        """Count how a question went; ``asked_for`` tells people apart and is kept as a digest alone."""
        ...

    def release(self, permit: Permit) -> None:
        """Give a question back that was never asked."""
        ...


_OUTCOMES: Final = {
    UnavailableKind.TIMEOUT: Outcome.TIMED_OUT,
    UnavailableKind.RATE_LIMITED: Outcome.FAILED,
    UnavailableKind.SERVER_ERROR: Outcome.FAILED,
    UnavailableKind.CONNECTION_FAILED: Outcome.FAILED,
}


def outcome_of(result: ProposalResult) -> Outcome | None:
    """Return what a result says about the endpoint, or None if the endpoint was never asked."""
    if not isinstance(result, Unavailable):
        return Outcome.ANSWERED
    return None if result.requests == 0 else _OUTCOMES.get(result.kind, Outcome.ANSWERED)
