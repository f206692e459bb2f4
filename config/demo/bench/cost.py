"""What a stretch of time cost: differences of every counter, and the idle beat taken out of them."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self

from config.demo.bench import kernel
from config.demo.bench.database import Counters


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Totals of one stretch; CPU in seconds, WAL in bytes."""

    seconds: float
    commits: float
    statements: float
    statements_at_commit: float
    wal: float
    wal_page_images: float
    cpu_product: float
    cpu_postgres: float
    cpu_redis: float

    def without(self, idle: Self) -> Self:
        """Return this cost less what an idle system costs in as many seconds, never below nothing."""
        share = self.seconds / idle.seconds
        kept = {f.name: max(0.0, getattr(self, f.name) - share * getattr(idle, f.name)) for f in fields(self)}
        return type(self)(**{**kept, "seconds": self.seconds})

    def each(self, count: int) -> Self:
        """Return the cost of one refund out of ``count``."""
        return type(self)(**{f.name: getattr(self, f.name) / count for f in fields(self)})


@dataclass(frozen=True, slots=True)
class Pids:
    """Process ids whose trees are counted; ``watcher`` is the database's process that serves the bench."""

    product: tuple[int, ...]
    postgres: int
    redis: int
    watcher: int


class Stretch:
    """Begins to count when it is made."""

    def __init__(self, counters: Counters, pids: Pids, *, folder: Path) -> None:
        self._counters, self._pids = counters, pids
        self.fdatasync_ms = kernel.fdatasync_ms(folder)
        counters.reset_statements()
        self._cpu = self._cpu_now()
        self._ticks = kernel.busy_and_all_ticks()
        self._position = counters.position()
        self._began = time.monotonic()

    def end(self) -> tuple[Cost, float]:
        """Return what it cost, and how busy the whole machine was (0 to 1)."""
        seconds = time.monotonic() - self._began
        end = self._counters.position()
        statements = self._counters.statements()
        product, postgres, redis = (b - a for a, b in zip(self._cpu, self._cpu_now(), strict=True))
        busy, everything = (b - a for a, b in zip(self._ticks, kernel.busy_and_all_ticks(), strict=True))
        wal = self._counters.wal(self._position, end)
        cost = Cost(
            seconds=seconds,
            commits=wal.commits,
            statements=statements.sent,
            statements_at_commit=statements.at_commit,
            wal=wal.size,
            wal_page_images=wal.page_images,
            cpu_product=product,
            cpu_postgres=postgres,
            cpu_redis=redis,
        )
        return cost, busy / max(1, everything)

    def _cpu_now(self) -> tuple[float, float, float]:
        of = kernel.cpu_seconds
        roots: Iterable[int] = self._pids.product
        postgres = of([self._pids.postgres]) - of([self._pids.watcher])
        return of(roots), postgres, of([self._pids.redis])
