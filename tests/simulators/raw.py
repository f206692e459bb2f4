"""Raw HTTP to the simulator, as any client in any language would speak it."""

import http.client
import json
from collections.abc import Callable
from dataclasses import dataclass
from threading import Thread
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.support.gateway_simulator import GatewaySimulator


@dataclass(frozen=True)
class Raw:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, str]:
        error = self.json["error"]
        assert isinstance(error, dict)
        return error


def call(
    simulator: GatewaySimulator,
    method: str,
    path: str,
    form: dict[str, Any] | None = None,
    *,
    key: str | None = None,
    account: str | None = None,
    version: str | None = None,
    authorization: str | None = "Bearer sk_test_any",
) -> Raw:
    headers = {
        "Authorization": authorization,
        "Idempotency-Key": key,
        "Stripe-Account": account,
        "Stripe-Version": version,
    }
    connection = http.client.HTTPConnection("127.0.0.1", simulator.port, timeout=10)
    try:
        connection.request(
            method,
            path,
            body=None if form is None else urlencode(form),
            headers={name: value for name, value in headers.items() if value is not None},
        )
        response = connection.getresponse()
        named = {name.lower(): value for name, value in response.getheaders()}
        return Raw(response.status, named, response.read())
    finally:
        connection.close()


def refund(simulator: GatewaySimulator, key: str | None = None, **form: Any) -> Raw:
    """Ask for a refund of ch_1."""
    return call(simulator, "POST", "/v1/refunds", {"charge": "ch_1"} | form, key=key)


def amounts(simulator: GatewaySimulator, charge: str = "ch_1") -> list[int]:
    """Return what is booked on a charge."""
    return [refund["amount"] for refund in simulator.refunds(charge)]


def in_parallel(targets: list[Callable[[], None]]) -> None:
    threads = [Thread(target=target) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)


def loses_its_answer(simulator: GatewaySimulator, key: str | None = None, **form: Any) -> Thread:
    """Start a request in a thread that must end without an answer."""

    def submit() -> None:
        with pytest.raises(OSError):
            refund(simulator, key, **form)

    thread = Thread(target=submit)
    thread.start()
    return thread
