"""The order of one run: warm up, an idle stretch, one loop for each concurrency, and what the provider booked."""

import asyncio
import os
import platform
from dataclasses import asdict
from typing import Any, Final

import psycopg

from config.demo.bench import kernel
from config.demo.bench.client import Client
from config.demo.bench.cost import Cost, Stretch
from config.demo.bench.database import Counters
from config.demo.bench.load import PATIENCE_SECONDS, Load
from config.demo.bench.options import Options
from config.demo.bench.orders import USED
from config.demo.bench.product import PARTS
from config.demo.bench.report import Report
from config.demo.bench.rig import Rig
from config.demo.bench.watcher import Watcher

WARM_UP_IN_FLIGHT: Final = 8
WATCH_SECONDS: Final = 0.2


class BenchError(Exception):
    """If you see this, the run ended but its numbers mean nothing; the message says why."""


def setting(options: Options, rig: Rig) -> dict[str, Any]:
    """Return what has to be known to compare one run with another."""
    chosen = {name: value for name, value in asdict(options).items() if name not in {"folder", "json"}}
    return {
        **chosen,
        "cores": os.cpu_count(),
        "load_at_start": os.getloadavg()[0],
        "machine": platform.machine(),
        "python": platform.python_version(),
        "file_system": kernel.file_system(rig.data),
    }


async def measure(rig: Rig, counters: Counters, tokens: list[str], report: Report) -> None:
    """Fill the report, as long as nobody asks to stop and every part is up.

    Raises ``BenchError``, ``NotCompletedError``, ``OutOfOrdersError`` (the last two in groups), ``ServiceError`` or
    ``StopRequestedError``.
    """
    work = asyncio.ensure_future(_measure(rig, counters, tokens, report))
    try:
        while not work.done():
            rig.supervisor.watch()
            await asyncio.wait({work}, timeout=WATCH_SECONDS)
    finally:
        work.cancel()
        await asyncio.wait({work})
    work.result()


async def _measure(rig: Rig, counters: Counters, tokens: list[str], report: Report) -> None:
    url = counters.add_watcher(rig.database.url)
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        watcher = Watcher(connection)
        pids = rig.pids(watcher=watcher.backend)
        load = Load(client=Client(rig.product.desk.web_port), watcher=watcher, tokens=tokens, asked=USED)

        def stretch() -> Stretch:
            return Stretch(counters, pids, folder=rig.folder)

        say = rig.supervisor.console.progress
        say("warming up")
        await load.run(concurrency=WARM_UP_IN_FLIGHT, seconds=rig.product.options.warm_up, stretch=stretch)
        say(f"idle for {rig.product.options.idle:g} s, with the beat")
        report.idle = await _idle(stretch(), rig.product.options.idle)
        for concurrency in rig.product.options.concurrency:
            say(f"{concurrency} in flight for {rig.product.options.seconds:g} s")
            report.results.append(
                await load.run(concurrency=concurrency, seconds=rig.product.options.seconds, stretch=stretch)
            )
        await watcher.drained(seconds=PATIENCE_SECONDS)
        report.peak_rss_mb = _peaks(rig)
        report.gateway = await _paid_once(rig, load.asked)


async def _idle(stretch: Stretch, seconds: float) -> Cost:
    await asyncio.sleep(seconds)
    cost, _ = stretch.end()
    return cost


def _peaks(rig: Rig) -> dict[str, float]:
    return {name: kernel.peak_rss_mb([rig.supervisor.pids[name]]) for name in PARTS} | {
        "redis": kernel.peak_rss_mb([rig.broker.child.pid or 0])
    }


async def _paid_once(rig: Rig, asked: int) -> dict[str, int]:
    """Ask the provider's stub how often it paid; a bench that paid twice or not at all is no bench."""
    _, counts = await Client(rig.product.desk.gateway_port).call("GET", "/stats")
    if counts["refunds"] != asked or counts["charges_with_several_keys"]:
        raise BenchError(f"{asked} requests led to {counts}")
    return dict(counts)
