"""The simulator's control side: seeds, faults, truth."""

import http.client
import json
import socket
import time
import urllib.error
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.simulators.raw import Raw, amounts, call, loses_its_answer, refund
from tests.support.gateway_simulator import GatewaySimulator

_ROOT = Path(__file__).resolve().parents[2]
_PACKAGE = _ROOT / "config" / "demo" / "gateway_simulator"


def _refused(simulator: GatewaySimulator, path: str, value: Any) -> str:
    with pytest.raises(urllib.error.HTTPError) as caught:
        simulator.control("POST", path, value)
    with caught.value as answer:
        assert answer.code == 400
        message = json.load(answer)["error"]["message"]
    assert isinstance(message, str)
    return message


def test_health(gateway_simulator: GatewaySimulator) -> None:
    assert gateway_simulator.control("GET", "health") == {
        "status": "ok",
        "service": "gateway_simulator",
        "pid": gateway_simulator.pid,
    }


def test_seeding_again_is_free(gateway_simulator: GatewaySimulator) -> None:
    seeds = [{"id": f"ch_{number}", "amount": 5000, "currency": "usd"} for number in (1, 2)]
    assert gateway_simulator.control("POST", "charges", seeds) == {"charges": 2, "new": 2}
    refund(gateway_simulator, amount=100)
    assert gateway_simulator.control("POST", "charges", seeds) == {"charges": 2, "new": 0}
    assert amounts(gateway_simulator) == [100]
    assert call(gateway_simulator, "GET", "/v1/charges/ch_1").json["amount_refunded"] == 100


@pytest.mark.parametrize(
    ("seed", "message"),
    [
        ({"id": "ch_1", "amount": 6000, "currency": "usd"}, "already in the book"),
        ({"id": "ch_1", "amount": 5000, "currency": "eur"}, "already in the book"),
        ({"id": "ch_9", "amount": 1, "currency": "usd", "payment_intent": "pi_1"}, "already belongs to ch_1"),
        ({"id": "pi_1", "amount": 1, "currency": "usd"}, "begins with ch_"),
        ({"id": "ch_9", "amount": 0, "currency": "usd"}, "positive whole number"),
        ({"id": "ch_9", "amount": True, "currency": "usd"}, "positive whole number"),
        ({"id": "ch_9", "amount": "1", "currency": "usd"}, "positive whole number"),
        ({"id": "ch_9", "amount": 1, "currency": "äöü"}, "three letters"),
        ({"id": "ch_9", "amount": 1, "currency": "dollar"}, "three letters"),
        ({"id": "ch_9", "amount": 1, "currency": "usd", "captured": "yes"}, "captured has the wrong type"),
        ({"id": "ch_9", "amount": 1, "currency": "usd", "colour": "blue"}, "has no colour"),
        ({"id": "ch_\ud800", "amount": 1, "currency": "usd"}, "not JSON"),
        ("ch_9", "JSON object"),
    ],
)
def test_a_bad_seed_leaves_nothing_behind(
    gateway_simulator: GatewaySimulator, seed: Any, message: str
) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    good = {"id": "ch_2", "amount": 1, "currency": "usd"}
    assert message in _refused(gateway_simulator, "charges", [good, seed])
    assert call(gateway_simulator, "GET", "/v1/charges/ch_2").status == 404
    assert call(gateway_simulator, "GET", "/v1/charges/ch_1").json["amount"] == 5000


@pytest.mark.parametrize(
    "fault",
    [
        None,
        "hold",
        {},
        {"kind": "explode"},
        {"kind": "hold", "colour": "blue"},
        {"kind": "hold", "count": 0},
        {"kind": "hold", "count": True},
        {"kind": "delay"},
        {"kind": "delay", "seconds": -1},
        {"kind": "delay", "seconds": 601},
        {"kind": "status", "status": 200},
        {"kind": "status", "status": "500"},
        {"kind": "hold", "on": "everything"},
        {"kind": "status", "status": 429, "rate_limited_reason": "a\r\nb"},
        {"kind": "status", "should_retry": "yes"},
        {"kind": "hold", "idempotency_key": 1},
        {"kind": "pending", "first": "lost"},
        {"kind": "pending", "then": "lost"},
        {"kind": "not_read", "on": "list"},
        {"kind": "not_read", "charge": "ch_1"},
    ],
)
def test_a_bad_fault_is_not_armed(gateway_simulator: GatewaySimulator, fault: Any) -> None:
    _refused(gateway_simulator, "faults", fault)
    assert gateway_simulator.control("GET", "faults") == {"armed": [], "waiting": 0}


