"""What the network can do to one submission, and what that proves."""

import http.client
import json
import signal
import socket
import ssl
import time
from contextlib import ExitStack, suppress

import pytest
import stripe

from refunds.gateways.port import AnswerClass
from refunds.gateways.stripe import StripeGateway
from refunds.gateways.wire import NoWholeAnswerError, OneExchange
from tests.gateways.builders import refund_command, stripe_gateway_at
from tests.gateways.raw_server import RawServer, http_answer, reset
from tests.support.gateway_simulator import GatewaySimulator

OUR_REFUND = {
    "id": "re_3Qours",
    "object": "refund",
    "amount": 4999,
    "charge": "ch_A2",
    "created": 1795979583,
    "currency": "usd",
    "metadata": {"refund_operation_id": "rfop_01K2TEST"},
    "payment_intent": "pi_A2",
    "status": "succeeded",
}
OUR_ANSWER = http_answer(200, json.dumps(OUR_REFUND).encode(), Request_Id="req_1")


def _closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def test_a_refused_connection_executes_nothing() -> None:
    answer = stripe_gateway_at(f"http://127.0.0.1:{_closed_port()}").submit_refund(refund_command())
    assert answer.answer_class is AnswerClass.NOT_EXECUTED
    assert (answer.http_status, answer.error_code) == (None, "CONNECT_FAILED")
    assert answer.detail == "CONNECT_FAILED ConnectionRefusedError"
    assert answer.body_sha256 is None


def test_a_connection_that_is_not_made_in_time_executes_nothing() -> None:
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):  # fill the queue of connections that nobody accepts
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        gateway = stripe_gateway_at(f"http://127.0.0.1:{listener.getsockname()[1]}", connect=0.3)
        started = time.monotonic()
        answer = gateway.submit_refund(refund_command())
    assert answer.answer_class is AnswerClass.NOT_EXECUTED
    assert answer.detail == "CONNECT_FAILED TimeoutError"
    assert time.monotonic() - started < 5


