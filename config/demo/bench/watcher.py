"""Sees ends in the rows, on a connection of a role that is not counted: nothing is asked of the product itself."""

import asyncio
import time
from typing import Final

import psycopg

LOOK_SECONDS: Final = 0.005
DRAIN_LOOK_SECONDS: Final = 0.25
# Everything a refund owes: the message delivered, and its evidence published.
_OWED: Final = """
    SELECT (SELECT count(*) FROM notifications WHERE delivered_at IS NULL)
         + (SELECT count(*) FROM audit_outbox o
             WHERE NOT EXISTS (SELECT 1 FROM audit_publications p WHERE p.outbox_id = o.id))
"""
_ENDED: Final = """
    SELECT id, state, reason_code FROM refund_workflows
     WHERE id = ANY(%s) AND state IN ('COMPLETED', 'MANUAL_REVIEW', 'NO_REFUND_DUE', 'REJECTED', 'WITHDRAWN',
                                      'REQUIRES_HUMAN_APPROVAL', 'PROPOSAL_REJECTED')
"""


class NotCompletedError(Exception):
    """If you see this, a refund that should have gone through alone ended elsewhere, or not in time."""


class Watcher:
    """One waiting future for each request in flight."""

    def __init__(self, connection: psycopg.AsyncConnection) -> None:
        self._connection = connection
        self._waiting: dict[str, asyncio.Future[float]] = {}

    @property
    def backend(self) -> int:
        """The server's process that serves this connection: its CPU time is the bench's own."""
        return self._connection.info.backend_pid

    async def completed(self, workflow_id: str, *, seconds: float) -> float:
        """Return when the workflow was seen COMPLETED, by ``time.monotonic``."""
        future = self._waiting[workflow_id] = asyncio.get_running_loop().create_future()
        try:
            return await asyncio.wait_for(future, seconds)
        except TimeoutError as error:
            raise NotCompletedError(f"{workflow_id} is not COMPLETED after {seconds:.0f} s") from error
        finally:
            self._waiting.pop(workflow_id, None)

    async def watch(self) -> None:
        """Look until cancelled."""
        while True:
            if self._waiting:
                rows = await self._connection.execute(_ENDED, [list(self._waiting)])
                found, now = await rows.fetchall(), time.monotonic()
                for workflow_id, state, reason in found:
                    self._settle(workflow_id, state, reason, now)
            await asyncio.sleep(LOOK_SECONDS)

    async def drained(self, *, seconds: float) -> None:
        """Return when every message is delivered and every event published."""
        deadline = time.monotonic() + seconds
        while True:
            row = await (await self._connection.execute(_OWED)).fetchone()
            if row is not None and row[0] == 0:
                return
            if time.monotonic() > deadline:
                raise NotCompletedError(
                    f"{row and row[0]} messages and events still wait after {seconds:.0f} s"
                )
            await asyncio.sleep(DRAIN_LOOK_SECONDS)

    def _settle(self, workflow_id: str, state: str, reason: str, now: float) -> None:
        future = self._waiting.get(workflow_id)
        if future is None or future.done():
            return
        if state == "COMPLETED":
            future.set_result(now)
        else:
            future.set_exception(NotCompletedError(f"{workflow_id} ended in {state} ({reason})"))
