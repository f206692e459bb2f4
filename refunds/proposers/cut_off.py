"""Wait for a call no longer than it may take, whatever it is blocked in.

The transport cuts a connection that is too slow. What it cannot cut is a name that takes a minute to resolve, or a
host with many addresses that each time out: for these the call goes on alone, and its result is dropped.
"""

import threading
from collections.abc import Callable
from typing import Final, TypeVar

_GRACE_SECONDS: Final = 0.1  # for the call to end by itself, with the more exact error
Answer = TypeVar("Answer")


class CutOffError(Exception):
    """If you see this outside the proposers, a call took longer than it may and somebody forgot to say so."""


def call_within(seconds: float, call: Callable[[], Answer]) -> Answer:
    """Return or raise what ``call()`` does; raise CutOffError when it takes longer than ``seconds``."""
    answers: list[Answer] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(call())
        except BaseException as error:  # noqa: BLE001 - raised in the thread that waits
            errors.append(error)

    thread = threading.Thread(target=run, name="model-request", daemon=True)
    thread.start()
    thread.join(seconds + _GRACE_SECONDS)
    if errors:
        raise errors[0]
    if not answers:
        raise CutOffError
    return answers[0]
