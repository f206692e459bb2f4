"""How often a model is asked, and how long it is waited for: everything inside one deadline.

429, timeout and 5xx are retried; `Retry-After` is honoured, else full jitter. A server that refuses the form of
answer is asked once more in another one. Nothing else is retried.
Source: platform.openai.com/docs/guides/error-codes.
"""

import email.utils
import math
import time
from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final

import openai
import tenacity

from refunds.proposers.bounded_transport import StreamedAnswerError
from refunds.proposers.cut_off import CutOffError, call_within
from refunds.proposers.port import UnavailableKind

MAX_REQUESTS: Final = 3
# The first request leaves time for a second one; later ones may use all that is left.
_FIRST_SHARE: Final = 2 / 3
_LEAST_USEFUL_SECONDS: Final = 0.05
_FULL_JITTER: Final = tenacity.wait_random_exponential(multiplier=0.5, max=4)
# A spent budget does not refill while a request waits.
_SPENT_CODES: Final = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_NAMES_OF_THE_FORM: Final = ("response_format", "json_schema")


class NotAnsweredError(Exception):
    """If you see this outside `attempts`, a request to the model failed and no retry was left or useful."""

    def __init__(
        self,
        kind: UnavailableKind,
        detail: str,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        form_refused: bool = False,
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.retryable = retryable
        self.retry_after = retry_after
        self.form_refused = form_refused

    def in_another_form(self) -> "NotAnsweredError":
        """Return this failure as one that is tried again at once, since the next request differs."""
        return NotAnsweredError(self.kind, self.detail, retryable=True, retry_after=0.0)


class Attempts:
    """Counts and times the requests of one question."""

    def __init__(self, *, deadline_seconds: float) -> None:
        self.requests = 0
        self._deadline_seconds = deadline_seconds
        self._started = time.monotonic()

    def run(self, ask: Callable[[float], bytes]) -> bytes:
        """Call `ask(seconds)` until it answers; `seconds` is what that one request may take.

        Raises the last NotAnsweredError when the next attempt would begin after the deadline.
        """
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(_is_retryable),
            wait=_seconds_to_wait,
            stop=tenacity.stop_any(
                tenacity.stop_after_attempt(MAX_REQUESTS),
                tenacity.stop_before_delay(self._deadline_seconds - _LEAST_USEFUL_SECONDS),
            ),
            reraise=True,
        )
        return retrying(self._ask_once, ask)

    def elapsed_ms(self) -> int:
        """Return the milliseconds since the question was begun."""
        return round((time.monotonic() - self._started) * 1000)

    def _ask_once(self, ask: Callable[[float], bytes]) -> bytes:
        remaining = self._deadline_seconds - (time.monotonic() - self._started)
        if remaining < _LEAST_USEFUL_SECONDS:
            raise NotAnsweredError(UnavailableKind.TIMEOUT, "no time left to ask")
        self.requests += 1
        seconds = remaining * _FIRST_SHARE if self.requests == 1 else remaining
        try:
            return call_within(seconds, lambda: ask(seconds))
        except CutOffError:
            raise NotAnsweredError(UnavailableKind.TIMEOUT, "cut off", retryable=True) from None


def describe_failure(error: openai.APIError) -> NotAnsweredError:
    """Return what an SDK error means; the detail holds nothing that the server sent but a status."""
    if isinstance(error, openai.APIStatusError):
        return _describe_status(error)
    if isinstance(error, openai.APITimeoutError):
        return NotAnsweredError(UnavailableKind.TIMEOUT, "no answer in time", retryable=True)
    if isinstance(error.__cause__, StreamedAnswerError):
        return NotAnsweredError(UnavailableKind.STREAMED_ANSWER, "an event stream")
    if isinstance(error, openai.APIConnectionError):
        cause = type(error.__cause__).__name__
        return NotAnsweredError(UnavailableKind.CONNECTION_FAILED, cause)
    return NotAnsweredError(UnavailableKind.UNREADABLE_ANSWER, type(error).__name__)


def _describe_status(error: openai.APIStatusError) -> NotAnsweredError:
    status = error.status_code
    kind = UnavailableKind.REQUEST_REFUSED
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        kind = UnavailableKind.RATE_LIMITED
    elif status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        kind = UnavailableKind.SERVER_ERROR
    elif status == HTTPStatus.REQUEST_TIMEOUT:
        kind = UnavailableKind.TIMEOUT
    pointless = status == HTTPStatus.NOT_IMPLEMENTED or error.code in _SPENT_CODES
    return NotAnsweredError(
        kind,
        f"HTTP {status}",
        retryable=kind is not UnavailableKind.REQUEST_REFUSED and not pointless,
        retry_after=read_retry_after(error.response.headers.get("retry-after"), now=datetime.now(UTC)),
        form_refused=_refuses_the_form(error),
    )


def _refuses_the_form(error: openai.APIStatusError) -> bool:
    """Say whether the server's complaint names the form of answer; of what it wrote, nothing else is read."""
    if error.status_code not in {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}:
        return False
    return any(name in error.response.text for name in _NAMES_OF_THE_FORM)


def read_retry_after(header: str | None, *, now: datetime) -> float | None:
    """Return the seconds that a Retry-After header asks for (seconds or a date, RFC 9110), or None."""
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            moment = email.utils.parsedate_to_datetime(header)
            seconds = (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds()
        except (ValueError, OverflowError):
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def _is_retryable(error: BaseException) -> bool:
    return isinstance(error, NotAnsweredError) and error.retryable


def _seconds_to_wait(state: tenacity.RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome is not None else None
    if isinstance(error, NotAnsweredError) and error.retry_after is not None:
        return error.retry_after
    return _FULL_JITTER(state)
