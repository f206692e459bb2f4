"""Facts 10, items 1 to 13 of the provider's side; docs.stripe.com/api/idempotent_requests, /error-low-level."""

import time
from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest

from tests.conformance.provider import Payment, Provider
from tests.simulators.raw import Raw

NewKey = Callable[[], str]

_LIMITERS = {
    "global-rate",
    "global-concurrency",
    "endpoint-rate",
    "endpoint-concurrency",
    "resource-specific",
}
_DAY = 86_400


def replayed(answer: Raw) -> bool:
    return answer.headers.get("idempotent-replayed") == "true"


def is_idempotency_error(answer: Raw) -> bool:
    return (answer.status, answer.error["type"]) == (400, "idempotency_error")


def test_01_the_same_request_again_is_answered_the_same_and_does_nothing(
    provider: Provider, new_key: NewKey
) -> None:
    payment, key = provider.pay(), new_key()
    first = provider.refund(payment, key, amount=100)
    again = provider.refund(payment, key, amount=100)
    assert (first.status, again.status) == (200, 200)
    assert again.json == first.json
    assert replayed(again)
    assert not replayed(first)
    assert provider.amounts(payment) == [100]
    refund = first.json["id"]
    created = provider.wait_for(lambda: provider.events_about(refund, "refund.created"))
    assert [one["request"]["idempotency_key"] for one in created] == [key]


def test_01_the_ledger_has_one_row(provider: Provider, new_key: NewKey) -> None:
    payment, key = provider.pay(), new_key()
    first = provider.refund(payment, key, amount=100).json
    provider.refund(payment, key, amount=100)
    rows = provider.call("GET", "/v1/balance_transactions", {"source": first["id"]}).json["data"]
    assert [(row["type"], row["amount"]) for row in rows] == [("refund", -100)]


def test_02_a_refusal_is_kept_like_a_result(provider: Provider, new_key: NewKey) -> None:
    payment, key = provider.pay(), new_key()
    provider.refund(payment)
    first = provider.refund(payment, key)
    again = provider.refund(payment, key)
    for answer in (first, again):
        assert (answer.status, answer.error["code"]) == (400, "charge_already_refunded")
    assert replayed(again)


def test_02_also_when_it_would_no_longer_be_refused(provider: Provider, new_key: NewKey) -> None:
    control, payment, key = provider.control, provider.pay(), new_key()
    made = provider.refund(payment).json
    first = provider.refund(payment, key)
    control.set_refund_status(made["id"], "failed")
    assert provider.refund(payment, key).body == first.body
    assert provider.refund(payment, new_key()).status == 200


@pytest.mark.parametrize("book", [True, False])
def test_03_a_500_stays_a_500(provider: Provider, new_key: NewKey, book: bool) -> None:
    control, payment, key = provider.control, provider.pay(), new_key()
    control.arm("status", status=500, book=book)
    answers = [provider.refund(payment, key, amount=100) for _ in range(5)]
    assert [answer.status for answer in answers] == [500] * 5
    assert len({answer.body for answer in answers}) == 1
    assert provider.amounts(payment) == [100] * book


def test_04_other_parameters_under_a_key_are_an_error_and_execute_nothing(
    provider: Provider, new_key: NewKey
) -> None:
    payment, key = provider.pay(), new_key()
    first = provider.refund(payment, key, amount=100)
    assert is_idempotency_error(provider.refund(payment, key, amount=200))
    assert provider.amounts(payment) == [100]
    assert provider.refund(payment, key, amount=100).json == first.json


def test_05_another_endpoint_under_a_key_is_an_error_that_names_both(
    provider: Provider, new_key: NewKey
) -> None:
    payment, key = provider.pay(), new_key()
    made = provider.refund(payment, key, amount=100).json
    other = f"/v1/refunds/{made['id']}"
    answer = provider.call("POST", other, {"metadata[note]": "x"}, key=key)
    assert is_idempotency_error(answer)
    assert other in answer.error["message"]
    assert "/v1/refunds'" in answer.error["message"]


def in_flight(provider: Provider, payment: Payment, key: str, kind: str) -> tuple[Thread, list[Raw]]:
    """Begin a request that stays under way until it is released."""
    control, answers = provider.control, []
    control.arm(kind, seconds=60)
    thread = Thread(target=lambda: answers.append(provider.refund(payment, key, amount=100)))
    thread.start()
    control.wait_until_waiting()
    return thread, answers


