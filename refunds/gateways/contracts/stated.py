"""A value of a contract together with where it comes from. Pure."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic, TypeVar

T = TypeVar("T")
OPERATOR: Final = "operator decision"


class Confidence(StrEnum):
    """How much a value can be relied on."""

    DOCUMENTED = "D"  # the provider's own page, or its published specification
    LIBRARY = "S"  # read in the provider's official library
    EXECUTED = "X"  # tried with the provider's official library
    OBSERVED = "O"  # reported by others: it happened, but nobody promised it
    INFERRED = "I"  # follows from what is documented, or was decided here
    UNDOCUMENTED = "U"  # looked for, and not found


@dataclass(frozen=True, slots=True)
class Stated(Generic[T]):
    """One value. ``source`` is the page to check it against, or ``OPERATOR``; ``note`` is for people."""

    value: T
    confidence: Confidence
    source: str
    note: str = ""


def documented(value: T, page: str, note: str = "") -> Stated[T]:
    """Return a value that the provider states."""
    return Stated(value, Confidence.DOCUMENTED, page, note)


def in_library(value: T, page: str, note: str = "") -> Stated[T]:
    """Return a value that was read in the provider's library."""
    return Stated(value, Confidence.LIBRARY, page, note)


def observed(value: T, page: str, note: str = "") -> Stated[T]:
    """Return a value that others reported."""
    return Stated(value, Confidence.OBSERVED, page, note)


def inferred(value: T, page: str, note: str) -> Stated[T]:
    """Return a value that follows from a page which does not state it; ``note`` says how."""
    return Stated(value, Confidence.INFERRED, page, note)


def undocumented(value: T, page: str, note: str = "") -> Stated[T]:
    """Return the empty value of a fact that the page does not state; nothing may be built on it."""
    return Stated(value, Confidence.UNDOCUMENTED, page, note)


def decided(value: T, why: str, confidence: Confidence = Confidence.INFERRED) -> Stated[T]:
    """Return a value that the operator answers for; UNDOCUMENTED where the provider's pages are silent."""
    return Stated(value, confidence, OPERATOR, why)
