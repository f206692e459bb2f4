"""python -m config.demo.services run [--tests] -- COMMAND..."""

import argparse
import sys

from config.demo.services.command import run


def main() -> int:
    """The exit code of the command line's action."""
    parser = argparse.ArgumentParser(prog="python -m config.demo.services", description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    runs = actions.add_parser("run", help="run a command beside PostgreSQL and Redis, then stop both")
    runs.add_argument("--tests", action="store_true", help="set the product's other variables for tests")
    runs.add_argument("command", nargs="+", help="the command, after --")
    options = parser.parse_args()
    return run(options.command, tests=options.tests)


if __name__ == "__main__":
    sys.exit(main())
