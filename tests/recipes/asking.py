"""Fifty customers who ask over HTTP, each repeating the same request until it is accepted."""

import http.client
import json
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from config.demo.bench.orders import order_number
from config.demo.services import ports

PATH = "/api/v1/refund-requests"
CUSTOMERS_AT_ONCE = 8


class Asking:
    """Requests of customers, so many as ``let`` allows; every answer is kept with the phase it came in."""

    def __init__(self, *, port, tokens):
        self._port, self._tokens = port, tokens
        self._allowed = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self.phase = "calm"
        self.accepted: dict[int, str] = {}
        self.answers: list[tuple[str, int, dict[str, object]]] = []
        self._pool = ThreadPoolExecutor(CUSTOMERS_AT_ONCE)
        self._running = [self._pool.submit(self._ask, index) for index in range(len(tokens))]

    def let(self, count):
        """Allow so many more customers to begin."""
        self._allowed.release(count)

    def statuses(self, phase):
        """Return how often each status was answered in a phase."""
        with self._lock:
            return Counter(status for when, status, _ in self.answers if when == phase)

    def raise_failures(self):
        """Raise what ended a customer's thread, if anything did."""
        for one in self._running:
            if one.done():
                one.result()

    def end(self):
        """Let nobody go on."""
        self._ended.set()
        self.let(len(self._tokens))
        self._pool.shutdown()

    def _ask(self, index):
        self._allowed.acquire()
        while not self._ended.is_set():
            status, body = self._post(index)
            with self._lock:
                self.answers.append((self.phase, status, body))
                if status in {200, 201}:
                    self.accepted[index] = body["workflow_id"]
                    return
            time.sleep(0.2)

    def _post(self, index):
        connection = http.client.HTTPConnection(ports.HOST, self._port, timeout=120)
        order = order_number(index)
        body = json.dumps({"message": "I was charged twice.", "order_number": order})
        headers = {
            "Authorization": f"Token {self._tokens[index]}",
            "Content-Type": "application/json",
            "Idempotency-Key": f"order-{order}",
        }
        try:
            connection.request("POST", PATH, body=body, headers=headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()
