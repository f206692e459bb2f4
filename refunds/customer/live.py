"""How an open status page keeps itself up to date: how often it asks, and what it has seen. No I/O."""

import json
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final

from refunds.facts import RequestReport

# By how long ago something last happened: what is quiet for long is asked about less often.
_EVERY: Final = ((timedelta(minutes=2), 5), (timedelta(minutes=30), 15))
_AT_LEAST_EVERY: Final = 60


@dataclass(frozen=True, slots=True)
class Live:
    """``seconds`` between two questions, None once nothing more happens; ``etag`` names what is shown."""

    seconds: int | None
    etag: str

    @property
    def headers(self) -> str:
        """Return what the page sends with its question, as JSON."""
        return json.dumps({"If-None-Match": self.etag})


def live_of(report: RequestReport, *, now: datetime, beside: tuple[str, ...] = ()) -> Live:
    """Return how the page of a request goes on; ``beside`` are the sentences beside the report's own."""
    seconds = None if report.statement.closed else _seconds(report, now)
    shown = [
        report.facts.to_json(),
        asdict(report.statement),
        [[line.at.isoformat(), line.text] for line in report.timeline],
        seconds,
        beside,
    ]
    return Live(seconds, f'"{sha256(json.dumps(shown).encode()).hexdigest()[:32]}"')


def _seconds(report: RequestReport, now: datetime) -> int:
    quiet = now - max((line.at for line in report.timeline), default=report.workflow.created_at)
    return next((seconds for limit, seconds in _EVERY if quiet < limit), _AT_LEAST_EVERY)