def test_a_failed_handshake_executes_nothing(raw_server: RawServer) -> None:
    def treat(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    raw_server.treat = treat
    gateway = stripe_gateway_at(raw_server.url.replace("http:", "https:"))
    answer = gateway.submit_refund(refund_command())
    assert answer.answer_class is AnswerClass.NOT_EXECUTED
    assert answer.error_code == "CONNECT_FAILED"
    assert raw_server.connections == 1


def test_a_handshake_that_hangs_executes_nothing(raw_server: RawServer) -> None:
    def treat(_connection: socket.socket) -> None:
        raw_server.ending.wait(10)

    raw_server.treat = treat
    gateway = stripe_gateway_at(raw_server.url.replace("http:", "https:"), connect=0.3)
    assert gateway.submit_refund(refund_command()).answer_class is AnswerClass.NOT_EXECUTED


def test_a_connection_closed_before_an_answer_is_unknown(raw_server: RawServer) -> None:
    answer = stripe_gateway_at(raw_server.url).submit_refund(refund_command())
    assert answer.answer_class is AnswerClass.UNKNOWN
    assert answer.error_code == "CONNECTION_LOST"
    assert raw_server.connections == 1


def test_a_connection_reset_at_once_is_not_executed_only_if_it_was_never_made(raw_server: RawServer) -> None:
    raw_server.treat = reset
    gateway = stripe_gateway_at(raw_server.url)
    answers = [gateway.submit_refund(refund_command()) for _ in range(50)]
    assert {(answer.answer_class, answer.error_code) for answer in answers} <= {
        (AnswerClass.UNKNOWN, "CONNECTION_LOST"),
        (AnswerClass.NOT_EXECUTED, "CONNECT_FAILED"),  # the reset was faster than the handshake's end
    }


def test_a_reset_at_the_first_byte_is_unknown(raw_server: RawServer) -> None:
    raw_server.resets_at_the_first_byte()
    answer = stripe_gateway_at(raw_server.url).submit_refund(refund_command())
    assert (answer.answer_class, answer.error_code) == (AnswerClass.UNKNOWN, "CONNECTION_LOST")


def test_a_reset_after_the_request_is_unknown(raw_server: RawServer) -> None:
    raw_server.resets_after_the_request()
    answer = stripe_gateway_at(raw_server.url).submit_refund(refund_command())
    assert (answer.answer_class, answer.error_code) == (AnswerClass.UNKNOWN, "CONNECTION_LOST")
    assert len(raw_server.requests) == 1


def test_silence_is_unknown_when_the_time_is_over(raw_server: RawServer) -> None:
    raw_server.says_nothing()
    started = time.monotonic()
    answer = stripe_gateway_at(raw_server.url, answer=0.3).submit_refund(refund_command())
    assert (answer.answer_class, answer.error_code) == (AnswerClass.UNKNOWN, "ANSWER_TIMED_OUT")
    assert 0.3 <= time.monotonic() - started < 5
    assert len(raw_server.requests) == 1


def test_an_answer_that_trickles_in_is_unknown_when_the_time_is_over(raw_server: RawServer) -> None:
    raw_server.trickles(OUR_ANSWER, seconds_a_byte=0.05)
    started = time.monotonic()
    answer = stripe_gateway_at(raw_server.url, answer=0.4).submit_refund(refund_command())
    assert (answer.answer_class, answer.error_code) == (AnswerClass.UNKNOWN, "ANSWER_TIMED_OUT")
    assert answer.refund is None
    assert time.monotonic() - started < 5


def test_an_interruption_while_the_answer_is_awaited_is_unknown(raw_server: RawServer) -> None:
    def interrupt(*_: object) -> None:
        raise InterruptedError("a time limit, raised where the process happens to be")

    raw_server.says_nothing()
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        answer = stripe_gateway_at(raw_server.url).submit_refund(refund_command())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert (answer.answer_class, answer.error_code) == (AnswerClass.UNKNOWN, "CONNECTION_LOST")
    assert len(raw_server.requests) == 1


def test_half_an_answer_is_unknown(raw_server: RawServer) -> None:
    raw_server.answers(OUR_ANSWER[:-20])
    answer = stripe_gateway_at(raw_server.url).submit_refund(refund_command())
    assert (answer.answer_class, answer.error_code) == (AnswerClass.UNKNOWN, "CONNECTION_LOST")
    assert answer.detail == "CONNECTION_LOST IncompleteRead"


def test_an_answer_without_end_is_unknown(raw_server: RawServer) -> None:
    raw_server.answers(http_answer(200, b" " * (4 * 1024 * 1024 + 1)))
    answer = stripe_gateway_at(raw_server.url).submit_refund(refund_command())
    assert (answer.answer_class, answer.error_code) == (AnswerClass.UNKNOWN, "CONNECTION_LOST")


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"\xff\xfe\x00", b"[]", b"null", b'"refund"', b'{"object": "refund"', b"[" * 100_000],
)
@pytest.mark.parametrize("status", [200, 400, 401, 402, 403, 404, 409, 429, 500, 503])
def test_a_body_that_is_no_object_is_unknown_and_leaves_evidence(
    raw_server: RawServer, status: int, body: bytes
) -> None:
    raw_server.answers(
        http_answer(status, body, Request_Id="req_lost", Stripe_Rate_Limited_Reason="global-rate")
    )
    answer = stripe_gateway_at(raw_server.url).submit_refund(refund_command())
    assert (answer.answer_class, answer.error_code) == (AnswerClass.UNKNOWN, "BODY_UNPARSABLE")
    assert (answer.http_status, answer.request_id) == (status, "req_lost")
    assert answer.body_sha256 is not None
    assert raw_server.connections == 1


@pytest.mark.failure("F096")
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(raw_server: RawServer, status: int) -> None:
    raw_server.answers(http_answer(status, b"{}", Location=f"{raw_server.url}/elsewhere"))
    answer = stripe_gateway_at(raw_server.url).submit_refund(refund_command())
    assert answer.answer_class is AnswerClass.UNKNOWN
    assert raw_server.connections == 1


@pytest.mark.parametrize("status", [409, 424, 429, 500, 502, 503, 504])
def test_an_attempt_is_one_request_whatever_the_answer_asks_for(raw_server: RawServer, status: int) -> None:
    error = json.dumps({"error": {"type": "api_error", "message": "?"}}).encode()
    raw_server.answers(http_answer(status, error, Stripe_Should_Retry="true", Retry_After="0"))
    answer = stripe_gateway_at(raw_server.url).submit_refund(refund_command())
    assert (answer.answer_class, answer.http_status) == (AnswerClass.UNKNOWN, status)
    assert len(raw_server.requests) == 1


def test_every_attempt_has_a_connection_of_its_own(raw_server: RawServer) -> None:
    raw_server.answers(OUR_ANSWER, then_wait=True)  # the server would keep the connection
    gateway = stripe_gateway_at(raw_server.url)
    first = gateway.submit_refund(refund_command())
    second = gateway.submit_refund(refund_command())
    assert (first.answer_class, second.answer_class) == (AnswerClass.ACCEPTED, AnswerClass.ACCEPTED)
    assert raw_server.connections == 2
    assert all(b"connection: close" in request.lower() for request in raw_server.requests)


