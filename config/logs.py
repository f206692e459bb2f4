"""Logging: one structured line per event on standard error; ids and codes, never what people wrote."""

from typing import Any

import structlog
from structlog.typing import Processor

_SHARED: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True, key="logged_at"),
]
_CLIENTS_MISTAKES = ("DisallowedHost", "RequestDataTooBig", "TooManyFieldsSent", "TooManyFilesSent")


def logging_config(log_format: str) -> dict[str, Any]:
    """Return Django's LOGGING for ``json`` or ``text`` lines, and set structlog up to use it."""
    structlog.configure(
        processors=[*_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    renderer: Processor = (
        structlog.processors.JSONRenderer()
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=False)
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    structlog.processors.format_exc_info,
                    renderer,
                ],
                "foreign_pre_chain": _SHARED,
            },
        },
        "filters": {
            "route_for_path": {"()": "config.request_log.RouteForPath"},
            "one_line": {"()": "config.request_log.OneLine"},
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": "INFO"},
        "loggers": {
            "django.request": {"filters": ["route_for_path"]},
            "django.security.csrf": {"filters": ["route_for_path"]},
            **{f"django.security.{mistake}": {"filters": ["one_line"]} for mistake in _CLIENTS_MISTAKES},
            "httpx2": {"level": "WARNING"},
            "stripe": {"level": "WARNING"},
            "openai": {"level": "WARNING"},
        },
    }
