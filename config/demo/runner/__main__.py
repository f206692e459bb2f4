"""python -m config.demo.runner [--forget]: what `make demo` and `make clean` call."""

import os
import sys
from pathlib import Path

from config.demo.runner.console import Console
from config.demo.runner.demo import Wishes, run_demo
from config.demo.runner.plan import demo_plan
from config.demo.runner.state_folder import FOLDER, StateFolder
from config.demo.services.failure import ServiceError

CHECKOUT = Path(__file__).resolve().parents[3]


def main() -> int:
    """Run the demo as the environment wishes; or, with --forget, remove its data."""
    state = StateFolder(CHECKOUT / FOLDER, checkout=CHECKOUT)
    if sys.argv[1:] == ["--forget"]:
        return _forget(state)
    try:
        wishes = Wishes.read(os.environ)
    except ServiceError as failure:
        print(failure)
        return 1
    return run_demo(state, demo_plan, wishes, Console(verbose=wishes.logs))


def _forget(state: StateFolder) -> int:
    try:
        with state.in_use():
            state.forget(lambda: None)
    except ServiceError as failure:
        print(failure)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
