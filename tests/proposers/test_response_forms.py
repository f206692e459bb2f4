"""Servers that refuse a schema, servers that stream, and what is kept about the question that was answered."""

import json
import socket
import threading
import time

import pytest

from ledger.canonical import canonical_sha256
from refunds.proposers import response_forms
from refunds.proposers.cut_off import CutOffError, call_within
from refunds.proposers.parameters import ModelParameters
from refunds.proposers.port import Declined, Proposed, Unavailable, UnavailableKind
from refunds.proposers.schema import PROPOSAL_SCHEMA
from tests.proposers.asking import MODEL, ask, choice, completion
from tests.proposers.raw_server import answer, serving
from tests.proposers.samples import GOOD_TEXT

GOOD = answer(completion(choice(content=GOOD_TEXT)))


def refusing(words, *, status="400 Bad Request"):
    return answer(json.dumps({"error": {"message": words, "code": None}}).encode(), status=status)


NO_SCHEMA = refusing("'response_format.type' must be 'text' or 'json_object'")


def sent(server):
    return [json.loads(request.partition(b"\r\n\r\n")[2]) for request in server.requests]


@pytest.mark.parametrize(
    "refusal",
    [
        NO_SCHEMA,
        refusing("json_schema is not supported"),
        refusing("Input should be 'text' at body.response_format.type", status="422 Unprocessable Entity"),
    ],
)
def test_a_server_that_refuses_a_schema_is_asked_once_more_with_the_schema_in_words(refusal):
    with serving(refusal, GOOD) as server:
        result = ask(server.url)
        first, second = sent(server)

    assert isinstance(result, Proposed)
    assert (result.requests, result.parameters["response_form"]) == (2, "json_object")
    assert first["response_format"]["type"] == "json_schema"
    assert second["response_format"] == {"type": "json_object"}
    instructions, in_words, question = second["messages"]
    assert (instructions, question) == tuple(first["messages"])
    assert in_words["role"] == "system"
    assert "JSON" in in_words["content"]
    for name in PROPOSAL_SCHEMA["properties"]:
        assert name in in_words["content"]
    assert result.request_sha256 == canonical_sha256(second)


def test_the_form_that_was_answered_is_remembered_for_this_endpoint_alone():
    with serving(NO_SCHEMA, GOOD, GOOD) as server, serving(GOOD) as other:
        ask(server.url)
        again = ask(server.url)
        elsewhere = ask(other.url)

        assert (again.requests, again.parameters["response_form"]) == (1, "json_object")
        assert sent(server)[2]["response_format"] == {"type": "json_object"}
        assert (elsewhere.requests, elsewhere.parameters["response_form"]) == (1, "json_schema")


def test_a_form_that_was_not_answered_is_not_remembered():
    with serving(NO_SCHEMA, NO_SCHEMA, GOOD) as server:
        first = ask(server.url)
        second = ask(server.url)

    assert isinstance(first, Unavailable)
    assert (first.kind, first.requests) == (UnavailableKind.REQUEST_REFUSED, 2)
    assert (second.requests, second.parameters["response_form"]) == (1, "json_schema")


def test_another_complaint_is_not_asked_again():
    with serving(refusing("max_tokens is too large"), GOOD) as server:
        result = ask(server.url)

    assert isinstance(result, Unavailable)
    assert (result.kind, result.requests) == (UnavailableKind.REQUEST_REFUSED, 1)


def test_a_refused_form_and_passing_failures_share_three_requests():
    busy = answer(b"{}", status="503 Service Unavailable")
    with serving(NO_SCHEMA, busy, busy, GOOD) as server:
        result = ask(server.url)

    assert isinstance(result, Unavailable)
    assert (result.kind, result.requests) == (UnavailableKind.SERVER_ERROR, 3)


CHUNK = b'data: {"object": "chat.completion.chunk", "choices": [{"delta": {"content": "{"}}]}\n\n'


@pytest.mark.parametrize(
    "body", [CHUNK + b"data: [DONE]\n\n", b": waiting\n\n" + CHUNK, b"\r\nevent: message\n" + CHUNK]
)
def test_a_streamed_answer_is_an_outcome_of_its_own(body):
    with serving(answer(body)) as server:
        result = ask(server.url)

    assert isinstance(result, Unavailable)
    assert (result.kind, result.requests) == (UnavailableKind.STREAMED_ANSWER, 1)


def test_a_stream_that_never_ends_is_given_up_at_its_first_header():
    head = b"HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream; charset=utf-8\r\n\r\n"
    with serving([head, *[part for _ in range(100) for part in (CHUNK, 0.1)]]) as server:
        started = time.monotonic()
        result = ask(server.url, deadline=8)

        assert isinstance(result, Unavailable)
        assert (result.kind, result.requests) == (UnavailableKind.STREAMED_ANSWER, 1)
        assert time.monotonic() - started < 4


def test_a_stream_with_an_error_status_is_that_error():
    stream = answer(CHUNK, status="400 Bad Request", headers="Content-Type: text/event-stream\r\n")
    with serving(stream) as server:
        assert ask(server.url).kind is UnavailableKind.REQUEST_REFUSED


def test_the_evidence_is_of_the_request_that_was_sent(simulator):
    result = ask(simulator.url, parameters=ModelParameters(temperature=0, max_output_tokens=200))

    (entry,) = simulator.log()
    assert result.request_sha256 == canonical_sha256(entry["body"])
    assert result.parameters == {
        "max_output_tokens": 200,
        "output_limit_field": "max_completion_tokens",
        "length_limits": False,
        "temperature": 0.0,
        "response_form": "json_schema",
        "endpoint_host": f"127.0.0.1:{simulator.port}",
    }


def test_who_declines_leaves_the_same_evidence(simulator):
    simulator.arm("refusal")
    result = ask(simulator.url)

    assert isinstance(result, Declined)
    assert result.request_sha256 == canonical_sha256(simulator.log()[0]["body"])
    assert result.parameters["response_form"] == "json_schema"


def test_an_address_with_a_password_leaves_its_host_alone(simulator):
    result = ask(simulator.url.replace("//", "//desk:canary-7731@"))

    assert "canary-7731" not in json.dumps(result.parameters)
    assert result.parameters["endpoint_host"] == f"127.0.0.1:{simulator.port}"


def test_a_name_that_does_not_resolve_in_time_ends_with_the_deadline(monkeypatch):
    stuck = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_kwargs: stuck.wait(20) and [])
    started = time.monotonic()

    result = ask("http://model.example/v1", deadline=1)

    stuck.set()
    assert isinstance(result, Unavailable)
    assert result.kind is UnavailableKind.TIMEOUT
    assert time.monotonic() - started < 2.5


def test_a_call_is_cut_off_returned_or_raised():
    stuck = threading.Event()
    assert call_within(1, lambda: 7) == 7
    with pytest.raises(KeyError):
        call_within(1, lambda: {}["nothing"])
    with pytest.raises(CutOffError):
        call_within(0.01, lambda: stuck.wait(5))
    stuck.set()


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": "hot"},
        {"temperature": 3},
        {"temperature": -0.1},
        {"max_output_tokens": 0},
        {"max_output_tokens": "x"},
        {"output_limit_field": "tokens"},
        {"length_limits": "no"},
        {"tools": True},
    ],
)
def test_parameters_that_no_server_could_use_are_refused(wrong):
    with pytest.raises(ValueError):
        ModelParameters.read(wrong)


def test_what_is_remembered_names_an_endpoint():
    with serving(GOOD) as server:
        ask(server.url)

        assert response_forms.form_of(base_url=server.url, model=MODEL) == "json_schema"
