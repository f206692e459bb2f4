"""``python -m config.demo.mail_simulator --port 8440 --smtp-port 8425 --outbox mail``."""

import argparse
import sys
from pathlib import Path

from config.demo.mail_simulator.control import ControlServer
from config.demo.mail_simulator.faults import Faults
from config.demo.mail_simulator.mailbox import Mailbox
from config.demo.mail_simulator.smtp import HOST, Clerk, MailServer
from config.demo.simulator_http import cannot_start, serve_until_stopped

_NAME = "mail simulator"


def main() -> int:
    """Serve until SIGTERM or SIGINT; prints one line when ready, and one sentence when it cannot start."""
    arguments = _arguments()
    try:
        mailbox = Mailbox(arguments.outbox)
    except OSError as error:
        return cannot_start(_NAME, f"the folder {arguments.outbox} cannot be used: {error}")
    faults = Faults()
    clerk = Clerk(faults=faults, mailbox=mailbox)
    try:
        mail_server = MailServer(arguments.smtp_port, clerk)
        server = ControlServer(
            arguments.port, faults=faults, mailbox=mailbox, clerk=clerk, mail_server=mail_server
        )
    except (OSError, OverflowError) as error:
        return cannot_start(_NAME, f"ports {arguments.port} and {arguments.smtp_port}: {error}")

    def close() -> None:
        mail_server.stop()
        server.server_close()

    name = f"{_NAME}, smtp://{HOST}:{mail_server.port},"
    return serve_until_stopped(server, name=name, close=close)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m config.demo.mail_simulator", description=__doc__)
    parser.add_argument("--port", type=int, required=True, help="of the control side; 0 takes a free one")
    parser.add_argument("--smtp-port", type=int, required=True, help="of the mail server; 0 takes a free one")
    parser.add_argument(
        "--outbox", type=Path, required=True, help="folder of accepted messages, made if missing"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
