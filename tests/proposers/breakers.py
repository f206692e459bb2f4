"""A breaker on the test run's Redis, with a clock that the test moves."""

import uuid
from datetime import UTC, datetime, timedelta

from refunds.proposers.breaker import BreakerThresholds, Outcome
from refunds.proposers.redis_breaker import RedisBreaker, connect
from tests.support.workers import broker_url

START = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
LIMITS = BreakerThresholds(min_questions=6, min_people=3, probes_at_once=2, probes_to_close=2)
ANSWERED, FAILED, TIMED_OUT = Outcome.ANSWERED, Outcome.FAILED, Outcome.TIMED_OUT


class FrozenClock:
    def __init__(self):
        self.at = START

    def __call__(self):
        return self.at

    def forward(self, seconds):
        self.at += timedelta(seconds=seconds)


class Trial:
    """One breaker of an endpoint that nobody else uses."""

    def __init__(self, *, limits=LIMITS, url=None, **more):
        self.clock, self.endpoint = FrozenClock(), uuid.uuid4().hex
        self.client = connect(url or broker_url())
        self.breaker = RedisBreaker(
            client=self.client,
            endpoint=self.endpoint,
            name="trial",
            clock=self.clock,
            thresholds=limits,
            **more,
        )

    def ask(self, outcome, *, by="somebody"):
        """Ask one question; return whether it was allowed."""
        permit = self.breaker.admit()
        if permit.allowed:
            self.breaker.report(permit, outcome, asked_for=by)
        return permit.allowed

    def fail(self, number, *, outcome=FAILED):
        """Fail so many questions, each of another person."""
        return [self.ask(outcome, by=f"person-{index}") for index in range(number)]

    def answer(self, number):
        return [self.ask(ANSWERED, by=f"person-{index}") for index in range(number)]

    @property
    def state(self):
        return str(self.breaker.state())
