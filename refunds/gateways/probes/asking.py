"""Makes the requests of probes: one bounded exchange on a connection of its own for each, never in a transaction."""

import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from http import HTTPStatus
from typing import Final
from urllib.parse import urlencode

from ledger.retries import GATEWAY_LOOKUP, run_attempts
from ledger.transaction_guard import refuse_open_transaction
from refunds.gateways.contract import STRIPE_V1, AmountNotRepresentableError
from refunds.gateways.probes.records import Ask, Finding, Outcome, Probe, Situation, object_of
from refunds.gateways.wire import Exchange, NoWholeAnswerError, OneExchange, refuse_clear_text, trusted_tls

_TEST_KEYS: Final = ("sk_test_", "rk_test_")  # docs.stripe.com/keys
_SMALLEST: Final = (1, 10, 100)  # ISO minor units: one of them can be written in every settled currency


def is_test_key(api_key: str) -> bool:
    """Whether a key can only ever move play money; every other one counts as live."""
    return api_key.startswith(_TEST_KEYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Asks one provider; ``reads_only`` refuses to make any other request than GET."""

    base_url: str
    api_key: str = field(repr=False)
    connect_timeout_seconds: float
    answer_timeout_seconds: float
    reads_only: bool

    def __post_init__(self) -> None:
        """Raise ValueError for a key that would travel in clear text or in no header."""
        refuse_clear_text(self.base_url)
        if not (
            self.api_key.isascii() and self.api_key.isprintable() and self.api_key.strip() == self.api_key
        ):
            raise ValueError("the API key has characters that no key has")

    def run(self, probe: Probe, situation: Situation) -> Finding:
        """Run one probe; whatever gets no whole answer is open."""
        if probe.needs_charge and situation.charge is None:
            return Finding(Outcome.OPEN, "needs a charge: --charge")
        if probe.writes and self.reads_only:
            return Finding(Outcome.OPEN, "not asked: only reads are made")
        steps = probe.run(situation)
        try:
            ask = next(steps)
            while True:
                exchange = self.ask(ask)
                if exchange.failure is not None:
                    return Finding(Outcome.OPEN, f"no answer: {exchange.failure} {exchange.cause}")
                ask = steps.send(exchange)
        except StopIteration as end:
            finding: Finding = end.value
            return finding

    def ask(self, ask: Ask) -> Exchange:
        """Make one request; a read that got no answer is tried again, a write never."""
        if ask.method != "GET":
            if self.reads_only:
                raise RuntimeError("a probe that only reads tried to write")
            return self._exchange(ask)
        return run_attempts(GATEWAY_LOOKUP, partial(self._exchange, ask), is_passing=_is_passing).answer

    def situation(self, charge: str | None) -> tuple[Situation, str]:
        """Return what probes may use, and why there is no usable charge, if one was named in vain."""
        nothing = Situation(charge=None, amount=1, new_key=_new_key)
        if charge is None:
            return nothing, ""
        exchange = self.ask(Ask(method="GET", path=f"/v1/charges/{charge}"))
        found = object_of(exchange)
        currency = found.get("currency")
        if found.get("object") != "charge" or not isinstance(currency, str):
            return nothing, f"{charge} cannot be read: {exchange.http_status or exchange.failure}"
        amount = _smallest(currency.upper())
        if amount is None:
            return nothing, f"{charge} is in {currency.upper()}, which the contract does not take"
        return Situation(charge=charge, amount=amount, new_key=_new_key), ""

    def _exchange(self, ask: Ask) -> Exchange:
        refuse_open_transaction()
        once = OneExchange(
            connect_timeout_seconds=self.connect_timeout_seconds,
            answer_timeout_seconds=self.answer_timeout_seconds,
            tls=_tls(),
        )
        query = f"?{urlencode(ask.form)}" if ask.method == "GET" and ask.form else ""
        body = urlencode(ask.form) if ask.method != "GET" else None
        url = f"{self.base_url.rstrip('/')}{ask.path}{query}"
        with suppress(NoWholeAnswerError):
            once.request(ask.method, url, self._headers(ask), body)
        if once.exchange is None:
            raise RuntimeError("no request was made")
        return once.exchange

    def _headers(self, ask: Ask) -> Mapping[str, str]:
        headers = {
            "Authorization": f"Bearer {ask.api_key or self.api_key}",
            "Stripe-Version": STRIPE_V1.api_version,
        }
        if ask.method != "GET":
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        if ask.idempotency_key is not None:
            headers["Idempotency-Key"] = ask.idempotency_key
        return headers


_tls = cache(trusted_tls)  # it takes longer to make than a request


def _new_key() -> str:
    return f"gateway-check:{secrets.token_hex(16)}"


def _smallest(currency: str) -> int | None:
    for minor_units in _SMALLEST:
        try:
            return STRIPE_V1.provider_amount(amount_minor_units=minor_units, currency=currency)
        except AmountNotRepresentableError:
            continue
    return None


def _is_passing(exchange: Exchange) -> bool:
    status = exchange.http_status
    return (
        status is None or status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    )
