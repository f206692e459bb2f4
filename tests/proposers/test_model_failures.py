"""Failures of the endpoint: how often it is asked, how long it is waited for, what is said of it."""

import gzip
import json
import time

import pytest

from refunds.proposers.port import Proposed, Unavailable, UnavailableKind
from tests.proposers.asking import ask
from tests.proposers.raw_server import answer, serving


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize(
    "fault",
    [{"kind": "http_error", "status": 500}, {"kind": "http_error", "status": 503}, {"kind": "rate_limit"}],
)
def test_a_passing_failure_is_asked_again(simulator, fault, count):
    simulator.control("POST", "faults", fault | {"count": count})

    result = ask(simulator.url)

    assert isinstance(result, Proposed)
    assert result.requests == count + 1 == len(simulator.log())


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ({"kind": "http_error", "status": 500}, UnavailableKind.SERVER_ERROR),
        ({"kind": "rate_limit"}, UnavailableKind.RATE_LIMITED),
    ],
)
def test_three_total_attempts_are_the_most(simulator, fault, kind):
    simulator.control("POST", "faults", fault | {"count": None})

    result = ask(simulator.url)

    assert isinstance(result, Unavailable)
    assert (result.kind, result.requests) == (kind, 3)
    assert len(simulator.log()) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 501, 302])
def test_a_lasting_failure_is_not_asked_again(simulator, status):
    simulator.arm("http_error", status=status, count=None)

    result = ask(simulator.url)

    expected = UnavailableKind.SERVER_ERROR if status == 501 else UnavailableKind.REQUEST_REFUSED
    assert isinstance(result, Unavailable)
    assert (result.kind, result.detail, result.requests) == (expected, f"HTTP {status}", 1)


def test_retry_after_is_waited_for_inside_the_deadline(simulator):
    simulator.arm("rate_limit", retry_after=1)
    started = time.monotonic()

    result = ask(simulator.url)

    assert isinstance(result, Proposed)
    assert 1.0 <= time.monotonic() - started < 5
    assert result.latency_ms >= 1000


def test_retry_after_beyond_the_deadline_ends_it_at_once(simulator):
    simulator.arm("rate_limit", retry_after=30, count=None)
    started = time.monotonic()

    result = ask(simulator.url, deadline=5)

    assert isinstance(result, Unavailable)
    assert (result.kind, result.requests) == (UnavailableKind.RATE_LIMITED, 1)
    assert time.monotonic() - started < 2


def test_a_spent_quota_is_not_asked_again():
    body = json.dumps(
        {"error": {"message": "x", "type": "insufficient_quota", "code": "insufficient_quota"}}
    ).encode()
    with serving(answer(body, status="429 Too Many Requests")) as server:
        result = ask(server.url)

    assert isinstance(result, Unavailable)
    assert (result.kind, result.requests) == (UnavailableKind.RATE_LIMITED, 1)


def test_an_endpoint_that_never_answers_ends_with_the_deadline(simulator):
    simulator.arm("slow", seconds=30, count=None)
    started = time.monotonic()

    result = ask(simulator.url, deadline=1.5)

    assert isinstance(result, Unavailable)
    assert result.kind is UnavailableKind.TIMEOUT
    assert result.requests in {1, 2}
    assert time.monotonic() - started < 2.0


def test_a_slow_first_answer_leaves_time_for_a_second_try(simulator):
    simulator.arm("slow", seconds=30)

    result = ask(simulator.url, deadline=4)

    assert isinstance(result, Proposed)
    assert result.requests == 2


def test_an_answer_that_drips_in_ends_with_the_deadline(simulator):
    simulator.arm("drip", seconds=0.2, count=None)
    started = time.monotonic()

    result = ask(simulator.url, deadline=1.5)

    assert isinstance(result, Unavailable)
    assert result.kind is UnavailableKind.TIMEOUT
    assert time.monotonic() - started < 2.0


def test_headers_that_drip_in_end_with_the_deadline():
    drip = [
        part
        for byte in b"HTTP/1.1 200 OK\r\nX-Slow: aaaaaaaaaaaaaaaaaaaaaaaa"
        for part in (bytes([byte]), 0.1)
    ]
    with serving(drip) as server:
        started = time.monotonic()
        result = ask(server.url, deadline=1.0)

        assert isinstance(result, Unavailable)
        assert result.kind is UnavailableKind.TIMEOUT
        assert time.monotonic() - started < 1.5


@pytest.mark.parametrize("deadline", [0, -1, 0.01])
def test_no_time_left_means_no_request(simulator, deadline):
    result = ask(simulator.url, deadline=deadline)

    assert isinstance(result, Unavailable)
    assert (result.kind, result.requests) == (UnavailableKind.TIMEOUT, 0)
    assert simulator.log() == []


def test_a_dropped_connection_is_not_asked_again(simulator):
    simulator.arm("drop", count=None)

    result = ask(simulator.url)

    assert isinstance(result, Unavailable)
    assert (result.kind, result.requests) == (UnavailableKind.CONNECTION_FAILED, 1)


def test_nobody_listening_is_a_failed_connection():
    with serving(answer(b"")) as server:
        url = server.url

    result = ask(url)

    assert isinstance(result, Unavailable)
    assert (result.kind, result.detail) == (UnavailableKind.CONNECTION_FAILED, "ConnectError")


def test_an_endless_body_is_cut_off():
    with serving([b"HTTP/1.1 200 OK\r\n\r\n", *[b" " * 65536] * 100]) as server:
        result = ask(server.url)

    assert isinstance(result, Unavailable)
    assert (result.kind, result.requests) == (UnavailableKind.CONNECTION_FAILED, 1)


def test_a_compressed_body_is_not_unpacked():
    bomb = gzip.compress(b" " * 10_000_000)
    with serving(answer(bomb, headers="Content-Encoding: gzip\r\n")) as server:
        result = ask(server.url)

    assert isinstance(result, Unavailable)
    assert result.kind is UnavailableKind.CONNECTION_FAILED


@pytest.mark.failure("F096")
def test_a_redirect_is_not_followed():
    with serving(answer(b"", status="307 Temporary Redirect", headers="Location: /elsewhere\r\n")) as server:
        result = ask(server.url)

        assert isinstance(result, Unavailable)
        assert (result.kind, result.detail) == (UnavailableKind.REQUEST_REFUSED, "HTTP 307")
        assert len(server.requests) == 1


def test_nothing_that_the_server_says_reaches_the_detail():
    body = json.dumps(
        {"error": {"message": "canary-7731", "type": "canary-7731", "code": "canary-7731"}}
    ).encode()
    for status in ("500 canary-7731", "400 canary-7731", "429 canary-7731"):
        with serving(answer(body, status=status, headers="X-Request-Id: canary-7731\r\n")) as server:
            assert "canary-7731" not in repr(ask(server.url, deadline=1))
