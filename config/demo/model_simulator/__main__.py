"""``python -m config.demo.model_simulator --port 8430 --book model.sqlite3``."""

import argparse
import sqlite3
import sys
from pathlib import Path

from config.demo.model_simulator.book import Book
from config.demo.model_simulator.http import SimulatorServer
from config.demo.simulator_http import cannot_start, serve_until_stopped

_NAME = "model simulator"
DEFAULT_MODEL = "demo-proposer-1"


def main() -> int:
    """Serve until SIGTERM or SIGINT; prints one line when ready, and one sentence when it cannot start."""
    arguments = _arguments()
    try:
        book = Book(arguments.book)
    except (OSError, sqlite3.Error) as error:
        return cannot_start(_NAME, f"the book {arguments.book} cannot be opened: {error}")
    try:
        server = SimulatorServer(arguments.port, book=book, models=tuple(arguments.model or [DEFAULT_MODEL]))
    except (OSError, OverflowError) as error:
        book.close()
        return cannot_start(_NAME, f"port {arguments.port}: {error}")

    def close() -> None:
        server.server_close()
        book.close()

    return serve_until_stopped(server, name=_NAME, close=close)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m config.demo.model_simulator", description=__doc__)
    parser.add_argument("--port", type=int, required=True, help="0 takes a free one")
    parser.add_argument("--book", type=Path, required=True, help="SQLite file, made if it is missing")
    parser.add_argument("--model", action="append", help=f"a name to answer to (default: {DEFAULT_MODEL})")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
