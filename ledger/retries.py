"""How often reads of other systems are tried and how long is waited between: exponential, full jitter, a cap.

The figures are the desk's own and stand here alone. Waits are random between zero and the cap, so that many workers
that lost the same source do not come back to it at one moment.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from tenacity import RetryCallState, Retrying, retry_if_result, stop_after_attempt, wait_random_exponential

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RetryRule:
    """``attempts`` counts the first one too. The n-th wait is at most ``first_wait_seconds`` * 2**(n-1)."""

    attempts: int
    wait_cap_seconds: float
    first_wait_seconds: float = 0.5


LEDGER_SOURCE: Final = RetryRule(attempts=3, wait_cap_seconds=3.0)
GATEWAY_LOOKUP: Final = RetryRule(attempts=3, wait_cap_seconds=5.0)


@dataclass(frozen=True, slots=True)
class Attempted(Generic[T]):
    """The last answer, and how often was asked in all."""

    answer: T
    attempts: int


def run_attempts(
    rule: RetryRule,
    ask: Callable[[], T],
    *,
    is_passing: Callable[[T], bool],
    sleep: Callable[[float], None] = time.sleep,
) -> Attempted[T]:
    """Call ``ask`` until its answer is not passing, or the rule's attempts are used up.

    Exceptions are never retried: what may be tried again must be said by an answer.
    """
    retrying = Retrying(
        retry=retry_if_result(is_passing),
        stop=stop_after_attempt(rule.attempts),
        wait=wait_random_exponential(multiplier=rule.first_wait_seconds, max=rule.wait_cap_seconds),
        retry_error_callback=_last_answer,
        sleep=sleep,
    )
    answer: T = retrying(ask)
    return Attempted(answer=answer, attempts=int(retrying.statistics["attempt_number"]))


def _last_answer(state: RetryCallState) -> object:
    if state.outcome is None:
        raise RuntimeError("an attempt ended without an outcome")
    return state.outcome.result()
