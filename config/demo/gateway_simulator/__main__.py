"""``python -m config.demo.gateway_simulator --port 8420 --book gateway.sqlite3``."""

import argparse
import os
import signal
import sqlite3
import sys
import threading
from pathlib import Path

from config.demo.gateway_simulator.book import Book
from config.demo.gateway_simulator.http import SimulatorServer


def main() -> int:
    """Serve until SIGTERM or SIGINT; prints one line when ready, and one sentence when it cannot start."""
    arguments = _arguments()
    try:
        book = Book(arguments.book)
    except (OSError, sqlite3.Error) as error:
        return _cannot_start(f"the book {arguments.book} cannot be opened: {error}")
    try:
        server = SimulatorServer(arguments.host, arguments.port, book)
    except (ValueError, OSError, OverflowError) as error:
        book.close()
        return _cannot_start(f"{arguments.host}:{arguments.port}: {error}")
    for number in (signal.SIGTERM, signal.SIGINT):
        # serve_forever runs in this thread, and shutdown waits for it: another thread has to ask.
        signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
    host = f"[{server.server_name}]" if ":" in server.server_name else server.server_name
    print(f"gateway simulator ready on http://{host}:{server.server_port}", flush=True)
    server.serve_forever(poll_interval=0.1)
    server.ending.set()
    server.faults.end()
    server.server_close()
    book.close()
    return os.EX_OK


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m config.demo.gateway_simulator", description=__doc__)
    parser.add_argument("--port", type=int, required=True, help="0 takes a free one")
    parser.add_argument("--book", type=Path, required=True, help="SQLite file, made if it is missing")
    parser.add_argument("--host", default="127.0.0.1", help="a loopback address (default: %(default)s)")
    return parser.parse_args()


def _cannot_start(reason: str) -> int:
    print(f"gateway simulator: cannot start: {reason}", file=sys.stderr)
    return os.EX_UNAVAILABLE


if __name__ == "__main__":
    sys.exit(main())
