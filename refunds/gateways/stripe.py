"""The Stripe adapter: the official SDK, one request per attempt, no retries of a write."""

import ssl
import time
from collections.abc import Callable
from functools import partial
from http import HTTPStatus

import stripe

from ledger.retries import GATEWAY_LOOKUP, run_attempts
from ledger.transaction_guard import refuse_open_transaction
from refunds.gateways.codes import AdapterCode
from refunds.gateways.contract import STRIPE_V1, ProviderContract
from refunds.gateways.port import (
    LIST,
    RETRIEVE,
    AnswerClass,
    GatewayAnswer,
    LookupAnswer,
    RefundCommand,
    RefundFact,
)
from refunds.gateways.stripe_answers import read_submission
from refunds.gateways.stripe_commands import (
    body_sha256,
    create_parameters,
    is_account,
    list_parameters,
    payment_parameter,
    refusal_before_sending,
)
from refunds.gateways.stripe_objects import read_json_object, read_page, read_refund, word
from refunds.gateways.wire import Exchange, OneExchange, refuse_clear_text

# The SDK's telemetry writes an id file into the home directory and sends timings of earlier requests.
stripe.enable_telemetry = False


class StripeGateway:
    """Refunds through Stripe's v1 API. Safe to share between threads; it keeps no connection.

    ``answer_timeout_seconds`` bounds the whole answer, from the first byte sent to the last one received.
    """

    provider = "stripe"

    def __init__(
        self,
        *,
        api_key: str,
        api_base: str,
        connect_timeout_seconds: float,
        answer_timeout_seconds: float,
        contract: ProviderContract = STRIPE_V1,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Raise ValueError for a key that no header can carry, or one that would travel in clear text."""
        refuse_clear_text(api_base)
        if not (api_key.isascii() and api_key.isprintable() and api_key and " " not in api_key):
            raise ValueError("the gateway's API key is empty or has characters that no key has")
        self.contract = contract
        self.api_version = contract.api_version
        self._api_key = api_key
        self._api_base = api_base.rstrip("/")
        self._connect_timeout_seconds = connect_timeout_seconds
        self._answer_timeout_seconds = answer_timeout_seconds
        self._sleep = sleep
        self._tls = ssl.create_default_context(cafile=stripe.ca_bundle_path)

    def submit_refund(self, command: RefundCommand) -> GatewayAnswer:
        """Send the command in one request; a command that has no exact form at Stripe is REFUSED unsent."""
        refuse_open_transaction()
        refusal = refusal_before_sending(command, self.contract)
        if refusal is not None:
            return _refused_unsent(refusal)
        parameters = create_parameters(command, self.contract)
        exchange = self._run(
            lambda client: client.v1.refunds.create(
                parameters,
                {"idempotency_key": command.idempotency_key, "stripe_account": command.account or None},
            )
        )
        return read_submission(exchange, command=command, contract=self.contract)

    def list_refunds(self, *, payment_reference: str, account: str) -> LookupAnswer:
        """Read every page of the payment's refunds (docs.stripe.com/api/refunds/list)."""
        refuse_open_transaction()
        if payment_parameter(payment_reference) is None:
            return _lookup(LIST, code=AdapterCode.PAYMENT_REFERENCE_UNSUPPORTED)
        if not is_account(account):
            return _lookup(LIST, code=AdapterCode.ACCOUNT_UNSUPPORTED)
        found: list[RefundFact] = []
        cursor: str | None = None
        attempts, understood = 0, True
        for _page in range(self.contract.read_budget):
            parameters = list_parameters(payment_reference, cursor)
            exchange, made = self._read(partial(_list_call, parameters=parameters, account=account))
            attempts += made
            body = read_json_object(exchange.body) if exchange.http_status == HTTPStatus.OK else None
            page = read_page(body, contract=self.contract, payment_reference=payment_reference)
            if page is None:
                return _lookup(LIST, exchange, found=found, attempts=attempts)
            found += page.refunds
            understood &= page.understood
            if not page.has_more:
                code = None if understood else AdapterCode.LIST_NOT_CONCLUSIVE
                return _lookup(LIST, exchange, found=found, attempts=attempts, complete=understood, code=code)
            if page.last_reference in (None, cursor):
                break
            cursor = page.last_reference
        return _lookup(LIST, exchange, found=found, attempts=attempts, code=AdapterCode.LIST_NOT_CONCLUSIVE)

    def retrieve_refund(self, *, processor_reference: str, account: str) -> LookupAnswer:
        """Read one refund. A 404 is not complete: another account or mode answers the same."""
        refuse_open_transaction()
        if not is_account(account):
            return _lookup(RETRIEVE, code=AdapterCode.ACCOUNT_UNSUPPORTED)
        exchange, attempts = self._read(
            lambda client: client.v1.refunds.retrieve(
                processor_reference, options={"stripe_account": account or None}
            )
        )
        body = read_json_object(exchange.body) if exchange.http_status == HTTPStatus.OK else None
        fact = read_refund(body, contract=self.contract)
        found = [fact] if fact is not None and fact.processor_reference == processor_reference else []
        return _lookup(RETRIEVE, exchange, found=found, attempts=attempts, complete=bool(found))

    def request_body_sha256(self, command: RefundCommand) -> str:
        """Return the digest of the form body, or of no bytes for a command that is never sent."""
        return body_sha256(command, self.contract)

    def _run(self, call: Callable[[stripe.StripeClient], object]) -> Exchange:
        """Run one SDK call and return how its request ended; for a body it cannot parse the SDK forgets."""
        once = OneExchange(
            connect_timeout_seconds=self._connect_timeout_seconds,
            answer_timeout_seconds=self._answer_timeout_seconds,
            tls=self._tls,
        )
        client = stripe.StripeClient(
            self._api_key,
            stripe_version=self.api_version,
            base_addresses={"api": self._api_base},
            max_network_retries=0,
            http_client=once,
        )
        try:
            call(client)
        except Exception:  # the SDK raises for every answer but success, and for its own parsing
            if once.exchange is None:  # it never came to a request: a bug here, not an outcome
                raise
        if once.exchange is None:
            raise RuntimeError("the SDK made no request")
        return once.exchange

    def _read(self, call: Callable[[stripe.StripeClient], object]) -> tuple[Exchange, int]:
        """Run a read, up to three times in all, and return the last exchange with the number made."""
        made = run_attempts(
            GATEWAY_LOOKUP, partial(self._run, call), is_passing=self._is_passing, sleep=self._sleep
        )
        return made.answer, made.attempts

    def _is_passing(self, exchange: Exchange) -> bool:
        """Whether a read may simply be tried again: as the answer says, else no answer, 429 or a server error."""
        signal, status = self.contract.retry_signal, exchange.http_status
        if status is None:
            return True
        said = exchange.headers.get((signal.header.value or "").lower(), "").lower()
        if said in {signal.retry_value.value, signal.stop_value.value}:
            return said == signal.retry_value.value and status >= HTTPStatus.BAD_REQUEST
        return status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def _list_call(
    client: stripe.StripeClient, *, parameters: "stripe.params.RefundListParams", account: str
) -> object:
    return client.v1.refunds.list(parameters, {"stripe_account": account or None})


def _refused_unsent(code: AdapterCode) -> GatewayAnswer:
    return GatewayAnswer(
        answer_class=AnswerClass.REFUSED,
        refund=None,
        http_status=None,
        error_type=None,
        error_code=code,
        replayed=False,
        request_id=None,
        body_sha256=None,
        detail=f"not sent: {code}",
    )


def _lookup(
    surface: str,
    exchange: Exchange | None = None,
    *,
    found: list[RefundFact] | None = None,
    attempts: int = 0,
    complete: bool = False,
    code: str | None = None,
) -> LookupAnswer:
    exchange = exchange or Exchange()
    if not complete and code is None:
        code = exchange.failure or _error_code(exchange) or AdapterCode.BODY_UNPARSABLE
    return LookupAnswer(
        surface=surface,
        complete=complete,
        refunds=tuple(found or ()),
        http_status=exchange.http_status,
        error_code=code,
        detail=f"{len(found or ())} read" if complete else _why(exchange, code),
        attempts=attempts,
    )


def _why(exchange: Exchange, code: str | None) -> str:
    return " ".join(str(part) for part in (exchange.http_status, code, exchange.cause) if part)


def _error_code(exchange: Exchange) -> str | None:
    error = (read_json_object(exchange.body) or {}).get("error")
    if not isinstance(error, dict):
        return None
    return word(error.get("code")) or word(error.get("type"))
