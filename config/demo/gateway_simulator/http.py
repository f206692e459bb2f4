"""The HTTP side: reads requests whole, routes them, and survives whatever arrives."""

import socket
import sys
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from typing import Any
from urllib.parse import unquote

from config.demo.gateway_simulator.api import Api
from config.demo.gateway_simulator.book import Book
from config.demo.gateway_simulator.control import Control
from config.demo.gateway_simulator.faults import Faults
from config.demo.gateway_simulator.journal import Journal
from config.demo.gateway_simulator.messages import Answer, ApiError, ConnectionDroppedError, Request

_MAX_BODY_BYTES = 1024 * 1024


class BadRequestError(Exception):
    """A request that cannot be read; the connection is closed after the answer."""


class SimulatorServer(ThreadingHTTPServer):
    """One thread for each connection, on this machine only."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, host: str, port: int, book: Book) -> None:
        """Bind; raises ValueError for a host that others could reach, OSError for a busy port."""
        if host != "localhost" and not _is_loopback(host):
            raise ValueError(f"the simulator serves this machine only, not {host!r}")
        if ":" in host:
            self.address_family = socket.AF_INET6
        faults, journal = Faults(), Journal(book)
        self.ending = threading.Event()
        self.faults = faults
        self.api = Api(book=book, faults=faults, journal=journal)
        self.control = Control(book=book, faults=faults, journal=journal)
        super().__init__((host, port), Handler)

    def server_bind(self) -> None:
        """Bind without the name lookup of the standard server, which can take seconds."""
        socket.socket.setsockopt(self.socket, socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report what a handler could not; a client that went away is not worth a line."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """Reads one request after another from a connection and answers each."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "gateway_simulator", ""
    timeout = 60  # of a silent client; a request that is being answered is not cut off
    server: SimulatorServer

    def _serve(self) -> None:
        try:
            request = self._request()
            if request is None:
                self._close()
                return
            side = self.server.control if request.path.startswith("/_sim/") else self.server.api
            answer = side.handle(request)
        except BadRequestError as error:
            self.close_connection = True
            answer = ApiError(str(error)).answer
        except ConnectionDroppedError:
            self._close()
            return
        except Exception:  # noqa: BLE001 - one bad request must not look like an outage
            if self.server.ending.is_set():  # the book was closed under this request
                self._close()
                return
            traceback.print_exc()
            answer = ApiError("The simulator has a bug.", status=500, error_type="api_error").answer
        self._send(answer)

    do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = _serve  # noqa: N815 - named by the standard library

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - named by the standard library
        """Print nothing; the request log is in the book."""

    def _request(self) -> Request | None:
        """Read the whole request; None if the client went away in the middle of it."""
        if "Transfer-Encoding" in self.headers:
            raise BadRequestError("Send a Content-Length.")
        text = self.headers.get("Content-Length", "0")
        if not (text.isascii() and text.isdigit()) or len(text) > 10 or int(text) > _MAX_BODY_BYTES:  # noqa: PLR2004
            raise BadRequestError(f"Bodies can have up to {_MAX_BODY_BYTES} bytes.")
        body = self.rfile.read(int(text))
        if len(body) != int(text):
            return None
        path, _, query = self.path.partition("?")
        headers = {name.lower(): value for name, value in self.headers.items()}
        return Request(self.command, unquote(path), query, headers, body)

    def _send(self, answer: Answer) -> None:
        try:
            self.send_response(answer.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer.body)))
            for name, value in answer.headers.items():
                self.send_header(name, value)
            if self.close_connection:
                self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(answer.body)
        except OSError:  # the client did not wait
            self._close()

    def _close(self) -> None:
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
