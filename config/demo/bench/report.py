"""The tables, and the same as one JSON document."""

from dataclasses import asdict, dataclass, field
from typing import Any, Final

from config.demo.bench.cost import Cost
from config.demo.bench.load import Result

TARGET_COMMITS: Final = 8
TARGET_STATEMENTS: Final = 80
_HEAD: Final = (
    *("in flight", "refunds", "per s", "p50 ms", "p95 ms", "commits", "statements", "(at commit)"),
    *("WAL KiB", "CPU ms product", "PostgreSQL", "Redis", "fdatasync ms", "machine busy"),
)


@dataclass
class Report:
    """Everything that one run found. ``peak_rss_mb`` is by part."""

    setting: dict[str, Any]
    stages: list[dict[str, Any]]
    idle: Cost | None = None
    results: list[Result] = field(default_factory=list)
    peak_rss_mb: dict[str, float] = field(default_factory=dict)
    gateway: dict[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return plain values; ``per_refund`` has the idle beat taken out."""
        results = [{**asdict(result), "per_refund": asdict(self._each(result))} for result in self.results]
        return {**asdict(self), "results": results}

    def text(self) -> str:
        """Return what is printed at the end."""
        parts = [stage_table(self.stages)]
        if self.idle is not None:
            rows = [self._row(result) for result in self.results]
            parts += ["", table(_HEAD, rows), "", self._idle_line(self.idle), self._memory_line()]
            parts += [self._verdict(result) for result in self.results]
        return "\n".join(parts)

    def _each(self, result: Result) -> Cost:
        idle = self.idle
        return (result.cost if idle is None else result.cost.without(idle)).each(result.refunds)

    def _row(self, result: Result) -> tuple[str, ...]:
        each = self._each(result)
        return (
            str(result.concurrency),
            str(result.refunds),
            f"{result.rate:.1f}",
            f"{result.p50:.0f}",
            f"{result.p95:.0f}",
            f"{each.commits:.1f}",
            f"{each.statements:.1f}",
            f"{each.statements_at_commit:.1f}",
            f"{each.wal / 1024:.1f}",
            f"{1000 * each.cpu_product:.1f}",
            f"{1000 * each.cpu_postgres:.1f}",
            f"{1000 * each.cpu_redis:.1f}",
            f"{result.fdatasync_ms:.2f}",
            f"{result.machine_busy:.0%}",
        )

    def _idle_line(self, idle: Cost) -> str:
        each = {"commits": idle.commits, "statements": idle.statements, "WAL bytes": idle.wal}
        said = ", ".join(f"{value / idle.seconds:.2f} {name}" for name, value in each.items())
        return f"Idle, taken out of the above, per second: {said}."

    def _memory_line(self) -> str:
        said = ", ".join(f"{name} {value:.0f}" for name, value in self.peak_rss_mb.items())
        return f"Peak resident memory, MiB, sum of each process's own: {said}."

    def _verdict(self, result: Result) -> str:
        each = self._each(result)
        met = each.commits <= TARGET_COMMITS and each.statements <= TARGET_STATEMENTS
        return (
            f"Target at {result.concurrency} in flight (at most {TARGET_COMMITS} commits and"
            f" {TARGET_STATEMENTS} statements): {'met' if met else 'NOT met'}"
        )


def stage_table(stages: list[dict[str, Any]]) -> str:
    """Return one line for each step of one refund, done alone in one process."""
    rows = [
        (step["name"], str(step["sent"]), str(step["at_commit"]), str(step["commits"])) for step in stages
    ]
    sums = (str(sum(step[name] for step in stages[:-1])) for name in ("sent", "at_commit", "commits"))
    return table(
        ("step", "statements", "(at commit)", "commits"), [*rows, ("one refund, without the relay", *sums)]
    )


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a Markdown table whose columns stand under each other."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]

    def line(row: tuple[str, ...]) -> str:
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        return f"| {' | '.join([row[0].ljust(widths[0]), *cells[1:]])} |"

    rule = tuple("-" * width for width in widths)
    return "\n".join([line(head), line(rule), *map(line, rows)])
