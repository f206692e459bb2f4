"""python -m tests.evals [--model simulator|local] [--rows N] [--keep FILE]: what `make evals` runs.

Ends 0 when every question was asked, 2 when there is no model to ask or it answers nothing. The numbers are for
people to judge: a model is admitted by `manage.py qualify_model`, not by this.
"""

import argparse
import os
import platform
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tests.evals.asking import UNAVAILABLE, Answer, ask, can_read, outcome
from tests.evals.endpoints import LOCAL, SIMULATOR, Endpoint, endpoints
from tests.evals.history import keep, last_of, lines_of
from tests.evals.scoring import numbers_of
from tests.evals.sets import (
    INJECTIONS,
    PROPOSALS,
    READING,
    READING_INJECTIONS,
    READINGS,
    EvalSet,
    Row,
    plain_message,
    read_sets,
)

KEPT: Final = Path(".evals/results.jsonl")
NOBODY_ANSWERED: Final = 2


def main(arguments: Sequence[str] | None = None) -> int:
    wishes = _wishes(arguments)
    with endpoints(wishes.model, os.environ) as found:
        if not found:
            print("no model: set ASSISTANT_MODELS beside OPENAI_BASE_URL", file=sys.stderr)
            return NOBODY_ANSWERED
        return max(_evaluate(endpoint, wishes.rows, wishes.keep) for endpoint in found)


def _evaluate(endpoint: Endpoint, at_most: int, kept: Path) -> int:
    reads = can_read(endpoint.model)
    kinds = (PROPOSALS, INJECTIONS, *READINGS) if reads else (PROPOSALS, INJECTIONS)
    questions = read_sets(kinds=kinds, at_most=at_most)
    print(
        f"{endpoint.name}: {len(questions.rows)} rows of {questions.version}"
        + ("" if reads else "; it reads no messages")
    )
    answers = [_asked(endpoint, row) for row in questions.rows]
    numbers = numbers_of(answers, _plain(endpoint, questions, answers))
    before = last_of(kept, model=endpoint.name, version=questions.version)
    prompts = sorted({answer.prompt for answer in answers} - {""})
    keep(kept, _result(endpoint.name, questions, numbers, prompts))
    print("\n".join(lines_of(numbers, before and before["numbers"])))
    return NOBODY_ANSWERED if all(answer.first == UNAVAILABLE for answer in answers) else 0


def _asked(endpoint: Endpoint, row: Row) -> Answer:
    answer = ask(endpoint.model, row, seconds=endpoint.seconds)
    said = str(answer.said.get("action", answer.said.get("intent", "")))
    worth = " ".join(filter(None, (answer.last, said, answer.why)))
    print(f"    {row.kind}/{row.id}: {worth}, {answer.seconds:.1f} s", flush=True)
    return answer


def _plain(endpoint: Endpoint, questions: EvalSet, answers: Sequence[Answer]) -> dict[str, str]:
    """Return what the desk would do about each finding and suggest of each message, when the words are ordinary ones."""
    plain: dict[str, str] = {}
    for answer in answers:
        if answer.row.kind in (PROPOSALS, READING):
            plain.setdefault(answer.row.finding or answer.row.id, outcome(answer))
    for row in questions.of(INJECTIONS):
        if row.finding not in plain:  # of a few rows only
            ordinary = Row(
                id=row.id, kind=PROPOSALS, text=None, finding=row.finding, reason_code=row.reason_code
            )
            plain[row.finding] = outcome(_asked(endpoint, ordinary))
    for row in questions.of(READING_INJECTIONS):
        if row.of not in plain:
            plain[row.of] = outcome(_asked(endpoint, plain_message(row)))
    return plain


def _result(model: str, questions: EvalSet, numbers: object, prompts: list[str]) -> dict[str, object]:
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "model": model,
        "set": questions.version,
        "prompts": prompts,
        "machine": f"{platform.machine()}, {os.cpu_count()} processors",
        "numbers": numbers,
    }


def _wishes(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.evals", description=__doc__)
    parser.add_argument("--model", choices=["", SIMULATOR, LOCAL], default="")
    parser.add_argument("--rows", type=int, default=0, help="at most so many; 0: all")
    parser.add_argument(
        "--keep", type=Path, default=KEPT, help="where results are kept (default: %(default)s)"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
