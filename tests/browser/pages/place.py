"""One page that people see."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Where to go, as whom, and what the page answers.

    ``first`` is done with the page, then the button named ``send`` is pressed; ``shows`` are words of what comes.
    """

    path: str
    user: object = None
    status: int = 200
    first: Callable | None = None
    send: str = ""
    shows: str = ""
