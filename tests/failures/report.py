"""The table of ``make failures``: every id, the tests that drive it, and how those last went. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tests.failures.catalogue import Failure

NEVER = "never run; run make test"


@dataclass(frozen=True, slots=True)
class MarkedTest:
    """One collected test and the ids that it bears."""

    nodeid: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One failure with its tests; ``outcome`` is failed if any test is, and counts those that never ran."""

    failure: Failure
    tests: tuple[str, ...]
    outcome: str
    last_run: str

    @property
    def failed(self) -> bool:
        """Tell whether a test of it failed when it last ran."""
        return self.outcome.startswith("failed")


def rows_of(
    failures: Sequence[Failure], tests: Iterable[MarkedTest], outcomes: Mapping[str, Mapping[str, str]]
) -> list[Row]:
    """Return a row for each failure, in the catalogue's order."""
    tests_of: dict[str, list[str]] = {failure.id: [] for failure in failures}
    for test in tests:
        for number in tests_of.keys() & set(test.ids):
            tests_of[number].append(test.nodeid)
    return [_row(failure, tests_of[failure.id], outcomes) for failure in failures]


def _row(failure: Failure, nodeids: list[str], outcomes: Mapping[str, Mapping[str, str]]) -> Row:
    known = [outcomes[nodeid] for nodeid in nodeids if nodeid in outcomes]
    found = [entry["outcome"] for entry in known]
    return Row(
        failure=failure,
        tests=tuple(nodeids),
        outcome=_outcome(found, len(nodeids)) if nodeids else "",
        last_run=max((entry["at"] for entry in known), default="")[:10],
    )


def _outcome(found: list[str], wanted: int) -> str:
    if not found:
        return NEVER
    worst = next(name for name in ("failed", "passed", "skipped") if name in found)
    count = found.count(worst)
    return worst if count == wanted else f"{worst} ({count} of {wanted})"


def lines_of(rows: Sequence[Row]) -> list[str]:
    """Return the table as text: rows with tests first, then the ids that no test drives yet."""
    driven = [row for row in rows if row.tests]
    width = max((len(row.outcome) for row in driven), default=0)
    lines = [f"{'id':5} {'kind':13} {'tests':>5}  {'last outcome':{width}}  {'last run':10}  requirement"]
    for row in driven:
        head = f"{row.failure.id:5} {row.failure.kind:13} {len(row.tests):5}  {row.outcome:{width}}"
        lines += [f"{head}  {row.last_run:10}  {row.failure.requirement}"]
        lines += [f"{'':27}{name}" for name in _functions(row.tests)]
    missing = [row for row in rows if not row.tests]
    if missing:
        lines += ["", "no test yet:"]
        lines += [f"{row.failure.id:5} {row.failure.kind:13} {row.failure.requirement}" for row in missing]
    failed = sum(row.failed for row in rows)
    return [*lines, "", f"{len(driven)} of {len(rows)} have tests; {failed} failed when they last ran"]


def _functions(nodeids: Sequence[str]) -> list[str]:
    """Return each test once, with the number of its cases."""
    cases: dict[str, int] = {}
    for nodeid in nodeids:
        name = nodeid.partition("[")[0]
        cases[name] = cases.get(name, 0) + 1
    return [name if count == 1 else f"{name} x{count}" for name, count in cases.items()]
