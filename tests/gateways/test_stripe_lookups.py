"""Reads: every page, three attempts each, and nothing concluded from half a list."""

import json
import socket
from typing import Any

import pytest

from refunds.gateways.port import ProviderStatus
from refunds.gateways.stripe import StripeGateway
from tests.gateways.builders import refund_command, stripe_gateway_at
from tests.gateways.raw_server import RawServer, http_answer
from tests.gateways.test_stripe_network import OUR_REFUND
from tests.support.gateway_simulator import GatewaySimulator


def _page(*refunds: Any, has_more: Any = False, **changes: Any) -> bytes:
    body = {"object": "list", "url": "/v1/refunds", "has_more": has_more, "data": list(refunds)} | changes
    return http_answer(200, json.dumps(body).encode())


def _list(gateway: StripeGateway) -> Any:
    return gateway.list_refunds(payment_reference="ch_A2", account="")


def test_every_page_is_read(
    gateway_simulator: GatewaySimulator, stripe_gateway: StripeGateway, waits: list[float]
) -> None:
    gateway_simulator.seed_charge("ch_A2", amount=101)
    for number in range(101):
        stripe_gateway.submit_refund(refund_command(f"rfop_{number}", amount_minor_units=1))
    found = _list(stripe_gateway)
    assert found.complete is True
    assert [fact.operation_id for fact in found.refunds] == [f"rfop_{n}" for n in reversed(range(101))]
    assert found.attempts == 2
    assert waits == []
    assert [
        entry["query"].partition("&starting_after")[0] for entry in gateway_simulator.log(method="GET")
    ] == [
        "limit=100&charge=ch_A2",
        "limit=100&charge=ch_A2",
    ]


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "status", "status": 429},
        {"kind": "status", "status": 500},
        {"kind": "status", "status": 503},
        {"kind": "drop_after"},
    ],
)
def test_a_passing_trouble_is_tried_again(
    gateway_simulator: GatewaySimulator,
    stripe_gateway: StripeGateway,
    waits: list[float],
    fault: dict[str, Any],
) -> None:
    gateway_simulator.seed_charge("ch_A2", amount=4999)
    stripe_gateway.submit_refund(refund_command())
    gateway_simulator.control("POST", "faults", fault | {"on": "list", "count": 2})
    found = _list(stripe_gateway)
    assert (found.complete, len(found.refunds), found.attempts) == (True, 1, 3)
    assert len(waits) == 2
    assert all(0 <= seconds <= 5 for seconds in waits)


def test_three_attempts_are_all(
    gateway_simulator: GatewaySimulator, stripe_gateway: StripeGateway, waits: list[float]
) -> None:
    gateway_simulator.seed_charge("ch_A2", amount=4999)
    gateway_simulator.arm("status", on="list", status=503, count=None)
    found = _list(stripe_gateway)
    assert (found.complete, found.refunds, found.attempts) == (False, (), 3)
    assert (found.http_status, found.error_code) == (503, "api_error")
    assert len(waits) == 2
    assert len(gateway_simulator.log()) == 3


def test_silence_is_tried_three_times(raw_server: RawServer) -> None:
    raw_server.says_nothing()
    found = _list(stripe_gateway_at(raw_server.url, answer=0.2))
    assert (found.complete, found.attempts, found.error_code) == (False, 3, "ANSWER_TIMED_OUT")
    assert found.http_status is None


def test_nobody_there_is_tried_three_times(gateway_simulator: GatewaySimulator) -> None:
    gateway = stripe_gateway_at(gateway_simulator.url)
    gateway_simulator.stop()
    try:
        found = _list(gateway)
    finally:
        gateway_simulator.start()
    assert (found.complete, found.attempts, found.error_code) == (False, 3, "CONNECT_FAILED")


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_definite_error_is_not_tried_again(
    gateway_simulator: GatewaySimulator, stripe_gateway: StripeGateway, status: int
) -> None:
    gateway_simulator.arm("status", on="list", status=status, code="some_code")
    gateway_simulator.seed_charge("ch_A2", amount=4999)
    found = _list(stripe_gateway)
    assert (found.complete, found.attempts, found.http_status) == (False, 1, status)
    assert found.error_code == "some_code"


def test_what_was_read_before_a_broken_page_is_kept_and_not_called_complete(raw_server: RawServer) -> None:
    broken = http_answer(400, b'{"error": {"code": "bad"}}')
    answers = iter([_page(OUR_REFUND, has_more=True), broken])

    def treat(connection: socket.socket) -> None:
        raw_server.read_request(connection)
        connection.sendall(next(answers))

    raw_server.treat = treat
    found = _list(stripe_gateway_at(raw_server.url))
    assert (found.complete, len(found.refunds), found.attempts) == (False, 1, 2)
    assert found.error_code == "bad"
    assert b"starting_after=re_3Qours" in raw_server.requests[1]


