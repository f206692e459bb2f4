"""Looks at a request that lies in the socket's buffer without reading it."""

import socket
import time
from dataclasses import dataclass

_ENOUGH_BYTES = 65536
_PATIENCE_SECONDS = 1.0
_MIN_WORDS = 2


@dataclass(frozen=True, slots=True)
class Head:
    """What the first lines of an unread request say."""

    method: str
    path: str
    idempotency_key: str | None


def peek(connection: socket.socket) -> Head | None:
    """Return the head of the next request, unread; None if none arrives or it is no HTTP."""
    deadline = None
    while True:
        try:
            data = connection.recv(_ENOUGH_BYTES, socket.MSG_PEEK)
        except OSError:
            return None
        complete = b"\r\n\r\n" in data or len(data) == _ENOUGH_BYTES
        # The first byte may take as long as the client likes; the rest of the head follows at once.
        deadline = deadline or time.monotonic() + _PATIENCE_SECONDS
        if not data or complete or time.monotonic() > deadline:
            return _head(data)
        time.sleep(0.005)


def _head(data: bytes) -> Head | None:
    lines = data.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
    words = lines[0].split()
    if len(words) < _MIN_WORDS:
        return None
    key = None
    for line in lines[1:]:
        name, _, value = line.partition(":")
        if name.strip().lower() == "idempotency-key":
            key = value.strip()
    return Head(words[0], words[1].partition("?")[0], key)
