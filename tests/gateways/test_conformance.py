"""The rows of the conformance list that bind a client, one test each, named by the row's number.

The rows that bind the provider are tested in ``tests/conformance``; what a row means for whole operations, with their
rows in the database, is tested beside the stages.
"""

import json
import socket
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refunds.gateways.codes import AdapterCode
from refunds.gateways.contract import STRIPE_V1, AmountNotRepresentableError
from refunds.gateways.port import AnswerClass, GatewayAnswer, ProviderStatus
from refunds.gateways.stripe_answers import read_submission
from refunds.gateways.stripe_commands import create_parameters
from refunds.gateways.wire import Exchange
from refunds.states import (
    ABANDONED_OPERATION_STATES,
    OPERATION_TABLE,
    CheckVerdict,
    OperationState,
    WorkflowState,
    coupled_workflow_state,
)
from refunds.verdicts import Judgement, OperationFacts, judge, state_after_answer, state_after_check
from tests.gateways.builders import refund_command, stripe_gateway_at
from tests.gateways.golden.cases import (
    AMOUNT,
    CURRENCY,
    ID,
    START,
    event,
    h,
    listed,
    lost,
    m,
    never_sent,
    ours,
    refused,
    retrieved,
    settled,
    theirs,
    unread,
)
from tests.gateways.raw_server import RawServer, http_answer
from tests.gateways.test_stripe_network import OUR_REFUND

_A, _O, _S, _V = AnswerClass, OperationState, ProviderStatus, CheckVerdict
UNKNOWN = _O.STATUS_UNKNOWN
LATER = h(2)
ROWS = {*range(14, 27), 39, *range(41, 46), *range(49, 54), 55, 56}


def answer_to(status: int, error: dict[str, Any] | None = None, **headers: str) -> GatewayAnswer:
    named = {name.lower().replace("_", "-"): value for name, value in headers.items()}
    body = OUR_REFUND if error is None else {"error": {"message": "?"} | error}
    exchange = Exchange(http_status=status, headers=named, body=json.dumps(body).encode())
    return read_submission(exchange, command=refund_command(), contract=STRIPE_V1)


def verdict(*attempts: Any, at: timedelta = LATER, lookups: Any = None, **told: Any) -> Judgement:
    facts = OperationFacts(ID, AMOUNT, CURRENCY, None, attempts, livemode=False)
    found = (listed(),) if lookups is None else lookups
    return judge(facts, found, contract=STRIPE_V1, now=START + at, **told)


def test_every_row_has_its_test() -> None:
    named = {int(name.split("_")[2]) for name in globals() if name.startswith("test_row_")}
    assert named == ROWS


# -- idempotency


def test_row_14_past_the_safe_window_nothing_makes_an_operation_executable() -> None:
    judgement = verdict(lost(), at=timedelta(seconds=STRIPE_V1.safe_resend_seconds))
    assert judgement.verdict is _V.NOT_FOUND_YET
    assert state_after_check(UNKNOWN, judgement) is None


def test_row_15_a_resend_is_the_same_bytes(raw_server: RawServer) -> None:
    raw_server.resets_after_the_request()
    for _ in range(2):  # as two processes would
        stripe_gateway_at(raw_server.url).submit_refund(refund_command(account="acct_1"))
    first, second = raw_server.requests
    assert first == second
    for part in (b"\r\nIdempotency-Key: refund:rfop_01K2TEST", b"\r\nStripe-Account: acct_1"):
        assert part.lower() in first.lower()
    assert f"\r\nstripe-version: {STRIPE_V1.api_version}".encode() in first.lower()


def test_row_16_silence_is_unknown_and_the_next_call_has_the_same_key(raw_server: RawServer) -> None:
    raw_server.says_nothing()
    gateway = stripe_gateway_at(raw_server.url, answer=0.2)
    assert gateway.submit_refund(refund_command()).answer_class is _A.UNKNOWN
    gateway.submit_refund(refund_command())
    keys = {
        line
        for request in raw_server.requests
        for line in request.lower().split(b"\r\n")
        if b"idempotency" in line
    }
    assert keys == {b"idempotency-key: refund:rfop_01k2test"}


@pytest.mark.parametrize("hours", [1, 21, 30])
def test_row_17_a_500_is_unknown_and_never_absent(hours: int) -> None:
    assert answer_to(500, {"type": "api_error"}).answer_class is _A.UNKNOWN
    judgement = verdict(lost(http=500), at=h(hours))
    assert judgement.verdict is _V.NOT_FOUND_YET
    assert state_after_check(UNKNOWN, judgement) is None


