"""What the runner starts, as data: the table of `plan.py` is made of these."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from config.demo.services.child import TERMINATE, StopPlan


class Echo(StrEnum):
    """Where a process's lines go besides its log file."""

    PLAIN = "PLAIN"
    """As they are: the story."""
    PREFIXED = "PREFIXED"
    """With its name in front, once the story has been told (from the start with LOGS=1)."""
    LOG_ONLY = "LOG_ONLY"
    """Only with LOGS=1."""


Ready = Callable[[Path], bool]
"""True when a process is ready; gets its log file. Asked again and again, so it answers within a second."""


@dataclass(frozen=True)
class Process:
    """One part of the demo.

    `ready` None: a step that runs to its end, after every service before it in the table is ready, and must
    exit with 0. Otherwise a service that stays up until the demo stops.
    """

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str]
    doing: str
    ready: Ready | None = None
    ready_seconds: float = 90.0
    echo: Echo = Echo.PREFIXED
    advice: str = "read its log, put right what it says, and start again"
    stop_plan: StopPlan = TERMINATE


@dataclass(frozen=True)
class Plan:
    """The whole demo: the table in order, the story when all of it is ready, the text after that."""

    processes: tuple[Process, ...]
    story: Process
    welcome: str