def test_a_connection_that_died_after_an_attempt_cannot_pass_for_a_failure_to_connect(
    raw_server: RawServer,
) -> None:
    raw_server.answers(OUR_ANSWER)
    gateway = stripe_gateway_at(raw_server.url)
    assert gateway.submit_refund(refund_command()).answer_class is AnswerClass.ACCEPTED
    raw_server.resets_at_the_first_byte()
    assert gateway.submit_refund(refund_command()).answer_class is AnswerClass.UNKNOWN


def test_proxies_of_the_environment_are_not_used(
    monkeypatch: pytest.MonkeyPatch, raw_server: RawServer
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{_closed_port()}")
    raw_server.answers(OUR_ANSWER)
    answer = stripe_gateway_at(raw_server.url).submit_refund(refund_command())
    assert answer.answer_class is AnswerClass.ACCEPTED


def test_the_sdk_reports_nothing_about_this_machine(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_A2", amount=9998)
    gateway = stripe_gateway_at(gateway_simulator.url)
    gateway.submit_refund(refund_command("rfop_1"))
    gateway.submit_refund(refund_command("rfop_2"))
    for entry in gateway_simulator.log():
        assert "x-stripe-client-telemetry" not in entry["headers"]
        assert "telemetry_id" not in entry["headers"]["x-stripe-client-user-agent"]
        assert "platform" not in entry["headers"]["x-stripe-client-user-agent"]
    assert stripe.enable_telemetry is False


@pytest.mark.parametrize(
    "address",
    ["http://api.stripe.com", "http://10.0.0.1", "ftp://127.0.0.1", "127.0.0.1:1", "", "https://", "http://"],
)
def test_the_key_is_never_sent_in_clear_text_over_a_network(address: str) -> None:
    with pytest.raises(ValueError, match="must be https"):
        stripe_gateway_at(address)


@pytest.mark.parametrize("api_key", ["", "sk_test_1\n", "sk test", "sk_test_é"])
def test_a_key_that_no_header_can_carry_stops_the_start_and_is_not_printed(api_key: str) -> None:
    with pytest.raises(ValueError, match="API key is empty or has characters") as caught:
        StripeGateway(
            api_key=api_key,
            api_base="https://api.stripe.com",
            connect_timeout_seconds=1,
            answer_timeout_seconds=1,
        )
    assert "sk" not in str(caught.value)


@pytest.mark.parametrize(
    "address", ["https://api.stripe.com", "http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1"]
)
def test_https_and_this_machine_are_allowed(address: str) -> None:
    assert stripe_gateway_at(address).api_version == "2026-10-28.endive"


def test_the_http_client_under_the_sdk_makes_one_request_and_no_second(raw_server: RawServer) -> None:
    raw_server.answers(OUR_ANSWER)
    client = OneExchange(
        connect_timeout_seconds=1, answer_timeout_seconds=5, tls=ssl.create_default_context()
    )
    client.request("post", f"{raw_server.url}/v1/refunds", {}, "amount=1")
    with pytest.raises(RuntimeError, match="one request only"):
        client.request("post", f"{raw_server.url}/v1/refunds", {}, "amount=1")
    assert raw_server.connections == 1
    assert client.exchange is not None
    assert client.exchange.http_status == 200


def test_a_request_that_would_leave_too_late_is_not_sent_at_all(raw_server: RawServer) -> None:
    """As when looking up a name took minutes, or the process was stopped: recovery may have gone on meanwhile."""
    raw_server.answers(OUR_ANSWER)
    for late, failure in ((5.9, None), (6.1, "CONNECT_FAILED")):
        client = OneExchange(
            connect_timeout_seconds=1, answer_timeout_seconds=5, tls=ssl.create_default_context()
        )
        client._made_at -= late
        with suppress(NoWholeAnswerError):
            client.request("post", f"{raw_server.url}/v1/refunds", {}, "amount=1")
        assert client.exchange is not None
        assert client.exchange.failure == failure
    assert len(raw_server.requests) == 1


def test_a_process_that_was_stopped_while_it_connected_sends_nothing(
    raw_server: RawServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = http.client.HTTPConnection.connect

    def slow(connection: http.client.HTTPConnection) -> None:
        connect(connection)
        time.sleep(0.5)

    monkeypatch.setattr(http.client.HTTPConnection, "connect", slow)
    raw_server.answers(OUR_ANSWER)
    answer = stripe_gateway_at(raw_server.url, connect=0.2, answer=0.2).submit_refund(refund_command())
    assert (answer.answer_class, answer.error_code) == (AnswerClass.NOT_EXECUTED, "CONNECT_FAILED")
    assert raw_server.requests == []
