"""A TCP server that does to each connection what the test says, and counts them."""

import socket
import struct
import threading
from collections.abc import Callable
from typing import Self

Treatment = Callable[[socket.socket], None]


class RawServer:
    """``treat`` decides what happens to every connection that is accepted."""

    def __init__(self) -> None:
        self.connections = 0
        self.requests: list[bytes] = []
        self.ending = threading.Event()
        self.treat: Treatment = close_at_once
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept)

    def __enter__(self) -> Self:
        self._accepting.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.ending.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join(5)
        self._listener.close()
        for thread in self._threads:
            thread.join(5)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def answers(self, raw: bytes, *, then_wait: bool = False) -> None:
        """Read each request and send these bytes; with ``then_wait`` the connection stays open."""

        def treat(connection: socket.socket) -> None:
            self.read_request(connection)
            connection.sendall(raw)
            if then_wait:
                self.ending.wait(10)

        self.treat = treat

    def says_nothing(self) -> None:
        """Read each request and never answer."""
        self.answers(b"", then_wait=True)

    def resets_after_the_request(self) -> None:
        """Read each request, then reset the connection."""

        def treat(connection: socket.socket) -> None:
            self.read_request(connection)
            reset(connection)

        self.treat = treat

    def resets_at_the_first_byte(self) -> None:
        """Read one byte of each request, then reset the connection."""

        def treat(connection: socket.socket) -> None:
            connection.recv(1)
            reset(connection)

        self.treat = treat

    def trickles(self, raw: bytes, *, seconds_a_byte: float) -> None:
        """Read each request and answer it one byte at a time."""

        def treat(connection: socket.socket) -> None:
            self.read_request(connection)
            for number in range(len(raw)):
                if self.ending.wait(seconds_a_byte):
                    return
                connection.sendall(raw[number : number + 1])

        self.treat = treat

    def read_request(self, connection: socket.socket) -> None:
        """Read one request whole and keep its bytes."""
        data = b""
        while b"\r\n\r\n" not in data:
            data += _receive(connection)
        head, _, body = data.partition(b"\r\n\r\n")
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        while lengths and len(body) < int(lengths[0].partition(b":")[2]):
            body += _receive(connection)
        self.requests.append(head + b"\r\n\r\n" + body)

    def _accept(self) -> None:
        while True:
            try:
                connection, _address = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(10)
            try:
                self.treat(connection)
            except OSError:  # the client ended it, which is what some tests are about
                return


def close_at_once(_connection: socket.socket) -> None:
    """Accept and close without reading."""


def reset(connection: socket.socket) -> None:
    """Close with a reset instead of a goodbye."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def http_answer(status: int, body: bytes, **headers: str) -> bytes:
    """Return the bytes of an HTTP answer; underscores in header names become hyphens."""
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def _receive(connection: socket.socket) -> bytes:
    data = connection.recv(65536)
    if not data:
        raise ConnectionResetError("the client went away")
    return data