@pytest.mark.parametrize(("kind", "booked"), [("delay_before", []), ("executing", [100])])
def test_06_07_while_a_key_executes_others_are_told_at_once_and_later_get_its_result(
    provider: Provider, new_key: NewKey, kind: str, booked: list[int]
) -> None:
    payment, key = provider.pay(), new_key()
    thread, answers = in_flight(provider, payment, key, kind)
    began = time.monotonic()
    refused = [provider.refund(payment, key, amount=100) for _ in range(2)]
    assert time.monotonic() - began < 2
    assert [(one.status, one.error["code"]) for one in refused] == [(409, "idempotency_key_in_use")] * 2
    assert provider.amounts(payment) == booked
    provider.control.release()
    thread.join(20)
    (first,) = answers
    again = provider.refund(payment, key, amount=100)
    assert (first.status, again.body, replayed(again)) == (200, first.body, True)
    assert provider.amounts(payment) == [100]


@pytest.mark.parametrize("bad", [{"amount": "ten"}, {"amount": 0}, {"reason": "other"}, {"colour": "blue"}])
def test_08_what_never_began_is_not_kept(provider: Provider, new_key: NewKey, bad: dict[str, Any]) -> None:
    payment, key = provider.pay(), new_key()
    assert provider.refund(payment, key, **({"amount": 100} | bad)).status == 400
    made = provider.refund(payment, key, amount=100)
    assert (made.status, replayed(made)) == (200, False)


def test_09_a_limiter_stops_replays_too_and_forgets_nothing(provider: Provider, new_key: NewKey) -> None:
    control, payment, key = provider.control, provider.pay(), new_key()
    first = provider.refund(payment, key, amount=100)
    control.set_undocumented(requests_per_second=0)
    limited = provider.refund(payment, key, amount=100)
    control.set_undocumented(requests_per_second=None)
    assert limited.status == 429
    again = provider.refund(payment, key, amount=100)
    assert (again.body, replayed(again)) == (first.body, True)


@pytest.mark.parametrize("later", [0.0, 3600.0])
def test_10_a_pruned_key_executes_again(provider: Provider, new_key: NewKey, later: float) -> None:
    control, payment, key = provider.control, provider.pay(), new_key()
    control.set_undocumented(prune_delay_seconds=later)
    provider.refund(payment, key, amount=100)
    control.advance(_DAY + later - 30)
    assert replayed(provider.refund(payment, key, amount=100))
    control.advance(30)
    again = provider.refund(payment, key, amount=100)
    assert (again.status, replayed(again)) == (200, False)
    assert provider.amounts(payment) == [100, 100]


def test_11_a_key_has_up_to_255_characters(provider: Provider, new_key: NewKey) -> None:
    payment, key = provider.pay(), new_key()
    assert provider.refund(payment, key.ljust(256, "x"), amount=100).status == 400
    assert provider.refund(payment, key.ljust(255, "x"), amount=100).status == 200
    assert provider.amounts(payment) == [100]


def test_12_a_key_on_a_read_has_no_effect(provider: Provider, new_key: NewKey) -> None:
    payment, key = provider.pay(), new_key()
    form = {"charge": payment.charge}
    before = provider.call("GET", "/v1/refunds", form, key=key)
    provider.refund(payment, amount=100)
    after = provider.call("GET", "/v1/refunds", form, key=key)
    assert (len(before.json["data"]), len(after.json["data"])) == (0, 1)
    assert not replayed(after)
    assert provider.refund(payment, key, amount=100).status == 200


def test_13_a_limiter_names_itself_and_a_lock_does_not(provider: Provider, new_key: NewKey) -> None:
    control, payment = provider.control, provider.pay()
    control.set_undocumented(requests_per_second=0)
    limited = provider.refund(payment, new_key())
    control.set_undocumented(requests_per_second=None, object_lock_seconds=0)
    assert limited.status == 429
    assert limited.headers["stripe-rate-limited-reason"] in _LIMITERS
    thread, _ = in_flight(provider, payment, new_key(), "delay_before")
    locked = provider.refund(payment, new_key(), amount=100)
    control.release()
    thread.join(20)
    assert (locked.status, locked.error["code"]) == (429, "lock_timeout")
    assert "stripe-rate-limited-reason" not in locked.headers
    assert provider.amounts(payment) == [100]
