"""A Stripe-compatible provider, spoken to in raw HTTP: the simulator, or whatever CONFORMANCE_BASE_URL names."""

import http.client
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from tests.simulators.raw import Raw
from tests.support.gateway_simulator import GatewaySimulator

API_VERSION = "2026-10-28.endive"
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class Payment:
    """A captured charge, or an authorisation."""

    charge: str
    intent: str


@dataclass
class Provider:
    """``simulator`` is None where only the API can be used; tests that need its control side then skip."""

    base_url: str
    api_key: str
    simulator: GatewaySimulator | None

    @property
    def control(self) -> GatewaySimulator:
        """The control side; skips the test where there is none."""
        if self.simulator is None:
            pytest.skip("needs a control side: time, faults or settings that the API itself cannot make")
        return self.simulator

    def call(
        self,
        method: str,
        path: str,
        form: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
        version: str | None = API_VERSION,
    ) -> Raw:
        """Make one request on a connection of its own; a form is the body of a POST and the query of a GET."""
        parts = urlsplit(self.base_url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=80)
        given = {
            "Authorization": f"Bearer {self.api_key}",
            "Content-Type": "application/x-www-form-urlencoded" if method == "POST" else None,
            "Idempotency-Key": key,
            "Stripe-Version": version,
        }
        encoded = urlencode(form) if form else ""
        target = parts.path.rstrip("/") + path + (f"?{encoded}" if encoded and method == "GET" else "")
        try:
            headers = {name: value for name, value in given.items() if value is not None}
            connection.request(method, target, encoded if method == "POST" else None, headers)
            response = connection.getresponse()
            named = {name.lower(): value for name, value in response.getheaders()}
            return Raw(response.status, named, response.read())
        finally:
            connection.close()

    def pay(self, amount: int = 5000, currency: str = "usd", **more: Any) -> Payment:
        """Pay with a test card; ``more``: payment_method, capture_method."""
        form = {
            "amount": amount,
            "currency": currency,
            "confirm": "true",
            "payment_method": "pm_card_visa",
            "payment_method_types[]": "card",
            **more,
        }
        answer = self.call("POST", "/v1/payment_intents", form)
        assert answer.status == 200, answer.body
        charge = answer.json["latest_charge"]
        # The field may hold the expanded object (docs.stripe.com/api/expanding_objects).
        return Payment(charge["id"] if isinstance(charge, dict) else charge, answer.json["id"])

    def refund(self, payment: Payment, key: str | None = None, **form: Any) -> Raw:
        """Ask for a refund of a payment by its charge."""
        return self.call("POST", "/v1/refunds", {"charge": payment.charge} | form, key=key)

    def refunds(self, payment: Payment) -> list[dict[str, Any]]:
        """Return the refunds of a payment, newest first, as the strong list shows them."""
        answer = self.call("GET", "/v1/refunds", {"charge": payment.charge, "limit": 100})
        assert answer.status == 200, answer.body
        return list(answer.json["data"])

    def amounts(self, payment: Payment) -> list[int]:
        """Return the amounts of a payment's refunds, oldest first."""
        return [one["amount"] for one in reversed(self.refunds(payment))]

    def status_of(self, refund: str) -> dict[str, Any]:
        """Return a refund as it is now."""
        return dict(self.call("GET", f"/v1/refunds/{refund}").json)

    def events_about(self, refund: str, event_type: str) -> list[dict[str, Any]]:
        """Return the events of one type about a refund, newest first."""
        answer = self.call("GET", "/v1/events", {"type": event_type, "limit": 100})
        return [one for one in answer.json["data"] if one["data"]["object"]["id"] == refund]

    def wait_for(self, look: Callable[[], Any], *, seconds: float = PATIENCE_SECONDS) -> Any:
        """Return what ``look`` finds once it finds something: refunds move by themselves, events come later."""
        deadline = time.monotonic() + seconds
        while not (found := look()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"nothing came of it within {seconds:.0f} s")
            time.sleep(0.05 if self.simulator else 1.0)
        return found
