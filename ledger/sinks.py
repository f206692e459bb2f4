"""Where published audit events go: a log stream or a file of JSON lines (``AUDIT_SINK``)."""

import json
import os
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

import structlog

logger = structlog.get_logger("audit")


class AuditSink(Protocol):
    """Takes events at least once, in order; a consumer drops repeats by ``event_id``."""

    def write(self, events: list[dict[str, Any]]) -> None:
        """Store the events durably, or raise OSError; the outbox then keeps them."""
        ...


class LogSink:
    """Writes events to the process log."""

    def write(self, events: list[dict[str, Any]]) -> None:
        """Log one line per event."""
        for event in events:
            logger.info("audit_event", audit=event)


class FileSink:
    """Appends events to a file as JSON lines, flushed to disk before it returns."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, events: list[dict[str, Any]]) -> None:
        """Append one line per event."""
        lines = "".join(json.dumps(event, sort_keys=True, ensure_ascii=True) + "\n" for event in events)
        with self.path.open("a", encoding="ascii") as stream:
            if self._ends_torn():
                stream.write("\n")  # a line that a crash cut short must not swallow the next one
            stream.write(lines)
            stream.flush()
            os.fsync(stream.fileno())

    def _ends_torn(self) -> bool:
        with self.path.open("rb") as stream:
            if stream.seek(0, os.SEEK_END) == 0:
                return False
            stream.seek(-1, os.SEEK_END)
            return stream.read(1) != b"\n"


def sink_for(url: str) -> AuditSink:
    """Return the sink that ``AUDIT_SINK`` names: ``log:`` or ``file:///path``."""
    if url == "log:":
        return LogSink()
    return FileSink(Path(unquote(urlsplit(url).path)))
