"""A webhook endpoint that keeps what it was sent, as raw bytes, and answers as a test scripts it."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Received:
    at: float
    body: bytes
    signature: str
    headers: dict[str, str]

    @property
    def event(self) -> dict[str, Any]:
        return dict(json.loads(self.body))


@dataclass
class WebhookReceiver:
    """``answers`` are the statuses of the next deliveries, then 200; ``on_event`` runs before each answer."""

    url: str
    received: list[Received] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    on_event: Callable[[Received], None] | None = None

    @property
    def types(self) -> list[str]:
        return [one.event["type"] for one in self.received]

    def wait_for(self, count: int, *, seconds: float = 10.0) -> list[Received]:
        """Return what came once there are so many."""
        deadline = time.monotonic() + seconds
        while len(self.received) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(self.received)} of {count} deliveries came: {self.types}")
            time.sleep(0.01)
        return list(self.received)


@contextmanager
def webhook_receiver() -> Iterator[WebhookReceiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            one = Received(time.time(), body, headers.get("stripe-signature", ""), headers)
            receiver.received.append(one)
            if receiver.on_event is not None:
                receiver.on_event(one)
            status = receiver.answers.pop(0) if receiver.answers else 200
            self.send_response(status)
            if status == 302:
                self.send_header("Location", receiver.url)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver = WebhookReceiver(f"http://127.0.0.1:{server.server_port}/webhooks/stripe")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()
