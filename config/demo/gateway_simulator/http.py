"""The HTTP side: reads requests whole, routes them, and survives whatever arrives."""

import contextlib
import traceback
from urllib.parse import unquote

from config.demo.gateway_simulator.api import Api
from config.demo.gateway_simulator.background import Background
from config.demo.gateway_simulator.book import Book
from config.demo.gateway_simulator.control import Control
from config.demo.gateway_simulator.endpoints import Endpoint, Endpoints
from config.demo.gateway_simulator.events import Events
from config.demo.gateway_simulator.fault_kinds import FaultKind
from config.demo.gateway_simulator.faults import Faults
from config.demo.gateway_simulator.journal import Journal
from config.demo.gateway_simulator.messages import Answer, ApiError, ConnectionDroppedError, Request
from config.demo.gateway_simulator.outbox import Outbox
from config.demo.gateway_simulator.unread import peek
from config.demo.gateway_simulator.webhook_control import WebhookControl
from config.demo.simulator_http import (
    ClientLeftError,
    LoopbackServer,
    SimulatorHandler,
    UnreadableBodyError,
)

_DROPS = 20  # of a slow body


class SimulatorServer(LoopbackServer):
    """The provider: its API, its control side, and the thread that delivers its events."""

    def __init__(self, host: str, port: int, book: Book, *, endpoint: Endpoint | None = None) -> None:
        """Bind; raises ValueError for a host that others could reach, OSError for a busy port."""
        super().__init__(host, port, Handler)
        faults, journal, endpoints = Faults(), Journal(book), Endpoints(endpoint)
        outbox = Outbox(book=book, endpoints=endpoints)
        events = Events(book=book, outbox=outbox)
        self.faults = faults
        self.background = Background(book=book, endpoints=endpoints, outbox=outbox, events=events)
        self.api = Api(book=book, faults=faults, journal=journal, events=events)
        webhooks = WebhookControl(endpoints=endpoints, outbox=outbox)
        self.control = Control(book=book, faults=faults, journal=journal, events=events, webhooks=webhooks)


class Handler(SimulatorHandler):
    """Reads one request after another from a connection and answers each."""

    server_version = "gateway_simulator"
    server: SimulatorServer

    def handle_one_request(self) -> None:
        """Read and answer one request, or leave it unread if that is armed for it."""
        if self.server.faults.may_leave_unread and self._stays_unread():
            return
        super().handle_one_request()

    def _stays_unread(self) -> bool:
        head = peek(self.connection)
        if head is None or (head.method, head.path) != ("POST", "/v1/refunds"):
            return False
        fault = self.server.faults.take(
            on="create", idempotency_key=head.idempotency_key, only=FaultKind.NOT_READ
        )
        if fault is None:
            return False
        with contextlib.suppress(ConnectionDroppedError):
            self.server.faults.wait(fault.seconds, frozenset())
        self.close_unanswered()
        return True

    def _serve(self) -> None:
        try:
            request = self._request()
            side = self.server.control if request.path.startswith("/_sim/") else self.server.api
            answer = side.handle(request)
        except UnreadableBodyError as error:
            answer = ApiError(str(error)).answer
        except ConnectionDroppedError as dropped:
            self.reset_connection() if dropped.reset else self.close_unanswered()
            return
        except ClientLeftError:
            self.close_unanswered()
            return
        except Exception:  # noqa: BLE001 - one bad request must not look like an outage
            if self.server.ending.is_set():  # the book was closed under this request
                self.close_unanswered()
                return
            traceback.print_exc()
            answer = ApiError("The simulator has a bug.", status=500, error_type="api_error").answer
        self._send(answer)

    do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = _serve  # noqa: N815 - named by the standard library

    def _request(self) -> Request:
        body = self.read_body()
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
            self._send_body(answer)
        except OSError:  # the client did not wait
            self.close_unanswered()

    def _send_body(self, answer: Answer) -> None:
        """Send the body as the answer says: whole, cut off in the middle, or drop by drop."""
        if answer.cut:
            self.wfile.write(answer.body[: len(answer.body) // 2])
            self.close_unanswered()
            return
        if not answer.drip_seconds:
            self.wfile.write(answer.body)
            return
        size = max(1, len(answer.body) // _DROPS)
        pieces = [answer.body[at : at + size] for at in range(0, len(answer.body), size)]
        for piece in pieces:
            self.wfile.write(piece)
            self.wfile.flush()
            if self.server.ending.wait(answer.drip_seconds / len(pieces)):
                return
