"""Long texts in blocks, so that only the parts that show a sign of something are looked at closely. Pure."""

from collections.abc import Callable
from typing import Final

from ledger.redaction.kinds import Span

LONG: Final = 100_000  # characters
_BLOCK: Final = 64_000
_SHARED: Final = 16_000  # by a block and the next one


def find_in_blocks(text: str, find: Callable[[str], list[Span]]) -> list[Span]:
    """Return what is found in a long text.

    Blocks overlap, and each answers for what begins in its middle, where it sees what stands around. What reaches
    the end of its block goes on to the end of its line.
    """
    found: list[Span] = []
    for start in range(0, len(text), _BLOCK - _SHARED):
        end = min(len(text), start + _BLOCK)
        first = 0 if start == 0 else _SHARED // 2
        last = end - start if end == len(text) else _BLOCK - _SHARED // 2
        for kind, begins, ends in find(text[start:end]):
            if first <= begins < last:
                found.append(Span(kind, start + begins, _whole_end(text, start + ends, end)))
        if end == len(text):
            break
    return found


def _whole_end(text: str, found_end: int, block_end: int) -> int:
    if found_end < block_end:
        return found_end
    line_end = text.find("\n", found_end)
    return len(text) if line_end < 0 else line_end
