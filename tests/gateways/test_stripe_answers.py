"""The closed answer table: every row, and everything beside it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refunds.gateways.codes import AdapterCode
from refunds.gateways.contract import STRIPE_V1
from refunds.gateways.port import AnswerClass, GatewayAnswer
from refunds.gateways.stripe_answers import ANSWER_TABLE, RATE_LIMIT_REASONS, read_submission
from refunds.gateways.wire import Exchange
from tests.gateways.builders import refund_command
from tests.gateways.test_stripe_network import OUR_REFUND

INVALID = "invalid_request_error"
MATTERS = ("object", "amount", "currency", "metadata", "charge")
TEXT = st.text(alphabet="ab_1 é\x00", max_size=6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(0.5) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


def _read(status: int | None, body: Any, **headers: str) -> GatewayAnswer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    exchange = Exchange(http_status=status, headers=named, body=json.dumps(body).encode())
    return read_submission(exchange, command=refund_command(), contract=STRIPE_V1)


def _error(status: int, error_type: str | None = INVALID, **fields: Any) -> AnswerClass:
    headers = fields.pop("headers", {})
    return _read(status, {"error": {"type": error_type, "message": "?"} | fields}, **headers).answer_class


@pytest.mark.parametrize(
    ("status", "fields"),
    [
        (400, {"code": "charge_already_refunded"}),
        (400, {"code": "charge_disputed"}),
        (400, {"code": "charge_not_refundable"}),
        (400, {"code": "refund_disputed_payment"}),
        (400, {"code": "parameter_invalid_integer", "param": "amount"}),
        (400, {"code": "parameter_missing"}),
        (400, {"code": "parameter_unknown", "param": "foo"}),
        (400, {"param": "amount"}),  # more than is left
        (400, {"param": "payment_intent"}),  # no successful charge
        (400, {"param": "reason"}),
    ],
)
def test_definite_refusals(status: int, fields: dict[str, str]) -> None:
    assert _error(status, **fields) is AnswerClass.REFUSED


def test_a_failed_request_with_valid_parameters_is_a_refusal() -> None:
    assert _error(402, "card_error", code="card_declined") is AnswerClass.REFUSED


@pytest.mark.parametrize("status", [401, 403])
def test_credentials_refused_executes_nothing(status: int) -> None:
    assert _error(status) is AnswerClass.NOT_EXECUTED


@pytest.mark.parametrize("reason", sorted(RATE_LIMIT_REASONS))
def test_a_limiter_executes_nothing(reason: str) -> None:
    answer = _read(429, {"error": {"type": INVALID}}, stripe_rate_limited_reason=reason)
    assert answer.answer_class is AnswerClass.NOT_EXECUTED


@pytest.mark.parametrize(
    ("status", "error_type", "fields"),
    [
        (400, "idempotency_error", {}),
        (400, "idempotency_error", {"code": "charge_already_refunded"}),
        (400, INVALID, {}),
        (400, INVALID, {"code": "rate_limit"}),
        (400, INVALID, {"code": "lock_timeout", "param": "amount"}),
        (400, INVALID, {"code": "some_code_of_next_year", "param": "amount"}),
        (400, INVALID, {"param": "customer"}),
        (400, "api_error", {"code": "charge_already_refunded"}),
        (400, None, {"code": "charge_already_refunded"}),
        (402, INVALID, {}),
        (404, INVALID, {}),
        (404, INVALID, {"code": "resource_missing", "param": "charge"}),
        (404, INVALID, {"code": "charge_already_refunded"}),
        (409, INVALID, {"code": "idempotency_key_in_use"}),
        (409, "idempotency_error", {"code": "idempotency_key_in_use"}),
        (424, "api_error", {}),
        (429, INVALID, {"code": "lock_timeout"}),
        (429, INVALID, {"code": "rate_limit"}),
        (429, INVALID, {"headers": {"stripe_rate_limited_reason": "some-reason-of-next-year"}}),
        (500, "api_error", {}),
        (502, "api_error", {}),
        (503, "api_error", {}),
        (504, "api_error", {}),
        (418, INVALID, {"code": "charge_disputed"}),
        (201, INVALID, {}),
        (302, INVALID, {}),
    ],
)
def test_everything_else_is_unknown(status: int, error_type: str | None, fields: dict[str, Any]) -> None:
    assert _error(status, error_type, **fields) is AnswerClass.UNKNOWN


@pytest.mark.parametrize(
    ("status", "answer_class"),
    [
        ("succeeded", AnswerClass.ACCEPTED),
        ("pending", AnswerClass.PENDING),
        ("requires_action", AnswerClass.PENDING),
        ("failed", AnswerClass.FAILED),
        ("canceled", AnswerClass.FAILED),
        ("status_of_next_year", AnswerClass.UNKNOWN),
    ],
)
def test_our_object_speaks_by_its_status(status: str, answer_class: AnswerClass) -> None:
    answer = _read(200, OUR_REFUND | {"status": status})
    assert answer.answer_class is answer_class
    assert answer.refund is not None
    assert answer.refund.provider_status == status
    assert answer.refund.processor_reference == "re_3Qours"


def test_an_unknown_status_of_our_object_says_so() -> None:
    assert _read(200, OUR_REFUND | {"status": "new"}).error_code == AdapterCode.STATUS_UNRECOGNISED


@pytest.mark.parametrize(
    ("changes", "differing"),
    [
        ({"metadata": {"refund_operation_id": "rfop_other"}}, "operation_id"),
        ({"metadata": {}}, "operation_id"),
        ({"metadata": None}, "operation_id"),
        ({"amount": 5000}, "amount_minor_units"),
        ({"currency": "eur"}, "currency"),
        ({"charge": "ch_A1"}, "payment_reference"),
        ({"charge": None}, "unreadable"),
        ({"amount": "4999"}, "unreadable"),
        ({"amount": True}, "unreadable"),
        ({"amount": 4999.0}, "unreadable"),
        ({"amount": -4999}, "unreadable"),
        ({"object": "charge"}, "unreadable"),
        ({"id": None}, "unreadable"),
        ({"id": "re_1\n"}, "unreadable"),
        ({"status": None}, "unreadable"),
        ({"currency": "ugx"}, "unreadable"),
    ],
)
def test_an_object_that_is_not_ours_proves_nothing(changes: dict[str, Any], differing: str) -> None:
    answer = _read(200, OUR_REFUND | changes)
    assert answer.answer_class is AnswerClass.UNKNOWN
    assert answer.refund is None
    assert answer.error_code == AdapterCode.OBJECT_NOT_OURS
    assert answer.detail == f"OBJECT_NOT_OURS {differing}"


def test_an_object_that_differs_twice_says_both() -> None:
    answer = _read(200, OUR_REFUND | {"amount": 1, "currency": "eur"})
    assert answer.detail == "OBJECT_NOT_OURS amount_minor_units currency"


def test_an_error_in_a_200_is_not_a_refund() -> None:
    assert _error(200, code="charge_disputed") is AnswerClass.UNKNOWN


def test_an_expanded_charge_is_read_by_its_id() -> None:
    answer = _read(200, OUR_REFUND | {"charge": {"id": "ch_A2", "object": "charge"}})
    assert answer.answer_class is AnswerClass.ACCEPTED


def test_a_replay_is_marked() -> None:
    assert _read(200, OUR_REFUND, idempotent_replayed="true").replayed is True
    assert _read(200, OUR_REFUND).replayed is False


def test_codes_and_ids_reach_rows_only_as_plain_words() -> None:
    answer = _read(
        400,
        {"error": {"type": "x" * 65, "code": "card 4242 4242", "message": "secret words"}},
        request_id="req 1 <script>",
    )
    assert (answer.error_type, answer.error_code, answer.request_id) == (None, None, None)
    assert answer.detail == "400"


def test_every_row_cites_a_public_page() -> None:
    assert all(rule.source.startswith("docs.stripe.com/") for rule in ANSWER_TABLE)


def test_every_class_but_unknown_needs_a_row() -> None:
    listed = {
        (rule.http_status, rule.answer_class)
        for rule in ANSWER_TABLE
        if rule.answer_class is not AnswerClass.UNKNOWN
    }
    assert listed == {
        (400, AnswerClass.REFUSED),
        (401, AnswerClass.NOT_EXECUTED),
        (402, AnswerClass.REFUSED),
        (403, AnswerClass.NOT_EXECUTED),
        (429, AnswerClass.NOT_EXECUTED),
    }


@given(status=st.integers(100, 599), body=JSON)
def test_any_json_is_unknown_unless_the_table_says_more(status: int, body: Any) -> None:
    assert _read(status, body).answer_class is AnswerClass.UNKNOWN


@given(status=st.integers(100, 599), body=st.binary(max_size=200))
def test_any_bytes_are_read_without_raising(status: int, body: bytes) -> None:
    exchange = Exchange(http_status=status, body=body)
    answer = read_submission(exchange, command=refund_command(), contract=STRIPE_V1)
    assert answer.answer_class is AnswerClass.UNKNOWN


@given(
    status=st.integers(100, 599),
    error=st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from([INVALID, "api_error", "card_error", "idempotency_error"]) | JSON,
            "code": st.sampled_from(["charge_disputed", "resource_missing", "lock_timeout"]) | JSON,
            "param": st.sampled_from(["amount", "customer"]) | JSON,
            "message": JSON,
        },
    ),
    reason=st.sampled_from(["", "global-rate", "other"]),
)
def test_any_error_is_read_without_raising(status: int, error: dict[str, Any], reason: str) -> None:
    answer = _read(status, {"error": error}, stripe_rate_limited_reason=reason)
    if status >= 500 or status in (200, 409, 424):
        assert answer.answer_class is AnswerClass.UNKNOWN
    assert answer.refund is None


@given(changes=st.dictionaries(st.sampled_from(sorted(OUR_REFUND)), JSON, min_size=1, max_size=4))
def test_an_object_with_any_fields_is_ours_only_if_nothing_that_matters_changed(
    changes: dict[str, Any],
) -> None:
    answer = _read(200, OUR_REFUND | changes)
    unchanged = all(changes.get(name, OUR_REFUND[name]) == OUR_REFUND[name] for name in MATTERS)
    assert unchanged or answer.refund is None
    assert answer.refund is not None or answer.answer_class is AnswerClass.UNKNOWN
