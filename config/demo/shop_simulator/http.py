"""The HTTP side: ``GET /orders`` for clients with the token, the control side under /_sim/."""

import json
import traceback
from typing import Any
from urllib.parse import parse_qs

from config.demo.shop_simulator.answers import Answer, error_answer, order_answer
from config.demo.shop_simulator.book import Book
from config.demo.shop_simulator.clock import Clock
from config.demo.shop_simulator.control import Control, RequestLog
from config.demo.shop_simulator.faults import Fault, FaultKind, Faults
from config.demo.simulator_http import ClientLeftError, LoopbackServer, SimulatorHandler, UnreadableBodyError

_CONTROL = "/_sim/"


class UnansweredError(Exception):
    """The request gets no answer; the connection is closed, or reset."""

    def __init__(self, *, reset: bool) -> None:
        super().__init__()
        self.reset = reset


class ShopServer(LoopbackServer):
    """The shop on a loopback address."""

    def __init__(self, port: int, *, book: Book, token: str) -> None:
        """Bind; raises OSError for a busy port."""
        self.book, self.faults, self.clock, self.log = book, Faults(), Clock(), RequestLog()
        self.control = Control(book=book, faults=self.faults, clock=self.clock, log=self.log)
        self.authorization = f"Bearer {token}"
        super().__init__("127.0.0.1", port, ShopHandler)


class ShopHandler(SimulatorHandler):
    """Reads one request after another from a connection and answers each."""

    server_version = "shop_simulator"
    server: ShopServer

    def _serve(self) -> None:
        try:
            answer = self._answer(self.read_body())
        except UnreadableBodyError as error:
            answer = error_answer(str(error), status=413)
        except ClientLeftError:
            self.close_unanswered()
            return
        except UnansweredError as error:
            if error.reset:
                self.reset_connection()
            else:
                self.close_unanswered()
            return
        except Exception:  # noqa: BLE001 - one bad request must not look like an outage
            traceback.print_exc()
            answer = error_answer("The simulator has a bug.", status=500)
        self._send(answer)

    do_GET = do_POST = do_DELETE = _serve  # noqa: N815 - named by the standard library

    def _answer(self, body: bytes) -> Answer:
        path, _, query = self.path.partition("?")
        if path.startswith(_CONTROL):
            return self._control(path.removeprefix(_CONTROL), body)
        if (self.command, path) != ("GET", "/orders"):
            return error_answer("There is no such endpoint.", status=404)
        asked = parse_qs(query)
        return self._order(merchant=asked.get("merchant", [""])[0], number=asked.get("number", [""])[0])

    def _control(self, path: str, body: bytes) -> Answer:
        # A browser page cannot send this content type to another origin unasked.
        if body and self.headers.get_content_type() != "application/json":
            return error_answer("Control requests are application/json.", status=415)
        try:
            value: Any = json.loads(body or b"null")
        except (ValueError, RecursionError):
            return error_answer("The body is not JSON.", status=400)
        return self.server.control.handle(self.command, path, value)

    def _order(self, *, merchant: str, number: str) -> Answer:
        """Log the request, take the next fault, and answer; the entry is complete before the answer leaves."""
        shop = self.server
        entry = shop.log.arrive({"merchant": merchant, "order": number, "fault": None, "status": None})
        # The token itself does not belong in a log, not even this one.
        entry["authorized"] = self.headers.get("Authorization", "") == shop.authorization
        fault = shop.faults.take(number)
        entry["fault"] = fault.kind.value if fault else None
        if not entry["authorized"]:
            answer = error_answer("Show a valid token.", status=401)
        else:
            answer = self._with_fault(merchant, number, fault)
        entry["status"] = answer.status
        return answer

    def _with_fault(self, merchant: str, number: str, fault: Fault | None) -> Answer:
        shop = self.server
        if fault is not None and fault.kind is FaultKind.REFUSED:
            raise UnansweredError(reset=True)
        if fault is not None and fault.kind is FaultKind.SLOW and shop.ending.wait(fault.seconds):
            raise UnansweredError(reset=False)
        orders = shop.book.read(merchant, number)
        if not orders and (fault is None or fault.kind not in {FaultKind.STATUS, FaultKind.REDIRECT}):
            return error_answer("There is no such order.", status=404)
        stated = shop.clock.stated or (fault is not None and fault.kind in {FaultKind.STALE, FaultKind.AHEAD})
        return order_answer(orders, fault, taken_at=shop.clock.now() if stated else None)

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
        if answer.cut:
            self.wfile.write(answer.body[: len(answer.body) // 2])
            self.close_unanswered()
        elif not answer.seconds_per_byte:
            self.wfile.write(answer.body)
        else:
            self._send_drops(answer)

    def _send_drops(self, answer: Answer) -> None:
        for byte in answer.body:
            self.wfile.write(bytes((byte,)))
            if self.server.ending.wait(answer.seconds_per_byte):
                return
