"""The trace id of the current execution (W3C Trace Context). It lives seconds; evidence never depends on it."""

import re
import secrets
from contextvars import ContextVar
from typing import Final

_TRACEPARENT: Final = re.compile(r"^00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$")
_current: ContextVar[str] = ContextVar("trace_id", default="")


def current_trace_id() -> str:
    """Return the trace id of this request or task, or an empty string outside one."""
    return _current.get()


def start_trace(traceparent: str = "") -> str:
    """Adopt the trace of a valid ``traceparent`` header, else begin a new one; return the trace id."""
    match = _TRACEPARENT.match(traceparent)
    trace_id = match.group(1) if match and set(match.group(1)) != {"0"} else secrets.token_hex(16)
    _current.set(trace_id)
    return trace_id


def traceparent() -> str:
    """Return a header value that lets a task continue the current trace, or an empty string."""
    trace_id = _current.get()
    return f"00-{trace_id}-{secrets.token_hex(8)}-01" if trace_id else ""


def end_trace() -> None:
    """Leave the current trace."""
    _current.set("")
