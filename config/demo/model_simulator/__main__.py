"""``python -m config.demo.model_simulator --port 8430 --book model.sqlite3``."""

import argparse
import os
import signal
import sqlite3
import sys
import threading
from pathlib import Path

from config.demo.model_simulator.book import Book
from config.demo.model_simulator.http import SimulatorServer

DEFAULT_MODEL = "demo-proposer-1"


def main() -> int:
    """Serve until SIGTERM or SIGINT; prints one line when ready, and one sentence when it cannot start."""
    arguments = _arguments()
    try:
        book = Book(arguments.book)
    except (OSError, sqlite3.Error) as error:
        return _cannot_start(f"the book {arguments.book} cannot be opened: {error}")
    try:
        server = SimulatorServer(arguments.port, book=book, models=tuple(arguments.model or [DEFAULT_MODEL]))
    except (OSError, OverflowError) as error:
        book.close()
        return _cannot_start(f"port {arguments.port}: {error}")
    for number in (signal.SIGTERM, signal.SIGINT):
        # serve_forever runs in this thread, and shutdown waits for it: another thread has to ask.
        signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
    print(f"model simulator ready on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever(poll_interval=0.1)
    server.ending.set()
    server.server_close()
    book.close()
    return os.EX_OK


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m config.demo.model_simulator", description=__doc__)
    parser.add_argument("--port", type=int, required=True, help="0 takes a free one")
    parser.add_argument("--book", type=Path, required=True, help="SQLite file, made if it is missing")
    parser.add_argument("--model", action="append", help=f"a name to answer to (default: {DEFAULT_MODEL})")
    return parser.parse_args()


def _cannot_start(reason: str) -> int:
    print(f"model simulator: cannot start: {reason}", file=sys.stderr)
    return os.EX_UNAVAILABLE


if __name__ == "__main__":
    sys.exit(main())
