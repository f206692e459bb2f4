"""``python -m config.demo.gateway_simulator --port 8420 --book gateway.sqlite3``.

With ``--webhook-url`` and ``--webhook-secret`` every change is told there as well, signed.
"""

import argparse
import sqlite3
import sys
from pathlib import Path

from config.demo.gateway_simulator.book import Book
from config.demo.gateway_simulator.endpoints import Endpoint, EndpointError, read_endpoint
from config.demo.gateway_simulator.http import SimulatorServer
from config.demo.simulator_http import cannot_start, serve_until_stopped

_NAME = "gateway simulator"


def main() -> int:
    """Serve until SIGTERM or SIGINT; prints one line when ready, and one sentence when it cannot start."""
    arguments = _arguments()
    try:
        endpoint = _endpoint(arguments)
        book = Book(arguments.book, synced=not arguments.no_sync)
    except EndpointError as error:
        return cannot_start(_NAME, str(error))
    except (OSError, sqlite3.Error) as error:
        return cannot_start(_NAME, f"the book {arguments.book} cannot be opened: {error}")
    try:
        server = SimulatorServer(arguments.host, arguments.port, book, endpoint=endpoint)
    except (ValueError, OSError, OverflowError) as error:
        book.close()
        return cannot_start(_NAME, f"{arguments.host}:{arguments.port}: {error}")
    server.background.start()

    def close() -> None:
        server.faults.end()
        server.background.stop()
        server.server_close()
        book.close()

    return serve_until_stopped(server, name=_NAME, close=close)


def _endpoint(arguments: argparse.Namespace) -> Endpoint | None:
    """Return the endpoint that the command line names, if it does."""
    if arguments.webhook_url is None:
        return None
    return read_endpoint({"url": arguments.webhook_url, "secrets": arguments.webhook_secret or []})


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m config.demo.gateway_simulator", description=__doc__)
    parser.add_argument("--port", type=int, required=True, help="0 takes a free one")
    parser.add_argument("--book", type=Path, required=True, help="SQLite file, made if it is missing")
    parser.add_argument("--host", default="127.0.0.1", help="a loopback address (default: %(default)s)")
    parser.add_argument(
        "--no-sync", action="store_true", help="faster; a power cut may lose what was answered"
    )
    parser.add_argument("--webhook-url", help="where events go; on this machine")
    parser.add_argument(
        "--webhook-secret",
        action="append",
        help="whsec_...; given twice while it is being rolled",
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
