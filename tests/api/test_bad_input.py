"""Input that no request needs: each is answered 4xx, at once, and leaves no row."""

import json
import time

import pytest

from ledger.models import AuditOutbox, ErasableText
from refunds.models import RefundWorkflow
from tests.api.calls import URL, post, problem_of


def deep(levels):
    return "[" * levels + "]" * levels


def body(message='"Charged twice."', order_number='"2841"'):
    return f'{{"message": {message}, "order_number": {order_number}}}'


CASES = {
    "nul_escape_in_message": (body(message=r'"a\u0000b"'), 422, "message_not_readable"),
    "nul_escape_in_order": (body(order_number=r'"28\u000041"'), 422, "order_number_invalid"),
    "raw_nul": (body(message='"a\x00b"'), 400, "invalid_json"),
    "bidi_override": (body(message=r'"a\u202eb"'), 422, "message_not_readable"),
    "escape_character": (body(message=r'"a\u001bb"'), 422, "message_not_readable"),
    "lone_surrogate": (body(message=r'"a\ud800b"'), 400, "lone_surrogate"),
    "lone_surrogate_in_name": (r'{"\udfff": 1}', 400, "lone_surrogate"),
    "duplicate_keys": ('{"message": "a", "message": "b", "order_number": "2841"}', 400, "duplicate_member"),
    "duplicate_escaped": (
        r'{"message": "a", "\u006dessage": "b", "order_number": "2841"}',
        400,
        "duplicate_member",
    ),
    "nan": (body(order_number="NaN"), 400, "not_a_number"),
    "infinity": (body(order_number="-Infinity"), 400, "not_a_number"),
    "infinite_float": (body(order_number="1e999"), 400, "not_a_number"),
    "huge_number": (body(order_number="9" * 100_000), 400, "invalid_json"),
    "large_number": (body(order_number=str(10**30)), 422, "order_number_not_a_text"),
    "deep": (deep(10_000), 400, "nested_too_deeply"),
    "deep_member": (body(order_number=deep(21)), 400, "nested_too_deeply"),
    "invalid_utf8": (body().encode() + b"\xff", 400, "invalid_encoding"),
    "utf16": (body().encode("utf-16"), 400, "invalid_encoding"),
    "byte_order_mark": (b"\xef\xbb\xbf" + body().encode(), 400, "invalid_json"),
    "truncated": (body()[:-1], 400, "invalid_json"),
    "trailing": (body() + "x", 400, "invalid_json"),
    "empty": ("", 422, "message_required"),
    "a_list": ("[]", 422, "body_not_an_object"),
    "a_text": ('"hello"', 422, "body_not_an_object"),
    "null": ("null", 422, "body_not_an_object"),
    "300_kilobytes": (body(message='"' + "x" * 300_000 + '"'), 413, "payload_too_large"),
    "long_message": (body(message='"' + "x" * 200_000 + '"'), 422, "message_too_long"),
    "full_width_digits": (body(order_number='"\uff12\uff18\uff14\uff11"'), 422, "order_number_invalid"),
}


@pytest.mark.failure("F136")
@pytest.mark.failure("F139")
@pytest.mark.failure("F140")
@pytest.mark.failure("F141")
@pytest.mark.parametrize("name", CASES)
def test_unusable_input_is_refused_at_once_and_leaves_no_row(api, order, name):
    sent, status, code = CASES[name]
    api.get(URL)  # the first call of a process loads what it needs
    began = time.thread_time()
    response = post(api, sent)
    assert time.thread_time() - began < 1
    assert problem_of(response) == (status, code)
    counts = (RefundWorkflow.objects.count(), ErasableText.objects.count(), AuditOutbox.objects.count())
    assert counts == (0, 0, 0)


@pytest.mark.failure("F136")
@pytest.mark.parametrize("path", [f"{URL}/wf_%00", f"{URL}?page=%00", f"{URL}/%00"])
def test_a_nul_in_the_address_is_refused(api, path):
    assert problem_of(api.get(path)) == (400, "bad_request")


@pytest.mark.failure("F136")
@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("Idempotency-Key", "a\x00b"),
        ("Cookie", "sessionid=a\x00b"),
        ("Authorization", "Token caf\u00e9\u00ff"),
    ],
)
def test_headers_that_cannot_be_used_are_refused(api, order, header, value):
    assert problem_of(post(api, body(), headers={header: value})) == (400, "bad_request")
    assert RefundWorkflow.objects.count() == 0


def test_text_of_the_whole_world_is_fine(api, order):
    words = "عُملتي خُصمت مرتين 👩‍👩‍👧 二重請求 Ζητώ"
    response = post(api, json.dumps({"message": words, "order_number": "2841"}))
    assert response.status_code == 201
    assert ErasableText.objects.get().body == words


def test_a_card_number_as_a_members_name_is_not_echoed(api):
    answer = post(api, '{"message": "Twice.", "card 4242424242424242": 1}')
    assert problem_of(answer) == (422, "unknown_field")
    assert [error["field"] for error in answer.json()["errors"]] == ["card [card number removed]"]


def test_a_card_number_as_idempotency_key_is_refused_and_not_stored(api):
    answer = post(api, body(), headers={"Idempotency-Key": "4242-4242-4242-4242"})
    assert problem_of(answer) == (422, "idempotency_key_invalid")
    assert "4242" not in answer.text
    assert not RefundWorkflow.objects.exists()
