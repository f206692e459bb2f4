"""Ids that depend on nothing but their kind and how many of that kind were made before: equal runs give equal rows."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from ledger.ids import new_id, new_reference
from tests.adversary.everywhere import everywhere


class CountedIds:
    """Stands in for `new_id` and `new_reference`."""

    def __init__(self) -> None:
        self._made: Counter[str] = Counter()

    def new_id(self, prefix: str) -> str:
        self._made[prefix] += 1
        return f"{prefix}_{self._made[prefix]:026d}"

    def new_reference(self) -> str:
        self._made["reference"] += 1
        return f"RF-0000-{self._made['reference']:04d}"

    @contextmanager
    def rewound(self) -> Iterator[None]:
        """Count again from here when the block is over."""
        before = Counter(self._made)
        try:
            yield
        finally:
            self._made = before


@contextmanager
def counted_ids() -> Iterator[CountedIds]:
    counted = CountedIds()
    with everywhere(new_id, counted.new_id), everywhere(new_reference, counted.new_reference):
        yield counted