def test_row_18_a_500_that_is_replayed_is_no_evidence() -> None:
    answer = answer_to(500, {"type": "api_error"}, Idempotent_Replayed="true")
    assert (answer.answer_class, answer.replayed) == (_A.UNKNOWN, True)
    once, twice = verdict(lost(http=500)), verdict(lost(http=500), lost(m(30), http=500))
    assert (once.verdict, once.refund) == (twice.verdict, twice.refund)


@pytest.mark.failure("F020")
@pytest.mark.parametrize("error_type", ["invalid_request_error", "idempotency_error"])
def test_row_19_a_key_in_use_fails_nothing_and_proves_nothing(error_type: str) -> None:
    answer = answer_to(409, {"type": error_type, "code": STRIPE_V1.in_flight.code.value})
    assert answer.answer_class is _A.UNKNOWN
    assert state_after_answer(_O.SUBMITTED, answer.answer_class, earlier=[]) is UNKNOWN
    in_use = lost(http=409, kind=error_type, code="idempotency_key_in_use")
    assert verdict(in_use, at=m(5)).verdict is _V.NOT_FOUND_YET


def test_row_20_a_429_after_an_ambiguous_call_changes_nothing() -> None:
    answer = answer_to(429, {"type": "invalid_request_error"}, Stripe_Rate_Limited_Reason="global-rate")
    assert answer.answer_class is _A.NOT_EXECUTED
    assert state_after_answer(_O.SUBMITTED, answer.answer_class, earlier=[_A.UNKNOWN]) is UNKNOWN
    assert state_after_answer(_O.SUBMITTED, answer.answer_class, earlier=[None]) is UNKNOWN
    for at in (m(14), m(20)):
        limited = never_sent(m(10), http=429)
        assert verdict(lost(), limited, at=at).verdict is verdict(lost(), at=at).verdict


@pytest.mark.parametrize(
    ("status", "error", "answer_class"),
    [
        (409, {"type": "invalid_request_error", "code": "idempotency_key_in_use"}, _A.UNKNOWN),
        (429, {"type": "invalid_request_error", "code": "lock_timeout"}, _A.UNKNOWN),
        (500, {"type": "api_error"}, _A.UNKNOWN),
        (503, {"type": "api_error"}, _A.UNKNOWN),
        (401, {"type": "invalid_request_error"}, _A.NOT_EXECUTED),
        (400, {"type": "invalid_request_error", "code": "charge_disputed"}, _A.REFUSED),
    ],
)
def test_row_21_a_write_says_whether_the_provider_forbade_another(
    status: int, error: dict[str, Any], answer_class: AnswerClass
) -> None:
    said = {
        value: answer_to(status, error, Stripe_Should_Retry=value) for value in ("true", "false", "FALSE", "")
    }
    assert {answer.answer_class for answer in said.values()} == {answer_class}
    assert {value for value, answer in said.items() if answer.retry_forbidden} == {"false", "FALSE"}
    assert answer_to(status, error).retry_forbidden is False


@pytest.mark.parametrize(
    ("status", "said", "requests"),
    [
        (503, "false", 1),
        (500, "false", 1),
        (429, "false", 1),
        (409, "true", 3),
        (400, "true", 3),
        (503, "true", 3),
        (503, None, 3),
        (429, None, 3),
        (409, None, 1),
        (400, None, 1),
        (503, "perhaps", 3),
        (200, "true", 1),
    ],
)
def test_row_21_reads_are_tried_again_as_the_answer_says(
    raw_server: RawServer, waits: list[float], status: int, said: str | None, requests: int
) -> None:
    headers = {} if said is None else {"Stripe_Should_Retry": said}
    raw_server.answers(http_answer(status, b'{"error": {"type": "api_error"}}', **headers))
    gateway = stripe_gateway_at(raw_server.url, waits=waits)
    found = gateway.list_refunds(payment_reference="ch_A2", account="")
    assert (found.complete, found.attempts, len(raw_server.requests)) == (False, requests, requests)
    assert len(waits) == requests - 1


@pytest.mark.failure("F016")
def test_row_22_a_key_of_another_request_freezes_the_operation_for_people() -> None:
    rule = STRIPE_V1.mismatch
    answer = answer_to(rule.http.value or 0, {"type": rule.error_type.value})
    assert answer.answer_class is _A.UNKNOWN
    judgement = verdict(lost(http=answer.http_status, kind=answer.error_type or ""))
    assert judgement.hopeless
    assert state_after_check(UNKNOWN, judgement) is _O.MANUAL_REVIEW
    # And a command never gets a key that is not its own: without one it is not sent.
    unsent = stripe_gateway_at("http://127.0.0.1:1").submit_refund(
        replace(refund_command(), idempotency_key="")
    )
    assert (unsent.answer_class, unsent.error_code) == (_A.REFUSED, AdapterCode.KEY_NOT_USABLE)