@pytest.mark.parametrize(
    ("answer", "code", "found"),
    [
        (_page(OUR_REFUND, OUR_REFUND | {"charge": "ch_A1"}), "LIST_NOT_CONCLUSIVE", 1),
        (_page(OUR_REFUND, {"object": "refund"}), "LIST_NOT_CONCLUSIVE", 1),
        (_page(OUR_REFUND, None), "LIST_NOT_CONCLUSIVE", 1),
        (_page(has_more=True), "LIST_NOT_CONCLUSIVE", 0),
        (_page(OUR_REFUND, has_more="false"), "BODY_UNPARSABLE", 0),
        (_page(OUR_REFUND, object="search_result"), "BODY_UNPARSABLE", 0),
        (_page(data={}), "BODY_UNPARSABLE", 0),
        (http_answer(200, b"[]"), "BODY_UNPARSABLE", 0),
        (http_answer(200, b"<html>"), "BODY_UNPARSABLE", 0),
        (http_answer(204, b""), "BODY_UNPARSABLE", 0),
        (http_answer(302, b"", Location="/elsewhere"), "BODY_UNPARSABLE", 0),
    ],
)
def test_half_a_list_is_never_complete(raw_server: RawServer, answer: bytes, code: str, found: int) -> None:
    raw_server.answers(answer)
    lookup = _list(stripe_gateway_at(raw_server.url))
    assert (lookup.complete, lookup.error_code, len(lookup.refunds)) == (False, code, found)
    assert raw_server.connections == 1


def test_a_list_that_does_not_move_on_is_left(raw_server: RawServer) -> None:
    raw_server.answers(_page(OUR_REFUND, has_more=True))
    lookup = _list(stripe_gateway_at(raw_server.url))
    assert (lookup.complete, lookup.error_code) == (False, "LIST_NOT_CONCLUSIVE")
    assert raw_server.connections == 2


def test_a_refund_without_our_metadata_is_listed_as_somebody_elses(raw_server: RawServer) -> None:
    raw_server.answers(_page(OUR_REFUND | {"metadata": {"order": "2841"}}))
    lookup = _list(stripe_gateway_at(raw_server.url))
    assert lookup.complete is True
    assert [fact.operation_id for fact in lookup.refunds] == [None]


def test_an_unknown_status_is_carried_not_refused(raw_server: RawServer) -> None:
    raw_server.answers(_page(OUR_REFUND | {"status": "reversed", "failure_reason": "of_next_year"}))
    (fact,) = _list(stripe_gateway_at(raw_server.url)).refunds
    assert (fact.status, fact.provider_status) == (ProviderStatus.UNRECOGNISED, "reversed")
    assert fact.failure_reason == "of_next_year"


@pytest.mark.parametrize("created", [None, "x", True, 10**20, -(10**20), 1.5])
def test_a_refund_without_a_readable_time_is_still_a_refund(raw_server: RawServer, created: Any) -> None:
    raw_server.answers(_page(OUR_REFUND | {"created": created}))
    (fact,) = _list(stripe_gateway_at(raw_server.url)).refunds
    assert fact.created_at is None


def test_times_are_aware_and_in_utc(raw_server: RawServer) -> None:
    raw_server.answers(_page(OUR_REFUND | {"created": 1795979583}))
    (fact,) = _list(stripe_gateway_at(raw_server.url)).refunds
    assert fact.created_at is not None
    assert fact.created_at.isoformat() == "2026-11-29T19:13:03+00:00"


@pytest.mark.parametrize("reference", ["", "in_1", "ch_/../charges", "re_1"])
def test_a_reference_that_is_no_payment_is_not_asked_for(
    gateway_simulator: GatewaySimulator, stripe_gateway: StripeGateway, reference: str
) -> None:
    found = stripe_gateway.list_refunds(payment_reference=reference, account="")
    assert (found.complete, found.attempts) == (False, 0)
    assert found.error_code == "PAYMENT_REFERENCE_UNSUPPORTED"
    assert gateway_simulator.log() == []


def test_an_account_that_is_none_is_not_asked_for(
    gateway_simulator: GatewaySimulator, stripe_gateway: StripeGateway
) -> None:
    listed = stripe_gateway.list_refunds(payment_reference="ch_A2", account="merchant-1")
    read = stripe_gateway.retrieve_refund(processor_reference="re_1", account="merchant-1")
    for found in (listed, read):
        assert (found.complete, found.attempts, found.error_code) == (False, 0, "ACCOUNT_UNSUPPORTED")
    assert gateway_simulator.log() == []


def test_another_refund_than_the_one_asked_for_is_not_taken(raw_server: RawServer) -> None:
    raw_server.answers(http_answer(200, json.dumps(OUR_REFUND).encode()))
    gateway = stripe_gateway_at(raw_server.url)
    other = gateway.retrieve_refund(processor_reference="re_other", account="")
    assert (other.complete, other.refunds) == (False, ())
    ours = gateway.retrieve_refund(processor_reference="re_3Qours", account="")
    assert (ours.complete, ours.detail, ours.attempts) == (True, "1 read", 1)


def test_a_retrieve_is_tried_again_too(
    gateway_simulator: GatewaySimulator, stripe_gateway: StripeGateway
) -> None:
    gateway_simulator.seed_charge("ch_A2", amount=4999)
    answer = stripe_gateway.submit_refund(refund_command())
    assert answer.refund is not None
    gateway_simulator.arm("status", on="retrieve", status=502)
    found = stripe_gateway.retrieve_refund(processor_reference=answer.refund.processor_reference, account="")
    assert (found.complete, found.attempts) == (True, 2)
