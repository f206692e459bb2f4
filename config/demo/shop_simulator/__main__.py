"""``python -m config.demo.shop_simulator --port 8440 --book ledger.json``."""

import argparse
import sys
from pathlib import Path

from config.demo.shop_simulator.book import Book, BookError
from config.demo.shop_simulator.http import ShopServer
from config.demo.simulator_http import cannot_start, serve_until_stopped

NAME = "shop simulator"
DEFAULT_TOKEN = "shop-simulator"  # noqa: S105 - guards nothing: loopback only, invented data


def main() -> int:
    """Serve until SIGTERM or SIGINT; prints one line when ready, and one sentence when it cannot start."""
    arguments = _arguments()
    try:
        book = Book(arguments.book)
    except (OSError, ValueError, BookError) as error:
        return cannot_start(NAME, f"the book {arguments.book} cannot be read: {error}")
    try:
        server = ShopServer(arguments.port, book=book, token=arguments.token)
    except (ValueError, OSError, OverflowError) as error:
        return cannot_start(NAME, f"port {arguments.port}: {error}")
    return serve_until_stopped(server, name=NAME, close=server.server_close)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m config.demo.shop_simulator", description=__doc__)
    parser.add_argument("--port", type=int, required=True, help="0 takes a free one")
    parser.add_argument("--book", type=Path, help="JSON file with orders; it is read, and never written")
    parser.add_argument(
        "--token", default=DEFAULT_TOKEN, help="what clients must show (default: %(default)s)"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
