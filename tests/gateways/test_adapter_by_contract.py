"""The adapter works by its record: every value that it reads changes what it does."""

import json
from dataclasses import replace
from types import MappingProxyType

import pytest

from refunds.gateways.contract import STRIPE_V1, AmountNotRepresentableError, AmountRule, with_overrides
from refunds.gateways.port import AnswerClass, ProviderStatus
from refunds.gateways.stripe_answers import read_submission
from refunds.gateways.stripe_commands import create_parameters, refusal_before_sending
from refunds.gateways.wire import Exchange
from tests.gateways.builders import refund_command, stripe_gateway_at
from tests.gateways.raw_server import RawServer, http_answer
from tests.gateways.test_golden_verdicts import Watched, rebuilt
from tests.gateways.test_stripe_network import OUR_REFUND

OTHERS = {
    "pinned_version": "2030-01-01.other",
    "key.max_length": 100,
    "replay.marker": "Replayed",
    "replay.marker_value": "yes",
    "retry_signal.header": "Another-Header",
    "retry_signal.stop_value": "no",
    "retry_signal.retry_value": "yes",
    "amounts.by_currency": MappingProxyType({"MGA": AmountRule(), "KWD": AmountRule()}),
    "amounts.refused_currencies": frozenset({"USD"}),
    "status_words.of_objects": MappingProxyType({"succeeded": ProviderStatus.PENDING}),
    "limits.read_budget": 2,
}


def amount(contract, currency, units):
    try:
        return create_parameters(refund_command(currency=currency, amount_minor_units=units), contract)[
            "amount"
        ]
    except AmountNotRepresentableError:
        return None


def answered(contract, status, body, **headers):
    named = {name.lower().replace("_", "-"): value for name, value in headers.items()}
    exchange = Exchange(http_status=status, headers=named, body=json.dumps(body).encode())
    answer = read_submission(exchange, command=refund_command(), contract=contract)
    return answer.answer_class, answer.replayed, answer.retry_forbidden


def behaviour(contract, server):
    """Return what the adapter does, as far as the record can change it."""
    error = {"error": {"type": "api_error"}}
    gateway = stripe_gateway_at(server.url, contract=contract)
    long_key = replace(refund_command(), idempotency_key="k" * 255)
    page = {"object": "list", "has_more": True, "data": [OUR_REFUND]}
    server.answers(http_answer(200, json.dumps(page).encode()))
    before = len(server.requests)
    pages = gateway.list_refunds(payment_reference="ch_A2", account="").attempts
    version = next(
        line for line in server.requests[before].lower().split(b"\r\n") if line.startswith(b"stripe-version")
    )
    return (
        version,
        pages,
        refusal_before_sending(long_key, contract),
        [
            amount(contract, currency, units)
            for currency, units in [("USD", 1), ("MGA", 500), ("KWD", 5124), ("UGX", 5)]
        ],
        answered(contract, 200, OUR_REFUND, Idempotent_Replayed="true"),
        answered(contract, 500, error, Stripe_Should_Retry="false"),
        [
            gateway._is_passing(Exchange(http_status=status, headers={"stripe-should-retry": said}))
            for status, said in [(503, "false"), (409, "true"), (409, "false"), (503, "")]
        ],
    )


def changed(path, other):
    return rebuilt(STRIPE_V1, lambda stated, at: replace(stated, value=other) if at == path else stated)


def test_every_value_that_the_adapter_reads_is_listed(raw_server: RawServer) -> None:
    seen: set[str] = set()
    watched = rebuilt(STRIPE_V1, lambda stated, path: Watched(stated, path, seen))
    seen.clear()
    behaviour(watched, raw_server)
    assert seen == set(OTHERS)


# The same page again and again is left at once; the test of a list without end is about the budget.
@pytest.mark.parametrize("path", sorted(OTHERS.keys() - {"limits.read_budget"}))
def test_every_value_that_the_adapter_reads_changes_what_it_does(raw_server: RawServer, path: str) -> None:
    assert behaviour(changed(path, OTHERS[path]), raw_server) != behaviour(STRIPE_V1, raw_server)


@pytest.mark.parametrize("budget", [1, 2, 5])
def test_a_list_without_end_is_left_when_the_reads_of_one_payment_are_used_up(
    raw_server: RawServer, budget: int
) -> None:
    numbers = iter(range(1000))

    def treat(connection):
        raw_server.read_request(connection)
        refund = OUR_REFUND | {"id": f"re_{next(numbers)}", "metadata": {}}
        page = {"object": "list", "has_more": True, "data": [refund]}
        connection.sendall(http_answer(200, json.dumps(page).encode()))

    raw_server.treat = treat
    gateway = stripe_gateway_at(raw_server.url, contract=changed("limits.read_budget", budget))
    found = gateway.list_refunds(payment_reference="ch_A2", account="")
    assert (found.complete, found.attempts, len(raw_server.requests)) == (False, budget, budget)


def test_the_operators_windows_are_not_the_adapters() -> None:
    short = with_overrides(STRIPE_V1, {"safe_resend_seconds": 60})
    answer = answered(short, 200, OUR_REFUND)
    assert answer == (AnswerClass.ACCEPTED, False, False)
