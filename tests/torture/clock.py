"""Time, ids and chance of one run: all of them follow from its seed."""

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from types import SimpleNamespace
from unittest.mock import patch

from ulid import ULID

from tests.factories import NOW

_TICK = timedelta(milliseconds=1)


class Clock:
    """The run's time. Reading it takes a millisecond, so that no two moments are the same."""

    def __init__(self, at: datetime = NOW) -> None:
        self.at = at

    def __call__(self) -> datetime:
        self.at += _TICK
        return self.at

    def advance(self, wait: timedelta) -> None:
        """Let time pass."""
        self.at += wait

    def reach(self, moment: datetime) -> None:
        """Let time pass until a moment; one that is over changes nothing."""
        self.at = max(self.at, moment)


class _Identifiers:
    """ULIDs by the run's clock and seed."""

    def __init__(self, clock: Clock, chance: random.Random) -> None:
        self._clock, self._chance = clock, chance

    def __call__(self) -> ULID:
        milliseconds = int(self._clock.at.timestamp() * 1000)
        return ULID.from_bytes(milliseconds.to_bytes(6, "big") + self._chance.randbytes(10))


@contextmanager
def followed(clock: Clock, seed: int) -> Iterator[None]:
    """Let the product's clock, ids, references and jitter follow from ``clock`` and ``seed``."""
    chance = random.Random(seed)
    drawn = SimpleNamespace(choice=chance.choice, SystemRandom=lambda: chance)
    with ExitStack() as patches:
        for target in ("refunds.tasks.now_utc", "refunds.webhooks.now_utc"):
            patches.enter_context(patch(target, clock))
        patches.enter_context(patch("ledger.ids.ULID", _Identifiers(clock, chance)))
        patches.enter_context(patch("ledger.ids.secrets", drawn))
        patches.enter_context(patch("notifications.services.secrets", drawn))
        yield
