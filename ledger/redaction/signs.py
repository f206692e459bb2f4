"""Patterns that say at one look whether a text may hold something. Pure."""

import re
from collections.abc import Iterable


def any_of(signs: Iterable[str]) -> re.Pattern[str]:
    """Return one pattern for all signs, grouped by their first characters, which are plain ones.

    A search then skips to these characters, and compares each place with few of the signs.
    """
    by_first: dict[str, list[str]] = {}
    for sign in signs:
        length = 2 if sign.startswith("\\") else 1
        by_first.setdefault(sign[:length], []).append(sign[length:])
    return re.compile("|".join(f"{first}(?:{'|'.join(rest)})" for first, rest in by_first.items()))
