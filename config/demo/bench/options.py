"""What the person at the keyboard asked for: ``BENCH_*`` variables, ``STAGES=1`` and ``--json FILE``."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

POOLS = ("threads", "prefork")


@dataclass(frozen=True)
class Options:
    """How much is measured, and with how many hands. Seconds unless said otherwise."""

    concurrency: tuple[int, ...] = (1, 8, 32)
    seconds: float = 8.0
    warm_up: float = 4.0
    idle: float = 20.0
    orders: int = 2000
    slots: int = 8
    pool: str = "threads"
    interval: float = 10.0
    folder: Path | None = None
    keep: bool = False
    stages: bool = False
    json: Path | None = None

    @classmethod
    def read(cls, env: Mapping[str, str], arguments: Sequence[str]) -> Self:
        """Return the options; ends with one line when a value is no number."""
        parser = argparse.ArgumentParser(prog="python -m config.demo.bench", description=__doc__)
        parser.add_argument("--json", type=Path, metavar="FILE", help="also write everything as JSON")
        asked = parser.parse_args(arguments)
        try:
            return cls(
                concurrency=tuple(int(n) for n in env.get("BENCH_CONC", "1,8,32").split(",")),
                seconds=float(env.get("BENCH_SECONDS", cls.seconds)),
                warm_up=float(env.get("BENCH_WARM_UP", cls.warm_up)),
                idle=float(env.get("BENCH_IDLE", cls.idle)),
                orders=int(env.get("BENCH_ORDERS", cls.orders)),
                slots=int(env.get("BENCH_SLOTS", cls.slots)),
                pool=_one_of(POOLS, env.get("BENCH_POOL", cls.pool)),
                interval=float(env.get("BENCH_INTERVAL", cls.interval)),
                folder=Path(env["BENCH_DIR"]) if env.get("BENCH_DIR") else None,
                keep=_yes(env, "BENCH_KEEP"),
                stages=_yes(env, "STAGES"),
                json=asked.json,
            )
        except ValueError as error:
            parser.error(f"a BENCH_ variable cannot be used: {error}")


def _yes(env: Mapping[str, str], name: str) -> bool:
    return env.get(name, "") not in {"", "0"}


def _one_of(allowed: tuple[str, ...], value: str) -> str:
    if value not in allowed:
        raise ValueError(f"{value!r} is none of {', '.join(allowed)}")
    return value
