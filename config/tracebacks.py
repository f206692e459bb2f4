"""Exceptions in the log: where it happened and what kind it is; the words only where they are about this program.

The words of an exception often quote the value that did not fit: a customer's text, a model's output, a row. Length
and digest are enough to see that two of them are the same.
"""

import hashlib
import logging
import re
import traceback
from collections.abc import Iterator
from typing import Any, Final

from structlog.typing import ExcInfo

from ledger.redaction import redact_text

# Kinds whose words name hosts, tables, modules and states, never a value that somebody sent.
_SPEAKS_OF_THE_PROGRAM: Final = frozenset(
    {
        "builtins.OSError",
        "builtins.ImportError",
        "builtins.NameError",
        "builtins.AttributeError",
        "django.core.exceptions.ImproperlyConfigured",
        "django.db.utils.InterfaceError",
        "django.db.utils.OperationalError",
        "django.db.utils.ProgrammingError",
        "kombu.exceptions.OperationalError",
        "ledger.transitions.RowNotLockedError",
        "ledger.transitions.TransitionRefusedError",
        "psycopg.OperationalError",
        "redis.exceptions.RedisError",
    }
)
# Kinds among them that quote addresses and texts after all.
_SPEAKS_OF_PEOPLE: Final = frozenset({"smtplib.SMTPException"})
# Kinds whose first line is about the program, and whose other lines quote the statement.
_FIRST_LINE_ONLY: Final = frozenset({"django.db.utils.Error", "psycopg.Error"})
_CODE: Final = re.compile(
    r"[A-Z][A-Z0-9_]{2,79}|[A-Za-z_.]{0,60}(?:Error|Exception|Timeout|DoesNotExist|Warning)"
)
_LONGEST_CHAIN: Final = 10


def describe_words(words: str) -> str:
    """Return a code as it is, and of everything else its length and the beginning of its digest."""
    if not words or _CODE.fullmatch(words):
        return redact_text(words)
    digest = hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()
    return f"({len(words)} characters, sha256 {digest[:12]})"


def format_exception(exc_info: ExcInfo) -> str:
    """Return the traceback of an exception and of what led to it, oldest first."""
    parts = [_one(error) for error in _chain(exc_info[1])]
    return "\n\n".join(reversed(parts))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(_LONGEST_CHAIN):
        if error is None:
            return
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _one(error: BaseException) -> str:
    frames = "".join(traceback.format_tb(error.__traceback__))
    kind = type(error)
    words = str(error)
    shown = redact_text(_shown_lines(kind, words)) if _speaks_of_the_program(kind) else describe_words(words)
    return f"Traceback (most recent call last):\n{frames}{kind.__module__}.{kind.__qualname__}: {shown}"


def _speaks_of_the_program(kind: type[BaseException]) -> bool:
    return _is_one_of(kind, _SPEAKS_OF_THE_PROGRAM) and not _is_one_of(kind, _SPEAKS_OF_PEOPLE)


def _shown_lines(kind: type[BaseException], words: str) -> str:
    return words.partition("\n")[0] if _is_one_of(kind, _FIRST_LINE_ONLY) else words


def _is_one_of(kind: type[BaseException], names: frozenset[str]) -> bool:
    return any(f"{base.__module__}.{base.__qualname__}" in names for base in kind.__mro__)


class WithoutWords(logging.Filter):
    """Leaves the kind of an exception in Celery's own lines, which quote it as a whole."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the line's values; every line passes."""
        values: Any = record.args
        if isinstance(values, dict) and "exc" in values:
            kind = str(values["exc"]).partition("(")[0]
            record.args = {**values, "exc": kind if _CODE.fullmatch(kind) else "", "traceback": ""}
        return True