@pytest.mark.parametrize("status", [409, 429, 500, 503])
def test_row_23_the_code_is_read_from_the_body(raw_server: RawServer, status: int) -> None:
    raw_server.answers(http_answer(status, b'{"error": {"type": "api_error", "code": "lock_timeout"}}'))
    answer = stripe_gateway_at(raw_server.url).submit_refund(refund_command())
    assert (answer.error_type, answer.error_code) == ("api_error", "lock_timeout")


@pytest.mark.parametrize("status", [409, 429, 500, 503])
def test_row_24_one_attempt_is_one_request(raw_server: RawServer, status: int) -> None:
    raw_server.answers(http_answer(status, b'{"error": {"type": "api_error"}}', Stripe_Should_Retry="true"))
    stripe_gateway_at(raw_server.url).submit_refund(refund_command())
    assert (raw_server.connections, len(raw_server.requests)) == (1, 1)


def test_row_25_only_v1_is_spoken_and_its_window_is_counted_on(raw_server: RawServer) -> None:
    raw_server.answers(http_answer(404, b'{"error": {"type": "invalid_request_error"}}'))
    gateway = stripe_gateway_at(raw_server.url)
    gateway.submit_refund(refund_command())
    gateway.list_refunds(payment_reference="ch_A2", account="")
    gateway.retrieve_refund(processor_reference="re_1", account="")
    assert [request.split(b" ")[1].split(b"?")[0] for request in raw_server.requests] == [
        b"/v1/refunds",
        b"/v1/refunds",
        b"/v1/refunds/re_1",
    ]
    assert STRIPE_V1.idempotency_key_retention_seconds == timedelta(days=1).total_seconds()
    assert STRIPE_V1.replay.result.value == "FIRST_ANSWER"


def test_row_26_a_refused_operation_is_never_sent_again() -> None:
    refusal = answer_to(400, {"type": "invalid_request_error", "code": "charge_disputed"})
    assert state_after_answer(_O.SUBMITTED, refusal.answer_class, earlier=[]) is _O.REJECTED
    assert _O.REJECTED in ABANDONED_OPERATION_STATES
    assert OPERATION_TABLE.targets[_O.REJECTED] == {_O.MANUAL_REVIEW}
    assert _O.SUBMITTED not in OPERATION_TABLE.targets[_O.MANUAL_REVIEW]


# -- refund semantics


@pytest.mark.failure("F045")
@pytest.mark.parametrize(
    ("amount", "currency", "theirs_is"),
    [
        (500, "JPY", 500),
        (5120, "KWD", 5120),
        (5124, "KWD", None),
        (5, "ISK", 500),
        (500, "MGA", 5),
        (550, "MGA", None),
        (14505, "EUR", 14505),
        (100, "UGX", None),
    ],
)
def test_row_39_amounts_are_written_by_the_currency(
    amount: int, currency: str, theirs_is: int | None
) -> None:
    if theirs_is is None:
        with pytest.raises(AmountNotRepresentableError):
            STRIPE_V1.provider_amount(amount_minor_units=amount, currency=currency)
        return
    assert STRIPE_V1.provider_amount(amount_minor_units=amount, currency=currency) == theirs_is
    assert STRIPE_V1.minor_units(provider_amount=theirs_is, currency=currency) == amount


@pytest.mark.failure("F022")
@pytest.mark.parametrize("days", [1, 29, 400])
def test_row_41_what_succeeded_can_fail_later(days: int) -> None:
    horizon = STRIPE_V1.status_words.late_failure_horizon_seconds.value
    assert horizon is not None
    assert timedelta(seconds=horizon) >= timedelta(days=30)
    assert "succeeded" in STRIPE_V1.status_words.not_final.value
    judgement = verdict(lost(), at=timedelta(days=days), lookups=(listed(ours(_S.FAILED)),))
    assert state_after_check(_O.COMPLETED, judgement) is _O.FAILED


@pytest.mark.failure("F023")
def test_row_42_canceled_means_that_no_money_was_sent() -> None:
    for status in (_S.CANCELED, _S.FAILED):
        assert verdict(lost(), lookups=(listed(ours(status)),)).verdict is _V.CONFIRMED_FAILED
    assert STRIPE_V1.status("canceled") is _S.CANCELED


WORDS = st.text(min_size=1, max_size=40)


@given(status=WORDS, reason=WORDS | st.none())
def test_row_43_unknown_words_break_nothing_and_go_to_people(status: str, reason: str | None) -> None:
    body = OUR_REFUND | {"status": status, "failure_reason": reason}
    exchange = Exchange(http_status=200, body=json.dumps(body).encode())
    answer = read_submission(exchange, command=refund_command(), contract=STRIPE_V1)
    assert answer.answer_class is _A.UNKNOWN or status in STRIPE_V1.statuses
    judgement = verdict(lost(), lookups=(listed(ours(_S.UNRECOGNISED)),))
    assert state_after_check(UNKNOWN, judgement) is _O.MANUAL_REVIEW


