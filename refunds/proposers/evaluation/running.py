"""Ask every row several times; a row counts only when every attempt held, and a model only when every row did.

One lucky run proves nothing about a model that answers by chance: at nine in ten, 86 rows all hold once in 8600 runs,
and three times in a row practically never. The measure is known as pass^k.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from refunds.proposers.evaluation.jobs import Job, RowResult
from refunds.proposers.evaluation.rows import Area, EvaluationRow, EvaluationSet, EvaluationSetError

_P95: Final = 0.95


class EndpointUnreachableError(Exception):
    """If you see this, the endpoint was not there or refused to be asked, so nothing was learned about its model."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something that did not hold. ``row`` is the set's id, or what was measured over all rows."""

    row: str
    attempt: int
    code: str


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What came out. ``areas`` holds (rows, rows that held in every attempt)."""

    attempts: int
    areas: Mapping[Area, tuple[int, int]]
    faults: tuple[Fault, ...]
    snapshot: str
    response_form: str
    requests: int
    latency_p95_ms: int

    @property
    def passed(self) -> bool:
        """Say whether everything held."""
        return not self.faults


def run_evaluation(
    rows: EvaluationSet,
    jobs: Mapping[str, Job],
    *,
    attempts: int,
    deadline_seconds: float,
    progress: Callable[[str], None],
) -> Evaluation:
    """Ask every row ``attempts`` times.

    Raises EvaluationSetError before anything is asked, and EndpointUnreachableError.
    """
    _check(rows, jobs)
    results: list[tuple[EvaluationRow, int, RowResult]] = []
    for attempt in range(1, attempts + 1):
        for area in Area:
            of_area = rows.of(area)
            found = [(row, attempt, _ask(row, jobs[row.job], deadline_seconds)) for row in of_area]
            if found:
                held = sum(not result.faults for _, _, result in found)
                progress(f"attempt {attempt} of {attempts}: {area} {held}/{len(found)}")
            results += found
    return _sum_up(rows, results, attempts=attempts)


def _check(rows: EvaluationSet, jobs: Mapping[str, Job]) -> None:
    """Raise EvaluationSetError unless every row can be judged and every job is tried: who passes is asked for all."""
    if unseen := set(jobs) - {row.job for row in rows.rows}:
        raise EvaluationSetError(f"no row of {', '.join(sorted(unseen))}")
    for row in rows.rows:
        if row.job not in jobs:
            raise EvaluationSetError(f"{row.id}: there is no job {row.job!r}")
        jobs[row.job].check(row)


def _ask(row: EvaluationRow, job: Job, deadline_seconds: float) -> RowResult:
    result = job.ask(row, deadline_seconds=deadline_seconds)
    if result.unreachable:
        raise EndpointUnreachableError(result.unreachable)
    return result


def _sum_up(
    rows: EvaluationSet, results: list[tuple[EvaluationRow, int, RowResult]], *, attempts: int
) -> Evaluation:
    faults = [
        Fault(row=row.id, attempt=attempt, code=code)
        for row, attempt, result in results
        for code in result.faults
    ]
    failed = {fault.row for fault in faults}
    latency = _percentile(result.latency_ms for _, _, result in results)
    snapshots = Counter(result.snapshot for _, _, result in results if result.snapshot)
    forms = Counter(result.response_form for _, _, result in results if result.response_form)
    if latency > rows.latency_p95_ms:
        faults.append(Fault(row="latency", attempt=0, code=f"P95_{latency}_MS"))
    if len(snapshots) > 1 or len(forms) > 1:
        faults.append(Fault(row="snapshot", attempt=0, code="CHANGED_MEANWHILE"))
    return Evaluation(
        attempts=attempts,
        areas={
            area: (len(of_area), sum(row.id not in failed for row in of_area))
            for area in Area
            if (of_area := rows.of(area))
        },
        faults=tuple(faults),
        snapshot=_most_common(snapshots),
        response_form=_most_common(forms),
        requests=sum(result.requests for _, _, result in results),
        latency_p95_ms=latency,
    )


def _percentile(values: Iterable[int]) -> int:
    """Return the value that 19 of 20 are not above."""
    ordered = sorted(values)
    return ordered[math.ceil(_P95 * len(ordered)) - 1]


def _most_common(counted: Counter[str]) -> str:
    return counted.most_common(1)[0][0] if counted else ""
