"""TCP ports on the loopback address."""

import socket
from collections.abc import Iterable

HOST = "127.0.0.1"


def free_port() -> int:
    """A port that nobody uses now; whoever takes it later must be ready to try another."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def is_free(port: int) -> bool:
    """True if nobody listens on it and this process may."""
    with socket.socket() as probe:
        if probe.connect_ex((HOST, port)) == 0:
            return False
    with socket.socket() as probe:
        # A connection in TIME_WAIT does not keep a server from listening.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def first_free(preferred: Iterable[int]) -> int:
    """The first free one of `preferred`, else any free port."""
    return next((port for port in preferred if is_free(port)), None) or free_port()
