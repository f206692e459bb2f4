"""The wire between the real adapter and the run's provider: the adapter's one exchange, without a socket.

The SDK writes the request and reads the answer as in production; only the connection under it is replaced.
"""

import http.client
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from io import BytesIO
from typing import Any
from unittest.mock import patch
from urllib.parse import parse_qs, urlsplit

from refunds.gateways.codes import AdapterCode
from refunds.gateways.stripe import StripeGateway
from refunds.gateways.wire import Exchange, NoWholeAnswerError, OneExchange
from tests.torture.injector import Injector
from tests.torture.points import Fault, Kind
from tests.torture.provider.book import Provider
from tests.torture.provider.records import Answer

_OUTAGE = timedelta(hours=1)
_READ_ANSWERS = {
    Fault.SERVER_ERROR: Answer.error(500, "api_error"),
    Fault.NOT_FOUND: Answer.error(404, "invalid_request_error", "resource_missing"),
    Fault.RATE_LIMITED: Answer.error(429, "invalid_request_error", "rate_limit"),
    Fault.GARBLED: Answer(200, b"<html>something else</html>"),
}


class Wire:
    """One run's connection to its provider. The hooks let the run act while a call is under way."""

    def __init__(self, provider: Provider, injector: Injector) -> None:
        self.provider = provider
        self.injector = injector
        self.before_sending: Any = lambda _key, _body: None
        self.before_answering: Any = lambda: None
        self.waste_time: Any = lambda: None
        self.ordered: list[Fault] = []  # what the next submissions meet when no fault is planned

    def post(self, key: str, body: str) -> Answer | None:
        """Carry one submission."""
        planned = self.injector.cross(Kind.POST, "POST /v1/refunds")
        fault = planned
        if planned in {None, Fault.CRASH_AFTER} and self.ordered:
            fault = self.ordered.pop(0)  # a death after the call changes nothing about what the provider does
        if fault is Fault.NOT_CONNECTED:
            raise ConnectionRefusedError
        self.before_sending(key, body)
        answer = self.provider.submit(body, key, fault)
        self.before_answering()
        if planned is Fault.CRASH_AFTER:
            self.injector.die()
        if fault is Fault.TIMED_OUT:
            raise TimeoutError
        if fault is Fault.SLOW:
            self.waste_time()
        return answer

    def get(self, path: str, query: Mapping[str, list[str]]) -> Answer | None:
        """Carry one look-up."""
        what = "GET /v1/refunds" if path.endswith("/refunds") else "GET /v1/refunds/{id}"
        fault = self.injector.cross(Kind.GET, what)
        provider = self.provider
        if fault is Fault.UNREACHABLE:
            provider.unreachable_until = provider.now() + _OUTAGE
        if fault is Fault.NO_ANSWER or (
            provider.unreachable_until is not None and provider.now() < provider.unreachable_until
        ):
            return None
        if fault in _READ_ANSWERS:
            return _READ_ANSWERS[fault]
        if path.endswith("/refunds"):
            answer = provider.list(query["charge"][0])
        else:
            answer = provider.retrieve(path.rsplit("/", 1)[1])
        if fault is Fault.CRASH_AFTER:
            self.injector.die()
        return answer


class _Exchange(OneExchange):
    """The adapter's HTTP client, answered by the wire of the run that is under way."""

    wire: Wire

    def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None,
        post_data: str | None = None,
        *,
        _usage: list[str] | None = None,
    ) -> tuple[str, int, Mapping[str, str]]:
        self.exchange = Exchange(failure=AdapterCode.CONNECTION_LOST)
        answer = self._carry(method, url, headers or {}, post_data)
        if answer is None:
            self.exchange = Exchange(failure=AdapterCode.CONNECTION_LOST, cause="ConnectionResetError")
            raise NoWholeAnswerError
        self.exchange = Exchange(http_status=answer.status, headers=answer.headers, body=answer.body)
        return answer.body, answer.status, _message(answer.headers)

    def _carry(
        self, method: str, url: str, headers: Mapping[str, str], post_data: str | None
    ) -> Answer | None:
        parts = urlsplit(url)
        try:
            if method.lower() == "post":
                return self.wire.post(headers["Idempotency-Key"], post_data or "")
            return self.wire.get(parts.path, parse_qs(parts.query))
        except ConnectionRefusedError as error:
            self.exchange = Exchange(failure=AdapterCode.CONNECT_FAILED, cause=type(error).__name__)
            raise NoWholeAnswerError from error
        except TimeoutError as error:
            self.exchange = Exchange(failure=AdapterCode.ANSWER_TIMED_OUT, cause=type(error).__name__)
            raise NoWholeAnswerError from error


@cache
def gateway() -> StripeGateway:
    """Return the real adapter; it waits for nothing between its look-ups."""
    return StripeGateway(
        api_key="sk_test_torture",
        api_base="https://provider.invalid",
        connect_timeout_seconds=1,
        answer_timeout_seconds=1,
        sleep=lambda _seconds: None,
    )


@contextmanager
def carried_by(wire: Wire) -> Iterator[None]:
    """Let the adapter's exchanges go over ``wire``."""
    bound = type("BoundExchange", (_Exchange,), {"wire": wire})
    with patch("refunds.gateways.stripe.OneExchange", bound):
        yield


def _message(headers: Mapping[str, str]) -> Any:
    text = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return http.client.parse_headers(BytesIO(f"{text}\r\n".encode()))