def test_a_fault_is_met_as_often_as_it_says_by_the_payment_it_names(
    gateway_simulator: GatewaySimulator,
) -> None:
    for charge in ("ch_1", "ch_2"):
        gateway_simulator.seed_charge(charge, amount=5000)
    gateway_simulator.arm("status", status=503, charge="ch_2", count=2)
    assert refund(gateway_simulator, amount=1).status == 200
    by_intent = {"payment_intent": "pi_2", "amount": 1}
    statuses = [
        call(gateway_simulator, "POST", "/v1/refunds", by_intent).status,
        refund(gateway_simulator, charge="ch_2", amount=1).status,
        refund(gateway_simulator, charge="ch_2", amount=1).status,
    ]
    assert statuses == [503, 503, 200]
    assert gateway_simulator.control("GET", "faults")["armed"] == []


def test_a_fault_may_be_for_one_idempotency_key(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    gateway_simulator.arm("status", status=503, idempotency_key="k2", count=2)
    statuses = [refund(gateway_simulator, key, amount=1).status for key in ("k1", "k2", "k2", "k2", None)]
    assert statuses == [200, 503, 503, 200, 200]


def test_a_key_in_use_is_said_without_booking(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    gateway_simulator.arm("in_flight")
    answer = refund(gateway_simulator, "k", amount=100)
    assert (answer.status, answer.error["code"]) == (409, "idempotency_key_in_use")
    assert amounts(gateway_simulator) == []
    again = refund(gateway_simulator, "k", amount=100)
    assert (again.status, "idempotent-replayed" in again.headers) == (200, False)


@pytest.mark.parametrize("book", [False, True])
def test_a_500_is_kept_with_and_without_an_effect(gateway_simulator: GatewaySimulator, book: bool) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    gateway_simulator.arm("status", status=500, book=book, should_retry=False)
    answers = [refund(gateway_simulator, "k", amount=100) for _ in range(2)]
    assert [answer.status for answer in answers] == [500, 500]
    assert answers[0].headers["stripe-should-retry"] == "false"
    assert answers[1].headers["idempotent-replayed"] == "true"
    assert amounts(gateway_simulator) == ([100] if book else [])


def test_what_is_not_read_is_neither_booked_nor_logged_and_others_are_served(
    gateway_simulator: GatewaySimulator,
) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    gateway_simulator.arm("not_read", idempotency_key="k1")
    thread = loses_its_answer(gateway_simulator, "k1", amount=100)
    gateway_simulator.wait_until_waiting()
    assert refund(gateway_simulator, "k2", amount=1).status == 200
    assert call(gateway_simulator, "GET", "/v1/refunds?charge=ch_1").status == 200
    assert gateway_simulator.release() == 1
    thread.join(10)
    assert amounts(gateway_simulator) == [1]
    assert [entry["idempotency_key"] for entry in gateway_simulator.log(method="POST")] == ["k2"]
    assert refund(gateway_simulator, "k1", amount=100).status == 200


def test_what_is_not_read_is_closed_after_its_time(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    gateway_simulator.arm("not_read", seconds=0.2)
    with pytest.raises(OSError):
        refund(gateway_simulator, amount=100)
    assert gateway_simulator.control("GET", "faults") == {"armed": [], "waiting": 0}


def test_disarmed_faults_are_gone(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    gateway_simulator.arm("status", status=503, count=None)
    assert [refund(gateway_simulator, amount=1).status for _ in range(3)] == [503, 503, 503]
    gateway_simulator.disarm()
    assert refund(gateway_simulator, amount=1).status == 200


def test_drop_before_books_nothing_and_drop_after_books(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    for kind, booked in (("drop_before", []), ("drop_after", [100])):
        gateway_simulator.arm(kind)
        with pytest.raises(http.client.RemoteDisconnected):
            refund(gateway_simulator, "k", amount=100)
        assert amounts(gateway_simulator) == booked
    assert [entry["outcome"] for entry in gateway_simulator.log()] == ["dropped", "dropped"]
    again = refund(gateway_simulator, "k", amount=100)
    assert again.headers["idempotent-replayed"] == "true"


def test_hold_has_booked_and_answers_when_released(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    gateway_simulator.arm("hold")
    answers: list[Raw] = []
    thread = Thread(target=lambda: answers.append(refund(gateway_simulator, amount=100)))
    thread.start()
    gateway_simulator.wait_until_waiting()
    assert amounts(gateway_simulator) == [100]
    assert answers == []
    assert gateway_simulator.release("ch_other") == 0
    assert gateway_simulator.release("ch_1") == 1
    thread.join(10)
    assert [answer.status for answer in answers] == [200]


def test_delay_and_delay_before_pass_by_themselves(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    for kind in ("delay", "delay_before"):
        gateway_simulator.arm(kind, seconds=0.2)
        started = time.monotonic()
        assert refund(gateway_simulator, amount=1).status == 200
        assert time.monotonic() - started >= 0.2
    assert amounts(gateway_simulator) == [1, 1]


def test_a_client_that_left_changes_nothing_about_the_booking(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    gateway_simulator.arm("delay_before")
    body = b"charge=ch_1&amount=100"
    head = f"POST /v1/refunds HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk_test_1\r\nContent-Length: {len(body)}"
    with socket.create_connection(("127.0.0.1", gateway_simulator.port)) as client:
        client.sendall(head.encode() + b"\r\n\r\n" + body)
        gateway_simulator.wait_until_waiting()
    gateway_simulator.release()
    deadline = time.monotonic() + 5
    while not amounts(gateway_simulator) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert amounts(gateway_simulator) == [100]


def test_an_unparsable_answer_has_booked(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    gateway_simulator.arm("unparsable")
    answer = refund(gateway_simulator, amount=100)
    assert (answer.status, answer.body[:6]) == (200, b"<html>")
    assert amounts(gateway_simulator) == [100]


def test_a_pending_refund_counts_and_moves_on_order(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    gateway_simulator.arm("pending")
    made = refund(gateway_simulator).json
    assert (made["status"], made["pending_reason"]) == ("pending", "processing")
    assert refund(gateway_simulator, amount=1).error["code"] == "charge_already_refunded"
    gateway_simulator.set_refund_status(made["id"], "failed", failure_reason="insufficient_funds")
    assert refund(gateway_simulator).status == 200
    assert "status must be one of" in _refused(gateway_simulator, f"refunds/{made['id']}", {"status": "lost"})


def test_the_log_tells_what_arrived_and_no_key(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    answer = refund(gateway_simulator, "k", amount=100)
    call(gateway_simulator, "GET", "/v1/refunds?charge=ch_1")
    create, listed = gateway_simulator.log()
    assert (create["method"], create["path"], create["status"]) == ("POST", "/v1/refunds", 200)
    assert (create["body"], create["idempotency_key"]) == ("charge=ch_1&amount=100", "k")
    assert (create["request_id"], create["outcome"]) == (answer.headers["request-id"], "answered")
    assert (listed["method"], listed["query"]) == ("GET", "charge=ch_1")
    assert "sk_test" not in json.dumps([create, listed])
    assert gateway_simulator.log(method="GET") == [listed]
    assert create["at"] <= create["ended_at"] <= listed["at"]
    assert create["headers"]["authorization"] == "redacted"
    assert gateway_simulator.control("GET", "log?idempotency_key=k")["requests"] == [create]
    assert gateway_simulator.control("GET", "log?path=/v1/charges")["requests"] == []


def test_reset_empties_the_book_and_drops_what_waits(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    gateway_simulator.arm("delay_before")
    failures: list[type[Exception]] = []

    def submit() -> None:
        try:
            refund(gateway_simulator, amount=100)
        except http.client.HTTPException as error:
            failures.append(type(error))

    thread = Thread(target=submit)
    thread.start()
    gateway_simulator.wait_until_waiting()
    gateway_simulator.reset()
    thread.join(10)
    assert failures == [http.client.RemoteDisconnected]
    assert gateway_simulator.refunds() == []
    assert gateway_simulator.log() == []
    assert call(gateway_simulator, "GET", "/v1/charges/ch_1").status == 404
