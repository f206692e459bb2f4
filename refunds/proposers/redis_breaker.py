"""The breaker that all processes share: its questions, state and probes are in Redis, decided there in one step each.

Losing Redis loses the memory and nothing else: every question is let through, after one short wait in three seconds.
Nothing in Redis names a customer or a request.
"""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

import redis
import structlog
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from refunds.proposers.breaker import BreakerState, BreakerThresholds, Outcome, Permit

_SCRIPTS: Final = Path(__file__).with_name("breaker_scripts")
_SOCKET_SECONDS: Final = 0.25
_PAUSE_SECONDS: Final = 3.0
_FORGOTTEN_AFTER_SECONDS: Final = 900.0  # an endpoint that nobody asks any more is not remembered as broken
_UNREACHABLE: Final = (RedisError, OSError, ValueError)  # ValueError: what is stored there is not ours
logger = structlog.get_logger("model")


def connect(url: str) -> redis.Redis:
    """Return a client that gives up at once; Celery's name for a socket is understood as well."""
    return redis.Redis.from_url(
        url.replace("redis+socket://", "unix://", 1),
        socket_timeout=_SOCKET_SECONDS,
        socket_connect_timeout=_SOCKET_SECONDS,
        retry=Retry(NoBackoff(), 0),
        decode_responses=True,
    )


@dataclass(frozen=True)
class _Keys:
    """The braces keep the three on one node of a cluster."""

    endpoint: str

    @property
    def all(self) -> list[str]:
        return [
            f"refund_desk:breaker:{{{self.endpoint}}}:{part}" for part in ("state", "questions", "probes")
        ]


class RedisBreaker:
    """The breaker of one model endpoint. ``clock`` is the time that decides; ``name`` is for the log."""

    def __init__(
        self,
        *,
        client: redis.Redis,
        endpoint: str,
        name: str,
        clock: Callable[[], datetime],
        thresholds: BreakerThresholds | None = None,
        pause_clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._thresholds = thresholds or BreakerThresholds()
        self._keys, self._name, self._clock, self._pause_clock = _Keys(endpoint).all, name, clock, pause_clock
        self._client, self._silent_until = client, float("-inf")
        self._admit = client.register_script((_SCRIPTS / "admit.lua").read_text(encoding="utf-8"))
        self._report = client.register_script((_SCRIPTS / "report.lua").read_text(encoding="utf-8"))

    def admit(self) -> Permit:
        """Say whether a question may be asked now."""
        limits = self._thresholds
        token = token_hex(8)
        arguments: list[str | int | float] = [
            self._now(),
            token,
            limits.probes_at_once,
            _milliseconds(limits.probe_lease_seconds),
            self._kept,
        ]
        answer = self._ask(lambda: self._admit(keys=self._keys, args=arguments))
        if answer is None:
            return Permit(allowed=True)
        return Permit(allowed=bool(int(answer[0])), token=token, generation=str(answer[1]))

    def report(self, permit: Permit, outcome: Outcome, *, asked_for: str) -> None:
        """Count how a question went."""
        if not permit.token:
            return
        limits = self._thresholds
        arguments: list[str | int | float] = [
            *(self._now(), permit.token, permit.generation, str(outcome), _person(asked_for)),
            *(_milliseconds(limits.window_seconds), limits.most_questions),
            *(limits.min_questions, limits.min_people, limits.failure_rate, limits.timeout_rate),
            *(_milliseconds(limits.cooldown_seconds), limits.probes_to_close, self._kept),
        ]
        answer = self._ask(lambda: self._report(keys=self._keys, args=arguments))
        if answer is not None and answer[0] != answer[1]:
            logger.warning("model.breaker", model=self._name, was=answer[0], now=answer[1])

    def release(self, permit: Permit) -> None:
        """Give a question back that was never asked."""
        if permit.token:
            self._ask(lambda: self._client.zrem(self._keys[2], permit.token))

    def state(self) -> BreakerState | None:
        """Return the state, or None while Redis does not answer; one whose cooldown is over counts as half open."""
        state: BreakerState | None = self._ask(self._read_state)
        return state

    def _read_state(self) -> BreakerState:
        state, open_until = self._client.hmget(self._keys[0], ["state", "open_until"])
        found = BreakerState(str(state)) if state else BreakerState.CLOSED
        over = found is BreakerState.OPEN and self._now() >= int(open_until or 0)
        return BreakerState.HALF_OPEN if over else found

    @property
    def _kept(self) -> int:
        limits = self._thresholds
        longest = max(limits.window_seconds, limits.cooldown_seconds, limits.probe_lease_seconds)
        return _milliseconds(longest + _FORGOTTEN_AFTER_SECONDS)

    def _now(self) -> int:
        return _milliseconds(self._clock().timestamp())

    def _ask(self, call: Callable[[], Any]) -> Any:
        """Return what Redis answers, or None while it does not; one that hangs is left alone for a while."""
        if self._pause_clock() < self._silent_until:
            return None
        try:
            return call()
        except _UNREACHABLE as error:
            self._silent_until = self._pause_clock() + _PAUSE_SECONDS
            logger.warning("model.breaker_unreachable", model=self._name, error=type(error).__name__)
            return None


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def _person(asked_for: str) -> str:
    return hashlib.sha256(asked_for.encode()).hexdigest()[:16]
