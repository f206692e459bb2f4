"""What the HTTP sides of the simulators have in common; standard library only, and nothing of the product."""

import os
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from typing import Any, ClassVar

MAX_BODY_BYTES = 1024 * 1024


class UnreadableBodyError(Exception):
    """A request whose body cannot be read; the connection must be closed after the answer."""


class ClientLeftError(Exception):
    """The client went away in the middle of its request."""


class LoopbackServer(ThreadingHTTPServer):
    """One thread for each connection, on this machine only. ``ending`` is set when the process stops."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, host: str, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        """Bind; raises ValueError for a host that others could reach, OSError for a busy port."""
        if not is_loopback(host):
            raise ValueError(f"the simulator serves this machine only, not {host!r}")
        if ":" in host:
            self.address_family = socket.AF_INET6
        self.ending = threading.Event()
        super().__init__((host, port), handler)

    def server_bind(self) -> None:
        """Bind without the name lookup of the standard server, which can take seconds."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report what a handler could not; a client that went away is not worth a line."""
        if not (self.ending.is_set() or isinstance(sys.exception(), OSError)):
            super().handle_error(request, client_address)

    @property
    def origin(self) -> str:
        """The address that clients use."""
        host = f"[{self.server_name}]" if ":" in self.server_name else self.server_name
        return f"http://{host}:{self.server_port}"


class SimulatorHandler(BaseHTTPRequestHandler):
    """Reads one request after another from a connection; a subclass answers them."""

    protocol_version = "HTTP/1.1"
    sys_version = ""
    timeout: ClassVar[float] = 60  # of a silent client; a request that is being answered is not cut off

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - named by the standard library
        """Print nothing; the request log is in the book."""

    def read_body(self) -> bytes:
        """Return the whole body; raises UnreadableBodyError, or ClientLeftError for one that stops short."""
        text = self.headers.get("Content-Length", "0")
        length = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1  # noqa: PLR2004
        if "Transfer-Encoding" in self.headers or not 0 <= length <= MAX_BODY_BYTES:
            self.close_connection = True
            raise UnreadableBodyError(f"Send a Content-Length of up to {MAX_BODY_BYTES} bytes.")
        body = self.rfile.read(length)
        if len(body) != length:
            raise ClientLeftError
        return body

    def close_unanswered(self) -> None:
        """Close the connection in the ordinary way."""
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    def reset_connection(self) -> None:
        """Close the connection as a crashed machine does: the client sees a reset."""
        self.close_connection = True
        linger_no_seconds = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_no_seconds)
        # The server would shut the socket down in an orderly way before it closes it.
        os.close(self.connection.detach())


def serve_until_stopped(server: LoopbackServer, *, name: str, close: Callable[[], None]) -> int:
    """Print that ``name`` is ready, serve until SIGTERM or SIGINT, close, and return the exit code."""
    for number in (signal.SIGTERM, signal.SIGINT):
        # serve_forever runs in this thread, and shutdown waits for it: another thread has to ask.
        signal.signal(number, lambda *_: threading.Thread(target=server.shutdown).start())
    print(f"{name} ready on {server.origin}", flush=True)
    server.serve_forever(poll_interval=0.1)
    server.ending.set()
    close()
    return os.EX_OK


def cannot_start(name: str, reason: str) -> int:
    """Print one sentence and return the exit code for it."""
    print(f"{name}: cannot start: {reason}", file=sys.stderr)
    return os.EX_UNAVAILABLE


def is_loopback(host: str) -> bool:
    """Whether only this machine can be meant; names other than localhost are not looked up."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
