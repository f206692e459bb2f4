"""What this process has counted since it started; with several processes, a scrape shows the one that answers it."""

from typing import Final

from prometheus_client import CollectorRegistry, Counter

IN_PROCESS: Final = CollectorRegistry(auto_describe=True)
NUDGES_LOST: Final = Counter(
    "refund_desk_nudges_lost",
    "Nudges that the broker did not take; the scanners find their work later.",
    registry=IN_PROCESS,
)
