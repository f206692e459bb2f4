"""python -m tests.torture [--minutes 60] [--seed SEED]: faults at every boundary, then random worlds, until the time is over.

DATABASE_URL names the server; databases are made there and dropped again. ``make torture`` brings one.
"""

import argparse
import json
import multiprocessing
import signal
import sys
import time
from pathlib import Path
from queue import Empty
from typing import Any

from tests.torture.part import play_again, set_up, work

_PROCESSES = 2
_NAME = "refund_desk_torture"
SEEDS = Path(__file__).parent / "seeds"


def main() -> int:
    """0 if everything held, was covered and was killed."""
    arguments = _arguments()
    first = _make_databases(arguments.processes if arguments.seed is None else 1)
    try:
        if arguments.seed is not None:
            return play_again(first[0], arguments.seed)
        return _campaign(first, arguments)
    finally:
        _drop_databases(first)


def _campaign(databases: list[str], arguments: argparse.Namespace) -> int:
    from tests.torture.matrix import legal_pairs  # noqa: PLC0415 - Django is set up by now
    from tests.torture.report import report  # noqa: PLC0415
    from tests.torture.tally import Tally  # noqa: PLC0415

    spawn: Any = multiprocessing.get_context("spawn")
    heard, stop = spawn.Queue(), spawn.Event()
    for wish in (signal.SIGINT, signal.SIGTERM):
        signal.signal(wish, lambda *_: stop.set())
    children = [
        spawn.Process(
            target=work, args=(name, (index, len(databases), arguments.base, arguments.minutes), heard, stop)
        )
        for index, name in enumerate(databases)
    ]
    for child in children:
        child.start()
    tally, began = Tally(), time.monotonic()
    for part in _gathered(children, heard, began):
        tally.merge(part)
    for child in children:
        child.join()
    held = report(tally, legal_pairs()) and all(child.exitcode == 0 for child in children)
    for violation in tally.violations:
        _keep(violation.seed, violation.invariant, violation.detail)
    if stop.is_set():
        print("stopped before the time was over: what is not reached above is not shown")
    print("held" if held else "NOT HELD")
    return 0 if held else 1


def _gathered(children: list[Any], heard: Any, began: float) -> list[Any]:
    """Return every part's tally; a child that died leaves none."""
    parts: dict[int, Any] = {}
    so_far: dict[int, tuple[int, int, int]] = {}
    while len(parts) < len(children):
        try:
            index, told = heard.get(timeout=5)
        except Empty:
            if all(child.exitcode is not None for child in children):
                break
            continue
        if isinstance(told, str):
            print(f"        {told[:300]}", flush=True)
        elif isinstance(told, tuple):
            so_far[index] = told
            played, broken, cells = (sum(column) for column in zip(*so_far.values(), strict=True))
            print(
                f"{time.monotonic() - began:6.0f} s  {played} schedules, {cells} cells, {broken} violations",
                flush=True,
            )
        else:
            parts[index] = told
    return list(parts.values())


def _keep(seed: str, invariant: str, detail: str) -> None:
    """Keep a failing seed as a fixture: `make test` plays it from now on."""
    SEEDS.mkdir(exist_ok=True)
    kept = {"seed": seed, "broke": invariant, "detail": detail[:300]}
    (SEEDS / f"{seed}.json").write_text(json.dumps(kept, indent=2) + "\n")


def _make_databases(count: int) -> list[str]:
    """Return the names of migrated databases: one, and copies of it."""
    set_up("postgres")
    from django.db import connection  # noqa: PLC0415

    connection.settings_dict["TEST"]["NAME"] = f"{_NAME}_0"
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    names = [f"{_NAME}_{index}" for index in range(count)]
    connection.close()
    _on_server(*(f'CREATE DATABASE "{name}" TEMPLATE "{names[0]}"' for name in names[1:]))
    return names


def _drop_databases(names: list[str]) -> None:
    _on_server(*(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)' for name in names))


def _on_server(*statements: str) -> None:
    import psycopg  # noqa: PLC0415
    from django.conf import settings  # noqa: PLC0415
    from django.db import connections  # noqa: PLC0415

    connections.close_all()
    connections["default"].close_pool()
    given = settings.DATABASES["default"]
    with psycopg.connect(
        dbname="postgres",
        user=given["USER"] or None,
        password=given["PASSWORD"] or None,
        host=given["HOST"] or None,
        port=given["PORT"] or None,
        autocommit=True,
    ) as session:
        for statement in statements:
            session.execute(statement)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", help="play one schedule again, by the seed that a report printed")
    parser.add_argument("--base", type=int, default=1, help="the first random world")
    parser.add_argument("--processes", type=int, default=_PROCESSES)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
