"""Logging: one structured line per event on standard error; ids and codes, never what people wrote.

Every line passes the redactor once, whoever wrote it: this program, Django, Celery or a library.
"""

from typing import Any, Final

import structlog
from structlog.typing import EventDict, Processor

from config.tracebacks import describe_words, format_exception
from ledger.redaction import redact
from ledger.tracing import current_trace_id

# Written by this program or its logging alone; and what is turned into text later, by ``format_exception``.
_UNTOUCHED: Final = frozenset(
    {"_record", "_from_structlog", "exc_info", "level", "logger", "logged_at", "trace_id", "stack_info"}
)
_WORDS_OF_AN_EXCEPTION: Final = ("error", "exception")
_SECURITY: Final = "django.security."


def add_trace_id(_logger: Any, _method: str, line: EventDict) -> EventDict:
    """Name the trace of the current request or task, if there is one."""
    trace_id = line.get("trace_id") or current_trace_id()
    if trace_id:
        line["trace_id"] = trace_id
    return line


def redact_line(_logger: Any, _method: str, line: EventDict) -> EventDict:
    """Take out of every value what must not be logged."""
    for key, value in line.items():
        if key in _WORDS_OF_AN_EXCEPTION and isinstance(value, str):
            line[key] = describe_words(value)
        elif key not in _UNTOUCHED:
            line[key] = redact(value, name=key)
    return line


def name_mistake(_logger: Any, _method: str, line: EventDict) -> EventDict:
    """Say only the name of a client's mistake: Django's own words quote the header that was wrong."""
    name = line["_record"].name
    if name.startswith(_SECURITY) and name != f"{_SECURITY}csrf":
        line["event"] = f"refused: {name.removeprefix(_SECURITY)}"
    return line


_SHARED: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True, key="logged_at"),
    add_trace_id,
    redact_line,
]
_CLIENTS_MISTAKES = ("DisallowedHost", "RequestDataTooBig", "TooManyFieldsSent", "TooManyFilesSent")


def logging_config(log_format: str) -> dict[str, Any]:
    """Return Django's LOGGING for ``json`` or ``text`` lines, and set structlog up to use it."""
    structlog.configure(
        processors=[*_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": _line(log_format)},
        "filters": {
            "route_for_path": {"()": "config.request_log.RouteForPath"},
            "one_line": {"()": "config.request_log.OneLine"},
            "without_words": {"()": "config.tracebacks.WithoutWords"},
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": "INFO"},
        "loggers": {
            "django.request": {"filters": ["route_for_path"]},
            "django.security.csrf": {"filters": ["route_for_path"]},
            **{f"django.security.{mistake}": {"filters": ["one_line"]} for mistake in _CLIENTS_MISTAKES},
            "celery.app.trace": {"filters": ["without_words"]},
            "httpx2": {"level": "WARNING"},
            "stripe": {"level": "WARNING"},
            "openai": {"level": "WARNING"},
        },
    }


def _line(log_format: str) -> dict[str, Any]:
    renderer: Processor = (
        structlog.processors.JSONRenderer()
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    )
    return {
        "()": structlog.stdlib.ProcessorFormatter,
        "processors": [
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.ExceptionRenderer(format_exception),
            renderer,
        ],
        "foreign_pre_chain": [name_mistake, *_SHARED],
    }
