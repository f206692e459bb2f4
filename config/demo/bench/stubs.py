"""The payment provider and the model at zero latency, in one process: ``stubs.py GATEWAY_PORT MODEL_PORT``.

The simulators of the demo write every request to disk, on the disk whose time is being measured. These keep what
they must in memory and answer in the same form. One idempotency key is one refund here as well, and
``GET /stats`` says how many there were, so that a bench that paid twice is found out.
"""

import asyncio
import inspect
import json
import sys
import time
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qsl

from config.demo.model_simulator.completions import completion
from config.demo.services import ports

CURRENCY: Final = "usd"
Answer = tuple[int, dict[str, Any]]
Handler = Callable[[str, dict[str, str], bytes], Answer | Awaitable[Answer]]


class GatewayStub:
    """Refunds by idempotency key."""

    def __init__(self) -> None:
        self.kept: dict[str, tuple[bytes, Answer]] = {}
        self.keys_of: dict[str, set[str]] = {}
        self.calls = 0

    def handle(self, path: str, headers: dict[str, str], body: bytes) -> Answer:
        """Answer a submission; the same key and body get the first answer again, another body is refused."""
        if path == "/stats":
            several = sum(len(keys) > 1 for keys in self.keys_of.values())
            counts = {"calls": self.calls, "refunds": len(self.kept), "charges_with_several_keys": several}
            return HTTPStatus.OK, counts
        if path != "/v1/refunds":
            return HTTPStatus.NOT_FOUND, {"error": {"type": "invalid_request_error"}}
        self.calls += 1
        key = headers.get("idempotency-key", "")
        if key not in self.kept:
            self.kept[key] = (body, self._book(key, dict(parse_qsl(body.decode()))))
        first_body, answer = self.kept[key]
        if first_body != body:
            return HTTPStatus.BAD_REQUEST, {"error": {"type": "idempotency_error"}}
        return answer

    def _book(self, key: str, form: dict[str, str]) -> Answer:
        target = form.get("charge") or form.get("payment_intent", "")
        self.keys_of.setdefault(target, set()).add(key)
        number = len(self.kept) + 1
        pairs = {name[9:-1]: value for name, value in form.items() if name.startswith("metadata[")}
        refund = {
            "id": f"re_bench_{number}",
            "object": "refund",
            "amount": int(form["amount"]),
            "balance_transaction": f"txn_bench_{number}",
            "charge": form.get("charge"),
            "created": int(time.time()),
            "currency": CURRENCY,
            "metadata": pairs,
            "payment_intent": form.get("payment_intent"),
            "reason": form.get("reason"),
            "status": "succeeded",
        }
        return HTTPStatus.OK, refund


def answer_question(path: str, _headers: dict[str, str], body: bytes) -> Answer:
    """Answer a chat completion as the demo's model does."""
    if not path.endswith("/chat/completions"):
        return HTTPStatus.NOT_FOUND, {"error": {"message": "There is no such endpoint."}}
    return HTTPStatus.OK, completion(json.loads(body), None)


def serving(handler: Handler) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    """Return a connection's loop: HTTP/1.1 with Content-Length, one request after another."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                pairs = (line.partition(":") for line in head[1:] if line)
                headers = {name.lower(): value.strip() for name, _, value in pairs}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                answered = handler(head[0].split(" ")[1], headers, body)
                status, answer = await answered if inspect.isawaitable(answered) else answered
                content = json.dumps(answer).encode()
                writer.write(
                    b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
                    % (status, len(content), content)
                )
                await writer.drain()
                if headers.get("connection", "").lower() == "close":
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    return serve


async def main(gateway_port: int, model_port: int) -> None:
    """Serve both until the process is stopped."""
    gateway = GatewayStub()
    await asyncio.start_server(serving(gateway.handle), ports.HOST, gateway_port, backlog=1024)
    await asyncio.start_server(serving(answer_question), ports.HOST, model_port, backlog=1024)
    print("stubs ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
