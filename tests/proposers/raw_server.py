"""A server for answers that no simulator should give: it sends prepared bytes to whoever connects."""

import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class RawServer:
    """Answers connection after connection with the next script; the last one repeats."""

    def __init__(self, scripts: Sequence[Sequence[bytes | float]]) -> None:
        self._scripts = list(scripts)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._ending = threading.Event()
        self.requests: list[bytes] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"

    def close(self) -> None:
        self._ending.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)

    def _serve(self) -> None:
        while not self._ending.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        script = self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]
        try:
            self.requests.append(_read_request(connection))
            for part in script:
                if isinstance(part, bytes):
                    connection.sendall(part)
                elif self._ending.wait(part):
                    return
        except OSError:
            return


@contextmanager
def serving(*scripts: Sequence[bytes | float]) -> Iterator[RawServer]:
    """Serve scripts: each a sequence of bytes to send and seconds to wait."""
    server = RawServer(scripts)
    try:
        yield server
    finally:
        server.close()


def answer(body: bytes, *, status: str = "200 OK", headers: str = "") -> list[bytes | float]:
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n{headers}\r\n"
    return [head.encode() + body]


def _read_request(connection: socket.socket) -> bytes:
    received = b""
    while b"\r\n\r\n" not in received:
        chunk = connection.recv(65536)
        if not chunk:
            return received
        received += chunk
    head, _, body = received.partition(b"\r\n\r\n")
    length = next(
        (
            int(line.split(b":")[1])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length:")
        ),
        0,
    )
    deadline = time.monotonic() + 5
    while len(body) < length and time.monotonic() < deadline:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body
