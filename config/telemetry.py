"""What this process counts and binds: the metrics registry, and the ids of the task that runs. Set-up only."""

import re
from collections.abc import Mapping
from typing import Any, Final

import structlog
from prometheus_client import Counter

from ledger.tracing import end_trace, start_trace
from refunds.metrics.counters import IN_PROCESS

_SURFACES: Final = ("api", "support", "accounts", "admin", "webhooks", "static")
_RESPONSES: Final = Counter(
    "refund_desk_http_responses",
    "Answers of this web process, by the part of the site and the class of the status.",
    ["surface", "status"],
    registry=IN_PROCESS,
)
for _surface in (*_SURFACES, "other"):
    for _status in ("2xx", "3xx", "4xx", "5xx"):
        _RESPONSES.labels(surface=_surface, status=_status)

# The ids that tasks take, by the names under which they are logged; anything else in a message is not bound.
_TASK_IDS: Final = {
    "workflow_id": ("workflow_id", re.compile(r"wf_[0-9A-Z]{26}")),
    "operation_id": ("refund_operation_id", re.compile(r"rfop_[0-9A-Z]{26}")),
}
_REQUEST_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def count_response(*, path: str, status: int) -> None:
    """Count one answer; ``path`` only chooses the part of the site."""
    first = path.strip("/").partition("/")[0]
    surface = first if first in _SURFACES else "other"
    _RESPONSES.labels(surface=surface, status=f"{min(max(status // 100, 2), 5)}xx").inc()


def bind_task(*, task_id: str, name: str, kwargs: Mapping[str, Any], sender: Mapping[str, Any]) -> None:
    """Begin a task's trace, and bind its ids to every line that it logs: those of the task, never of the last one.

    ``sender`` is what the process that sent the task had bound; only its request id is taken over.
    """
    structlog.contextvars.clear_contextvars()
    start_trace(str(kwargs.get("traceparent") or ""))
    bound = {"task_id": task_id, "task": name}
    for given, (logged_as, shape) in _TASK_IDS.items():
        if shape.fullmatch(str(kwargs.get(given, ""))):
            bound[logged_as] = kwargs[given]
    request_id = str(sender.get("request_id", ""))
    if _REQUEST_ID.fullmatch(request_id):
        bound["request_id"] = request_id
    structlog.contextvars.bind_contextvars(**bound)


def forget_task() -> None:
    """Unbind everything once a task has ended, so that no later line belongs to it by mistake."""
    structlog.contextvars.clear_contextvars()
    end_trace()
