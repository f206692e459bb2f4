"""``python -m config.demo.bench [--json FILE]``, for ``make bench``; docs/performance.md explains the numbers."""

import asyncio
import json
import os
import sys
from contextlib import ExitStack
from typing import Final

from config.demo.bench.database import Counters
from config.demo.bench.load import OutOfOrdersError
from config.demo.bench.measure import BenchError, measure, setting
from config.demo.bench.options import Options
from config.demo.bench.report import Report
from config.demo.bench.rig import Rig
from config.demo.bench.watcher import NotCompletedError
from config.demo.demo_data import MODEL_FACTS
from config.demo.runner.console import Console
from config.demo.runner.desk import MODEL
from config.demo.services.failure import ServiceError
from config.demo.services.stopping import StopRequestedError, StopRequests

FAILURES: Final = (BenchError, ServiceError, NotCompletedError, OutOfOrdersError)


def main() -> int:
    """The exit code: 0, 1 if anything failed, 128 + signal if stopped."""
    options = Options.read(os.environ, sys.argv[1:])
    console = Console(stream=sys.stderr)
    try:
        with StopRequests() as requests, ExitStack() as stack:
            report = _bench(options, console, requests, stack)
    except StopRequestedError as request:
        return request.exit_code
    except FAILURES as failure:
        console.plain(f"\n{failure}")
        return 1
    except BaseExceptionGroup as group:
        console.plain("\n".join(str(failure) for failure in group.exceptions))
        return 1
    print(report.text())
    if options.json is not None:
        options.json.write_text(json.dumps(report.as_json(), indent=1) + "\n")
    return 0


def _bench(options: Options, console: Console, requests: StopRequests, stack: ExitStack) -> Report:
    rig = Rig.open(options, console, requests, stack)
    counters = Counters(rig.database.url, data=rig.data, programs=rig.programs)
    stack.callback(counters.close)
    tokens, stages = rig.folder / "tokens", rig.folder / "stages.json"
    rig.supervisor.start(rig.step("seed", "django", "bench_seed", str(options.orders), str(tokens)))
    rig.supervisor.start(rig.step("qualify", "django", "qualify_model", MODEL, "--facts", str(MODEL_FACTS)))
    rig.supervisor.start(rig.step("stages", "django", "bench_stages", str(tokens), str(stages)))
    report = Report(setting=setting(options, rig), stages=json.loads(stages.read_text()))
    if options.stages:
        print((rig.folder / "logs" / "stages.log").read_text())
        return report
    rig.product.start(rig.supervisor)
    asyncio.run(measure(rig, counters, tokens.read_text().split(), report))
    return report


if __name__ == "__main__":
    sys.exit(main())
