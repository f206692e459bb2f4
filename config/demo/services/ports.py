"""TCP ports on the loopback address."""

import secrets
import socket
from collections.abc import Iterable

HOST = "127.0.0.1"


# Below the range from which systems take ports for outgoing connections, so that none is lost to one of those
# between being found here and being listened on.
_CANDIDATES = range(15_000, 30_000)
_TRIES = 200


def free_port() -> int:
    """A port that nobody uses now; whoever takes it later must be ready to try another."""
    for _ in range(_TRIES):
        port = secrets.choice(_CANDIDATES)
        if is_free(port):
            return port
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


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
