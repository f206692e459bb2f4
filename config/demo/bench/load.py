"""A closed loop: so many requests in flight, each replaced by the next as soon as it is COMPLETED."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

from config.demo.bench.client import Client
from config.demo.bench.cost import Cost, Stretch
from config.demo.bench.orders import order_number
from config.demo.bench.watcher import NotCompletedError, Watcher

PATIENCE_SECONDS: Final = 120.0
EXTRA_SECONDS: Final = 30.0  # at most, until there are enough for a rate
_PATH: Final = "/api/v1/refund-requests"


class OutOfOrdersError(Exception):
    """If you see this, the machine is faster than expected: raise BENCH_ORDERS."""


@dataclass
class Lanes:
    """One closed loop while it runs. ``sent`` counts requests, ``latencies`` are in seconds."""

    concurrency: int
    seconds: float
    began: float = field(default_factory=time.monotonic)
    ended: float | None = None
    sent: int = 0
    finished_at: list[float] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)

    def note(self, sent_at: float, seen_at: float) -> None:
        """Keep one that completed; stop asking when the time is over and there are a few per lane."""
        self.latencies.append(seen_at - sent_at)
        self.finished_at.append(seen_at)
        passed = seen_at - self.began
        enough = len(self.latencies) >= max(10, 2 * self.concurrency)
        if (
            self.ended is None
            and passed >= self.seconds
            and (enough or passed >= self.seconds + EXTRA_SECONDS)
        ):
            self.ended = seen_at


@dataclass(frozen=True)
class Result:
    """One concurrency: the rate, latencies in milliseconds from POST to seen COMPLETED, and totals."""

    concurrency: int
    refunds: int
    rate: float
    p50: float
    p95: float
    p99: float
    fdatasync_ms: float
    machine_busy: float
    cost: Cost


class Load:
    """Asks for the refund of one seeded order after another; ``tokens`` are by order, ``asked`` the next one."""

    def __init__(self, *, client: Client, watcher: Watcher, tokens: list[str], asked: int) -> None:
        self._client, self._watcher, self._tokens = client, watcher, tokens
        self.asked = asked

    async def run(self, *, concurrency: int, seconds: float, stretch: Callable[[], Stretch]) -> Result:
        """Run one loop to its end, deliveries and publications included; returns its totals."""
        counting = stretch()
        lanes = Lanes(concurrency, seconds)
        watch = asyncio.ensure_future(self._watcher.watch())
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(concurrency):
                    group.create_task(self._lane(lanes))
        finally:
            watch.cancel()
        await self._watcher.drained(seconds=PATIENCE_SECONDS)
        cost, busy = counting.end()
        ended = lanes.ended or time.monotonic()
        inside = sum(at <= ended for at in lanes.finished_at)
        return Result(
            concurrency=concurrency,
            refunds=lanes.sent,
            rate=inside / (ended - lanes.began),
            p50=1000 * percentile(lanes.latencies, 0.50),
            p95=1000 * percentile(lanes.latencies, 0.95),
            p99=1000 * percentile(lanes.latencies, 0.99),
            fdatasync_ms=counting.fdatasync_ms,
            machine_busy=busy,
            cost=cost,
        )

    async def _lane(self, lanes: Lanes) -> None:
        while lanes.ended is None:
            if self.asked >= len(self._tokens):
                raise OutOfOrdersError(f"all {self.asked} orders are used up")
            index, self.asked = self.asked, self.asked + 1
            lanes.sent += 1
            sent_at = time.monotonic()
            workflow_id = await self._ask(index)
            seen_at = await self._watcher.completed(workflow_id, seconds=PATIENCE_SECONDS)
            lanes.note(sent_at, seen_at)

    async def _ask(self, index: int) -> str:
        order = order_number(index)
        body = {"message": f"I was charged twice for order {order}.", "order_number": order}
        status, answer = await self._client.call("POST", _PATH, body, token=self._tokens[index])
        if status not in {HTTPStatus.CREATED, HTTPStatus.OK}:
            raise NotCompletedError(f"the API answered {status}: {_short(answer)}")
        return str(answer["workflow_id"])


def percentile(values: list[float], share: float) -> float:
    """Return the value that ``share`` of the values are below, as the peers' bench picks it."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _short(answer: Any) -> str:
    return str(answer)[:200]
