"""Earlier results: one JSON line for each run, the newest last."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.evals.scoring import COSTS, Numbers

Result = dict[str, Any]


def last_of(path: Path, *, model: str, version: str) -> Result | None:
    """Return the newest result of this model on these very rows."""
    if not path.exists():
        return None
    results = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    same = [result for result in results if (result["model"], result["set"]) == (model, version)]
    return same[-1] if same else None


def keep(path: Path, result: Result) -> None:
    """Add a result."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(result, ensure_ascii=False) + "\n")


def lines_of(numbers: Numbers, before: Mapping[str, Any] | None) -> list[str]:
    """Return the table, each number beside that of the last run."""
    width = max(map(len, numbers))
    return [
        f"  {name:<{width}}  {_written(value):>7}{_change(name, value, before)}"
        for name, value in numbers.items()
    ]


def _written(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0%}" if isinstance(value, float) else str(value)


def _change(name: str, value: float | None, before: Mapping[str, Any] | None) -> str:
    earlier = (before or {}).get(name)
    if value is None or earlier is None or earlier == value:
        return ""
    worse = (value > earlier) == (name in COSTS)
    return f"   was {_written(earlier)}{'' if name == 'rows' else ', worse' if worse else ', better'}"
