"""What a model said, or did not say, as the port tells it."""

import json

import pytest

from refunds.proposers.port import Declined, DeclinedKind, Proposed, Unavailable, UnavailableKind
from refunds.proposers.schema import Malformed, parse_proposal
from tests.proposers.asking import ask, choice, completion
from tests.proposers.raw_server import answer, serving
from tests.proposers.samples import GOOD_TEXT, proposal_text

DECLINED = [
    ({"kind": "refusal"}, DeclinedKind.REFUSAL),
    ({"kind": "content_filter"}, DeclinedKind.CONTENT_FILTER),
    ({"kind": "truncation"}, DeclinedKind.TRUNCATED),
    ({"kind": "tool_calls"}, DeclinedKind.TOOL_CALL),
    ({"kind": "empty_choices"}, DeclinedKind.EMPTY),
    ({"kind": "hostile", "content": "  "}, DeclinedKind.EMPTY),
]


@pytest.mark.parametrize(("fault", "kind"), DECLINED)
def test_a_model_that_declines_is_asked_once(simulator, fault, kind):
    simulator.control("POST", "faults", fault | {"count": None})

    result = ask(simulator.url)

    assert isinstance(result, Declined)
    assert (result.kind, result.requests) == (kind, 1)
    assert result.model_snapshot == "demo-proposer-1-2026-08-01"
    assert len(simulator.log()) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"choices": null}',
        b'{"choices": [null]}',
        b'{"choices": [{}]}',
        b'{"choices": [{"message": []}]}',
        b'{"error": {"message": "overloaded"}}',
        b"<html>Bad gateway</html>",
        b"[" * 100_000,
        b"9" * 10_000,
        b"\xff\xfe",
        completion(choice(content=[{"type": "text", "text": "hello"}])),
        completion(choice(content=7)),
    ],
)
def test_a_body_that_is_no_completion_is_unreadable(body):
    with serving(answer(body)) as server:
        result = ask(server.url)

    assert isinstance(result, Unavailable)
    assert (result.kind, result.requests) == (UnavailableKind.UNREADABLE_ANSWER, 1)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (completion(choice(content=GOOD_TEXT), choice(content=GOOD_TEXT)), DeclinedKind.EMPTY),
        (completion(choice(content=GOOD_TEXT, refusal="no")), DeclinedKind.REFUSAL),
        (completion(choice("content_filter", content=GOOD_TEXT)), DeclinedKind.CONTENT_FILTER),
        (completion(choice("length", content=GOOD_TEXT)), DeclinedKind.TRUNCATED),
        (completion(choice(content=GOOD_TEXT, tool_calls=[{"id": "1"}] * 5)), DeclinedKind.TOOL_CALL),
        (completion(choice(content=GOOD_TEXT, function_call={"name": "x"})), DeclinedKind.TOOL_CALL),
        (completion(choice("tool_calls", content=GOOD_TEXT)), DeclinedKind.TOOL_CALL),
    ],
)
def test_a_good_content_does_not_hide_that_the_model_declined(body, kind):
    with serving(answer(body)) as server:
        result = ask(server.url)

    assert isinstance(result, Declined)
    assert result.kind is kind


@pytest.mark.parametrize("model", [None, 7, "", "a b", "x" * 201, "m\nforged", {"a": 1}])
def test_a_snapshot_that_is_no_name_is_replaced_by_the_model_that_was_asked(model):
    with serving(answer(completion(choice(content=GOOD_TEXT), model=model))) as server:
        result = ask(server.url)

    assert isinstance(result, Proposed)
    assert result.model_snapshot == "demo-proposer-1"


@pytest.mark.parametrize("content", ["a\x00b", "a\ud800b", proposal_text().replace("charge", "\udc00")])
def test_what_a_database_cannot_hold_is_replaced_and_stays_unsafe(content):
    body = json.dumps({"choices": [choice(content=content)]}).encode()
    with serving(answer(body)) as server:
        result = ask(server.url)

    assert isinstance(result, Proposed)
    assert "\x00" not in result.raw_text
    assert result.raw_text.encode().decode() == result.raw_text
    assert parse_proposal(result.raw_text) == Malformed(repairable=False, reason="UNSAFE_CHARACTERS")


@pytest.mark.parametrize("content", ["a" * 200_000, GOOD_TEXT + " " * 200_000])
def test_a_content_that_is_too_large_is_kept_only_in_part_and_stays_too_large(content):
    with serving(answer(completion(choice(content=content)))) as server:
        result = ask(server.url)

    assert isinstance(result, Proposed)
    assert len(result.raw_text) == 16_384
    assert parse_proposal(result.raw_text) == Malformed(repairable=False, reason="TOO_LARGE")
