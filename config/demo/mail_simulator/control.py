"""The control side under /_sim/: faults, the door, the mailbox. JSON in and out, this machine only."""

import json
import os
import traceback
from typing import Any

from config.demo.mail_simulator.faults import FaultError, Faults
from config.demo.mail_simulator.mailbox import Mailbox
from config.demo.mail_simulator.smtp import Clerk, MailServer
from config.demo.simulator_http import (
    ClientLeftError,
    LoopbackServer,
    SimulatorHandler,
    UnreadableBodyError,
)


class RefusedError(Exception):
    """A control request that makes no sense; ``status`` is the HTTP status of the answer."""

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class ControlServer(LoopbackServer):
    """The HTTP server with everything that it controls."""

    def __init__(
        self, port: int, *, faults: Faults, mailbox: Mailbox, clerk: Clerk, mail_server: MailServer
    ) -> None:
        """Bind; raises OSError for a busy port."""
        super().__init__("127.0.0.1", port, Handler)
        self.faults = faults
        self.mailbox = mailbox
        self.clerk = clerk
        self.mail_server = mail_server

    def answer(self, method: str, path: str, value: Any) -> Any:
        """Return the JSON of the answer; raises RefusedError or FaultError."""
        match method, path:
            case "GET", "/_sim/health":
                return {"status": "ok", "service": "mail_simulator", "pid": os.getpid()}
            case "GET", "/_sim/messages":
                return {"messages": self.mailbox.messages()}
            case "GET", "/_sim/log":
                return {"stages": list(self.clerk.log)}
            case "POST", "/_sim/reset":
                self.faults.clear()
                self.mail_server.open()
                self.mailbox.empty()
                self.clerk.log.clear()
                return {"reset": True}
        return self._trouble(method, path, value)

    def _trouble(self, method: str, path: str, value: Any) -> Any:
        match method, path:
            case "GET", "/_sim/faults":
                pass
            case "POST", "/_sim/faults":
                self.faults.arm(value)
            case "DELETE", "/_sim/faults":
                self.faults.clear()
                self.mail_server.open()
            case "POST", "/_sim/door":
                if not isinstance(value, dict) or not isinstance(value.get("open"), bool):
                    raise RefusedError("say whether the door is to be open: true or false")
                self.mail_server.open() if value["open"] else self.mail_server.shut()
            case _:
                raise RefusedError("There is no such control endpoint.", status=404)
        return {"armed": self.faults.as_json(), "open": self.mail_server.is_open}


class Handler(SimulatorHandler):
    """Reads one control request after another from a connection and answers each."""

    server_version = "mail_simulator"
    server: ControlServer

    def _serve(self) -> None:
        status = 200
        try:
            answer = self.server.answer(self.command, self.path.partition("?")[0], self._value())
        except (RefusedError, FaultError, UnreadableBodyError) as error:
            status, answer = getattr(error, "status", 400), {"error": {"message": str(error)}}
        except ClientLeftError:
            self.close_unanswered()
            return
        except Exception:  # noqa: BLE001 - one bad request must not look like an outage
            traceback.print_exc()
            status, answer = 500, {"error": {"message": "The simulator has a bug."}}
        self._send(status, json.dumps(answer).encode())

    do_GET = do_POST = do_DELETE = _serve  # noqa: N815 - named by the standard library

    def _value(self) -> Any:
        body = self.read_body()
        if not body:
            return None
        # A browser page cannot send this content type to another origin unasked.
        if self.headers.get_content_type() != "application/json":
            raise RefusedError("Control requests are application/json.", status=415)
        try:
            value = json.loads(body)
            json.dumps(value, ensure_ascii=False).encode()  # half characters are no text
        except (ValueError, RecursionError) as error:
            raise RefusedError("The request body is not JSON.") from error
        return value

    def _send(self, status: int, body: bytes) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            if self.close_connection:
                self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(body)
        except OSError:  # the client did not wait
            self.close_unanswered()