def test_row_44_what_failed_after_it_succeeded_is_for_people_and_never_sent_anew() -> None:
    assert OPERATION_TABLE.targets[_O.FAILED] == {_O.MANUAL_REVIEW}
    coupled = coupled_workflow_state(WorkflowState.COMPLETED, _O.FAILED, left=_O.COMPLETED)
    assert coupled is WorkflowState.MANUAL_REVIEW


@given(reason_code=st.text(max_size=30) | st.sampled_from(["FRAUDULENT", "fraudulent", "DUPLICATE_CHARGE"]))
def test_row_45_no_reason_ever_blocks_the_customers_card(reason_code: str) -> None:
    parameters = create_parameters(refund_command(reason_code=reason_code), STRIPE_V1)
    assert parameters.get("reason") in {None, "duplicate"}


# -- look-ups and evidence


def _pages(raw_server: RawServer, *pages: dict[str, Any]) -> None:
    answers: Iterator[bytes] = iter(
        [http_answer(200, json.dumps({"object": "list"} | page).encode()) for page in pages]
    )

    def treat(connection: socket.socket) -> None:
        raw_server.read_request(connection)
        connection.sendall(next(answers))

    raw_server.treat = treat


def test_row_49_every_page_is_read_in_the_operations_own_account(raw_server: RawServer) -> None:
    other = OUR_REFUND | {"id": "re_2", "metadata": {}}
    _pages(raw_server, {"data": [other], "has_more": True}, {"data": [OUR_REFUND], "has_more": False})
    found = stripe_gateway_at(raw_server.url).list_refunds(payment_reference="ch_A2", account="acct_1")
    assert (found.complete, [fact.processor_reference for fact in found.refunds]) == (
        True,
        ["re_2", "re_3Qours"],
    )
    assert all(b"\r\nstripe-account: acct_1" in request.lower() for request in raw_server.requests)
    assert b"starting_after=re_2" in raw_server.requests[1]


def test_row_50_an_empty_list_before_the_horizon_is_not_absence() -> None:
    horizon = timedelta(seconds=STRIPE_V1.in_flight_horizon_seconds)
    assert verdict(lost(), at=horizon - timedelta(seconds=1)).verdict is _V.NOT_FOUND_YET
    assert verdict(lost(), at=horizon).verdict is _V.CONFIRMED_ABSENT


def test_row_51_the_same_amount_without_our_id_is_not_ours() -> None:
    for lookups in ((listed(theirs()),), (unread("refunds.list", theirs()),), (retrieved(theirs()),)):
        judgement = verdict(lost(), at=m(1), lookups=lookups)
        assert judgement.refund is None
        assert judgement.verdict in {_V.NOT_FOUND_YET, _V.STILL_AMBIGUOUS}


def test_row_52_an_event_of_our_refund_proves_that_there_is_one() -> None:
    judgement = verdict(lost(), events=[event("refund.created")])
    assert (judgement.verdict, judgement.told) == (_V.NOT_FOUND_YET, True)
    assert state_after_check(_O.CONFIRMED_ABSENT, judgement) is _O.PROVIDER_PENDING


@given(minutes=st.integers(0, 60 * 24 * 400), http=st.sampled_from([None, 409, 429, 500, 503]))
def test_row_53_no_event_is_no_conclusion(minutes: int, http: int | None) -> None:
    unreadable = (unread("refunds.list"),)
    assert (
        verdict(lost(http=http), at=m(minutes), lookups=unreadable, events=[]).verdict is _V.STILL_AMBIGUOUS
    )


def test_row_55_a_part_of_a_capture_that_was_given_up_is_no_refund_of_ours() -> None:
    row = settled("PARTIAL_CAPTURE_REVERSAL")
    assert verdict(lost(), settlements=[row]).told is False
    assert verdict(lost(), settlements=[settled()]).told is True


@pytest.mark.parametrize("attempt", [lost(), refused(http=400, code="charge_disputed"), lost(http=404)])
def test_row_56_a_404_is_no_absence(attempt: Any) -> None:
    assert (
        answer_to(404, {"type": "invalid_request_error", "code": "resource_missing"}).answer_class
        is _A.UNKNOWN
    )
    for surface in ("refunds.list", "refunds.retrieve"):
        judgement = verdict(attempt, lookups=(unread(surface, http=404),))
        assert judgement.verdict is _V.STILL_AMBIGUOUS
        assert state_after_check(UNKNOWN, judgement) in {None, _O.MANUAL_REVIEW}
