"""Which failures a collected test drives."""

from typing import Final

import pytest

CACHE_KEY: Final = "failures/outcomes"  # in pytest's cache: {nodeid: {"outcome": ..., "at": ...}}


def failure_ids(item: pytest.Item) -> tuple[str, ...]:
    """Return the ids on a test, on its parameters, its class and its module, each once."""
    ids = (argument for mark in item.iter_markers("failure") for argument in mark.args)
    return tuple(dict.fromkeys(ids))


def malformed_marks(item: pytest.Item, known: frozenset[str]) -> list[str]:
    """Return what is wrong with the test's failure marks: anything but one known id each."""
    return [
        f"{item.nodeid}: failure{mark.args} {mark.kwargs or ''}".rstrip()
        for mark in item.iter_markers("failure")
        if mark.kwargs or len(mark.args) != 1 or mark.args[0] not in known
    ]
