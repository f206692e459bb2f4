"""Two workers at once, one boundary at a time: who goes on next is drawn from the seed.

A worker waits at every boundary until it is told to go on. One that waits for a row that the other holds is left
alone until PostgreSQL has given it the row; then it waits for its turn like before. So only one of them ever runs
code of the product, and the same seed gives the same order.
"""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from tests.torture.database import Observer
from tests.torture.injector import Injector

_PATIENCE_SECONDS = 30.0
_LOOK_EVERY_SECONDS = 0.002


@dataclass(eq=False)
class _Worker:
    number: int
    act: Callable[[], None]
    pid: int | None = None
    waits: bool = False  # at a boundary, for its turn
    blocked: bool = False  # in a statement, for a row
    done: bool = False
    go: threading.Event = field(default_factory=threading.Event)


class Workers:
    """Runs some acts at once; ``order`` is who went on, boundary by boundary."""

    def __init__(self, injector: Injector, observer: Observer, chance: random.Random) -> None:
        self._injector, self._observer, self._chance = injector, observer, chance
        self._here = threading.local()
        self._changed = threading.Condition()
        self.order: list[int] = []
        self.was_blocked = False

    def run(self, acts: list[Callable[[], None]]) -> None:
        """Run the acts until all are done."""
        injector = self._injector
        before = injector.wait_for_turn, injector.run_statement
        injector.wait_for_turn, injector.run_statement = self._wait_for_turn, self._run_statement
        workers = [_Worker(number, act) for number, act in enumerate(acts)]
        threads = [threading.Thread(target=self._live, args=(worker,), daemon=True) for worker in workers]
        try:
            for worker, thread in zip(workers, threads, strict=True):
                thread.start()
                self._until_it_stops(worker)
            while not all(worker.done for worker in workers):
                self._go_on(workers)
            for thread in threads:
                thread.join(_PATIENCE_SECONDS)
        finally:
            injector.wait_for_turn, injector.run_statement = before

    # -- in the workers' threads
    def _live(self, worker: _Worker) -> None:
        self._here.worker = worker
        try:
            worker.act()
        finally:
            connection.close()
            with self._changed:
                worker.done = True
                self._changed.notify_all()

    def _wait_for_turn(self) -> None:
        worker: _Worker | None = getattr(self._here, "worker", None)
        if worker is None:
            return
        raw = connection.connection
        worker.pid = raw.info.backend_pid if raw is not None and not raw.closed else None
        with self._changed:
            worker.waits = True
            self._changed.notify_all()
        if not worker.go.wait(_PATIENCE_SECONDS):
            raise TimeoutError("no turn came")
        worker.go.clear()

    def _run_statement(self, execute: Callable[..., Any], *args: Any) -> Any:
        try:
            return execute(*args)
        finally:
            worker: _Worker | None = getattr(self._here, "worker", None)
            if worker is not None and worker.blocked:
                self._wait_for_turn()

    # -- in the run's thread
    def _go_on(self, workers: list[_Worker]) -> None:
        ready = [worker for worker in workers if worker.waits]
        if not ready:
            # All that are left wait for rows: PostgreSQL ends a deadlock by itself, after a second.
            self._look(workers)
            time.sleep(_LOOK_EVERY_SECONDS)
            return
        chosen = self._chance.choice(ready)
        self.order.append(chosen.number)
        chosen.waits = chosen.blocked = False
        chosen.go.set()
        self._until_it_stops(chosen)
        self._look(workers)

    def _until_it_stops(self, worker: _Worker) -> None:
        """Wait until the worker is at its next boundary, done, or in line for a row."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        with self._changed:
            while not (worker.waits or worker.done):
                if self._changed.wait(_LOOK_EVERY_SECONDS):
                    continue
                if worker.pid is not None and self._observer.waits_for_lock(worker.pid):
                    worker.blocked = self.was_blocked = True
                    return
                if time.monotonic() > deadline:
                    raise TimeoutError(f"worker {worker.number} neither went on nor waits for a row")

    def _look(self, workers: list[_Worker]) -> None:
        """Let every worker that has got its row come to its boundary, so that the next choice is from all of them."""
        for worker in workers:
            if worker.blocked and not worker.waits and not worker.done:
                assert worker.pid is not None
                while not (worker.waits or worker.done) and not self._observer.waits_for_lock(worker.pid):
                    time.sleep(_LOOK_EVERY_SECONDS / 4)
