"""The HTTP side: the API under /v1/, the control side under /_sim/, on this machine only."""

import json
import os
import traceback
from dataclasses import dataclass, field
from typing import Any

from config.demo.model_simulator.book import Book
from config.demo.model_simulator.completions import (
    RefusedRequestError,
    check_request,
    completion,
    error_body,
    model_list,
)
from config.demo.model_simulator.faults import FaultError, FaultKind, read_fault
from config.demo.model_simulator.questions import asked_for
from config.demo.simulator_http import (
    ClientLeftError,
    LoopbackServer,
    SimulatorHandler,
    UnreadableBodyError,
)

_LOGGED_HEADERS = ("user-agent", "content-type", "accept-encoding", "x-stainless-retry-count")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What is sent back; `seconds_per_byte` above 0 sends the body drop by drop."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    seconds_per_byte: float = 0.0


class ConnectionDroppedError(Exception):
    """The connection is to be closed without an answer, or reset."""

    def __init__(self, *, reset: bool = False) -> None:
        super().__init__()
        self.reset = reset


class SimulatorServer(LoopbackServer):
    """The model behind its API and its control side."""

    def __init__(self, port: int, *, book: Book, models: tuple[str, ...]) -> None:
        """Bind to the loopback address; raises OSError for a busy port."""
        self.book = book
        self.models = models
        super().__init__("127.0.0.1", port, Handler)


class Handler(SimulatorHandler):
    """Reads one request after another from a connection and answers each."""

    server_version = "model_simulator"
    server: SimulatorServer

    def _serve(self) -> None:
        try:
            answer = self._answer()
        except RefusedRequestError as error:
            answer = _json(error_body(str(error), status=error.status, code=error.code), status=error.status)
        except FaultError as error:
            answer = _json(error_body(str(error), status=400), status=400)
        except UnreadableBodyError as error:
            answer = _json(error_body(str(error), status=413), status=413)
        except ClientLeftError:
            self.close_unanswered()
            return
        except ConnectionDroppedError as dropped:
            self.reset_connection() if dropped.reset else self.close_unanswered()
            return
        except Exception:  # noqa: BLE001 - one bad request must not look like an outage
            if self.server.ending.is_set():  # the book was closed under this request
                self.close_unanswered()
                return
            traceback.print_exc()
            answer = _json(error_body("The simulator has a bug.", status=500), status=500)
        self._send(answer)

    do_GET = do_POST = do_DELETE = _serve  # noqa: N815 - named by the standard library

    def _answer(self) -> Answer:
        body = self.read_body()
        path = self.path.partition("?")[0]
        match self.command, path:
            case "POST", "/v1/chat/completions":
                return self._complete(body)
            case "GET", "/v1/models":
                return _json(model_list(self.server.models))
        if path.startswith("/_sim/"):
            return self._control(path.removeprefix("/_sim/"), body)
        raise RefusedRequestError("There is no such endpoint.", status=404)

    def _complete(self, body: bytes) -> Answer:
        """Log the request, take the next fault, and answer; the log is complete before the answer leaves."""
        book = self.server.book
        request = _parse(body)
        headers = {name: self.headers.get(name) for name in _LOGGED_HEADERS}
        # The key itself does not belong in a log, not even a test key.
        headers["authorization"] = "redacted" if "authorization" in self.headers else None
        number = book.log_arrival(
            {"method": self.command, "path": self.path, "headers": headers, "body": request}
        )
        kind, status = None, None
        try:
            check_request(request, models=self.server.models)
            fault = book.take_fault(asked_for(request))
            kind = fault["kind"] if fault is not None else None
            answer = self._answer_with(request, fault)
            status = answer.status
        except RefusedRequestError as error:
            status = error.status
            raise
        finally:
            book.log_answer(number, fault=kind, status=status)
        return answer

    def _answer_with(self, request: dict[str, Any], fault: dict[str, Any] | None) -> Answer:
        match fault:
            case {"kind": (FaultKind.DROP | FaultKind.RESET) as kind}:
                raise ConnectionDroppedError(reset=kind == FaultKind.RESET)
            case {"kind": FaultKind.SLOW, "seconds": seconds}:
                if self.server.ending.wait(seconds):
                    raise ConnectionDroppedError
            case {"kind": FaultKind.DRIP, "seconds": seconds}:
                body = _json(completion(request, None)).body
                return Answer(status=200, body=body, seconds_per_byte=seconds)
            case {"kind": FaultKind.HTTP_ERROR, "status": status}:
                return _json(error_body("The server had an error.", status=status), status=status)
            case {"kind": FaultKind.RATE_LIMIT, "retry_after": wait}:
                headers = {} if wait is None else {"Retry-After": str(wait)}
                text = error_body("Rate limit reached.", status=429, code="rate_limit_exceeded")
                return _json(text, status=429, headers=headers)
            case {"kind": FaultKind.NOT_JSON}:
                return Answer(status=200, body=b"<html>Bad gateway</html>", content_type="text/html")
        return _json(completion(request, fault))

    def _control(self, path: str, body: bytes) -> Answer:
        book = self.server.book
        match self.command, path:
            case "GET", "health":
                return _json({"status": "ok", "service": "model_simulator", "pid": os.getpid()})
            case "GET", "log":
                return _json({"requests": book.log()})
            case "GET", "faults":
                return _json({"armed": book.faults()})
            case "POST", "faults":
                # A browser page cannot send this content type to another origin unasked.
                if self.headers.get_content_type() != "application/json":
                    raise RefusedRequestError("Control requests are application/json.", status=415)
                fault, count = read_fault(_parse(body))
                book.arm(fault, remaining=count)
                return _json({"armed": book.faults()})
            case "DELETE", "faults":
                book.disarm()
                return _json({"armed": []})
            case "POST", "reset":
                book.wipe()
                return _json({"reset": True})
        raise RefusedRequestError("There is no such control endpoint.", status=404)

    def _send(self, answer: Answer) -> None:
        try:
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.content_type)
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
        if not answer.seconds_per_byte:
            self.wfile.write(answer.body)
            return
        for byte in answer.body:
            self.wfile.write(bytes((byte,)))
            if self.server.ending.wait(answer.seconds_per_byte):
                return


def _parse(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RefusedRequestError("The body is not JSON.") from error


def _json(value: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    return Answer(status=status, body=json.dumps(value).encode(), headers=headers or {})
