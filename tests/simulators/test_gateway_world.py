"""The provider's clock, balance, payments, events and secrets, and answers that go wrong on their way."""

import http.client
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.simulators.raw import Raw, amounts, call, loses_its_answer, refund
from tests.support.gateway_simulator import GatewaySimulator
from tests.support.webhook_receiver import WebhookReceiver, webhook_receiver

_HOUR, _DAY = 3600, 86_400
_EARLIER = """
CREATE TABLE charges (
    account TEXT NOT NULL, id TEXT NOT NULL, payment_intent TEXT NOT NULL, amount INTEGER NOT NULL,
    currency TEXT NOT NULL, captured INTEGER NOT NULL, disputed INTEGER NOT NULL, payment_method_fingerprint TEXT,
    metadata TEXT NOT NULL, created INTEGER NOT NULL, PRIMARY KEY (account, id)
);
INSERT INTO charges VALUES ('', 'ch_1', 'pi_1', 100, 'usd', 1, 0, NULL, '{}', 1700000000);
CREATE TABLE refunds (
    number INTEGER PRIMARY KEY AUTOINCREMENT, account TEXT NOT NULL, id TEXT NOT NULL UNIQUE, charge TEXT NOT NULL,
    payment_intent TEXT NOT NULL, amount INTEGER NOT NULL, currency TEXT NOT NULL, reason TEXT, status TEXT NOT NULL,
    failure_reason TEXT, metadata TEXT NOT NULL, balance_transaction TEXT NOT NULL, created INTEGER NOT NULL
);
INSERT INTO refunds VALUES (1, '', 're_1', 'ch_1', 'pi_1', 5, 'usd', NULL, 'pending', NULL, '{}', 'txn_1', 1700000000);
CREATE TABLE kept_answers (
    account TEXT NOT NULL, idempotency_key TEXT NOT NULL, endpoint TEXT NOT NULL, parameters TEXT NOT NULL,
    status INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (account, idempotency_key)
);
INSERT INTO kept_answers VALUES ('', 'k', 'POST /v1/refunds', '{"amount": "5", "charge": "ch_1"}', 200, x'7b7d');
CREATE TABLE settlements (
    number INTEGER PRIMARY KEY AUTOINCREMENT, refund TEXT NOT NULL, status TEXT NOT NULL, failure_reason TEXT,
    due_at REAL NOT NULL
);
INSERT INTO settlements VALUES (1, 're_1', 'succeeded', NULL, 1700000000.0);
"""


@pytest.fixture
def simulator(gateway_simulator: GatewaySimulator) -> Iterator[GatewaySimulator]:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    yield gateway_simulator
    gateway_simulator.reset()


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with webhook_receiver() as running:
        yield running


def get(simulator: GatewaySimulator, path: str) -> Any:
    answer = call(simulator, "GET", path)
    assert answer.status == 200, answer.body
    return answer.json


def wait_for_status(simulator: GatewaySimulator, refund_id: str, status: str) -> dict[str, Any]:
    deadline = time.monotonic() + 10
    while (found := get(simulator, f"/v1/refunds/{refund_id}"))["status"] != status:
        assert time.monotonic() < deadline, found
        time.sleep(0.01)
    return dict(found)


def test_the_clock_goes_forward_and_outlasts_a_restart(tmp_path: Path) -> None:
    with GatewaySimulator(book=tmp_path / "book.sqlite3") as simulator:
        simulator.seed_charge("ch_1", amount=5000)
        refund(simulator, "k", amount=1)
        simulator.advance(_DAY - 60)
        simulator.set_undocumented(in_use_type="api_error")
        simulator.kill()
        simulator.start()
        assert abs(simulator.provider_now() - time.time() - (_DAY - 60)) < 5
        assert simulator.control("GET", "settings")["settings"]["in_use_type"] == "api_error"
        assert "idempotent-replayed" in refund(simulator, "k", amount=1).headers
        simulator.advance(60)
        assert refund(simulator, "k", amount=1).json["created"] == int(simulator.provider_now())
        simulator.reset()
        assert abs(simulator.provider_now() - time.time()) < 5


def test_a_book_of_an_earlier_version_goes_on(tmp_path: Path) -> None:
    book = tmp_path / "book.sqlite3"
    with sqlite3.connect(book) as old:
        old.executescript(_EARLIER)
    old.close()
    with GatewaySimulator(book=book) as simulator:
        assert refund(simulator, "k", amount=5).headers["idempotent-replayed"] == "true"
        simulator.advance(2 * _DAY)
        assert "idempotent-replayed" in refund(simulator, "k", amount=5).headers  # its age is not known
        wait_for_status(simulator, "re_1", "succeeded")
        assert refund(simulator, amount=95).status == 200
        assert amounts(simulator) == [5, 95]


@pytest.mark.parametrize("step", [{}, {"advance_seconds": -1}, {"advance_seconds": "1"}, {"to": 1}, None])
def test_the_clock_does_not_go_back(simulator: GatewaySimulator, step: object) -> None:
    with pytest.raises(OSError) as refused:
        simulator.control("POST", "clock", step)
    refused.value.close()
    assert refused.value.code == 400
    assert abs(simulator.provider_now() - time.time()) < 5


def test_an_unsettled_charge_makes_its_refund_wait(simulator: GatewaySimulator) -> None:
    settles_at = simulator.provider_now() + 2 * _DAY
    simulator.seed_charge("ch_2", amount=100, settles_at=settles_at)
    made = refund(simulator, charge="ch_2").json
    assert (made["status"], made["pending_reason"]) == ("pending", "charge_pending")
    simulator.advance(2 * _DAY)
    assert "pending_reason" not in wait_for_status(simulator, made["id"], "succeeded")
    simulator.seed_charge(
        "ch_3", amount=100, settles_at=settles_at * 2, payment_method="pm_card_bypassPending"
    )
    assert refund(simulator, charge="ch_3").json["status"] == "succeeded"


def test_a_balance_covers_the_oldest_first_and_what_fails_comes_back(
    simulator: GatewaySimulator, receiver: WebhookReceiver
) -> None:
    simulator.set_balance("usd", 0)
    first, second = (refund(simulator, amount=amount).json["id"] for amount in (300, 200))
    simulator.set_balance("usd", 299)
    assert [one["status"] for one in simulator.refunds()] == ["pending", "pending"]
    simulator.add_endpoint(receiver.url, "whsec_1", types=["refund.updated"])
    simulator.control("POST", "balance", {"currency": "usd", "add": 1})
    statuses = {one["id"]: one["status"] for one in simulator.refunds()}
    assert statuses == {first: "succeeded", second: "pending"}
    assert receiver.wait_for(1)[0].event["data"]["object"]["id"] == first
    simulator.set_refund_status(first, "failed")
    assert get(simulator, "/v1/balance")["available"] == [{"amount": 300, "currency": "usd"}]
    rows = get(simulator, f"/v1/balance_transactions?source={first}")["data"]
    assert [(row["type"], row["amount"]) for row in rows] == [("refund_failure", 300), ("refund", -300)]


def test_waiting_for_a_balance_ends_in_a_failure(simulator: GatewaySimulator) -> None:
    simulator.set_undocumented(pending_expires_seconds=_DAY)
    simulator.set_balance("usd", 0)
    made = refund(simulator).json["id"]
    simulator.advance(_DAY)
    assert wait_for_status(simulator, made, "failed")["failure_reason"] == "insufficient_funds"


def test_what_happened_meanwhile_is_not_undone_by_the_schedule(simulator: GatewaySimulator) -> None:
    simulator.arm("pending", then="failed", seconds=_HOUR)
    made = refund(simulator).json["id"]
    simulator.set_refund_status(made, "succeeded")
    simulator.advance(2 * _HOUR)
    simulator.arm("pending", then="succeeded", seconds=0)
    simulator.seed_charge("ch_2", amount=1)
    wait_for_status(
        simulator, refund(simulator, charge="ch_2").json["id"], "succeeded"
    )  # the schedule was kept
    assert get(simulator, f"/v1/refunds/{made}")["status"] == "succeeded"


@pytest.mark.parametrize("available", ["1", True, None, 10**16])
def test_a_balance_that_makes_no_sense_is_refused(simulator: GatewaySimulator, available: object) -> None:
    with pytest.raises(OSError) as refused:
        simulator.control("POST", "balance", {"currency": "usd", "available": available})
    refused.value.close()
    assert refused.value.code == 400
    assert get(simulator, "/v1/balance")["available"] == []


def test_a_500_may_take_effect_long_after(simulator: GatewaySimulator, receiver: WebhookReceiver) -> None:
    simulator.add_endpoint(receiver.url, "whsec_1", types=["refund.created"])
    simulator.arm("late_effect", seconds=3 * _DAY)
    metadata = {"metadata[refund_operation_id]": "rfop_1"}
    for _ in range(2):
        assert refund(simulator, "k", amount=100, **metadata).status == 500
    simulator.advance(3 * _DAY - 60)
    assert amounts(simulator) == []
    simulator.advance(60)
    (told,) = receiver.wait_for(1)
    assert told.event["request"] == {"id": None, "idempotency_key": None}
    assert told.event["data"]["object"]["metadata"] == {"refund_operation_id": "rfop_1"}
    assert amounts(simulator) == [100]
    assert refund(simulator, "k", amount=100, **metadata).status in (500, 200)


def test_a_late_effect_that_is_no_longer_possible_stays_away(simulator: GatewaySimulator) -> None:
    simulator.arm("late_effect", seconds=_HOUR)
    refund(simulator, "k")
    refund(simulator, "k2")
    simulator.advance(_HOUR)
    time.sleep(0.2)
    assert amounts(simulator) == [5000]


def test_the_effect_of_a_500_may_be_undone(simulator: GatewaySimulator) -> None:
    simulator.arm("status", status=500, book=True, then="failed", seconds=_DAY)
    assert refund(simulator, "k").status == 500
    (made,) = simulator.refunds()
    assert made["status"] == "succeeded"
    simulator.advance(_DAY)
    wait_for_status(simulator, made["id"], "failed")


@pytest.mark.parametrize("kind", ["drop_before", "drop_after", "cut_body"])
@pytest.mark.parametrize("reset", [True, False])
def test_a_lost_answer_is_lost_in_every_way(simulator: GatewaySimulator, kind: str, reset: bool) -> None:
    simulator.arm(kind, reset=reset)
    with pytest.raises((OSError, http.client.HTTPException)):
        refund(simulator, "k", amount=1)
    assert amounts(simulator) == ([] if kind == "drop_before" else [1])
    assert refund(simulator, "k", amount=1).status == 200
    assert amounts(simulator) == [1]


def test_a_body_may_trickle_in(simulator: GatewaySimulator) -> None:
    simulator.arm("slow_body", seconds=0.5)
    began = time.monotonic()
    answer = refund(simulator, "k", amount=1)
    assert time.monotonic() - began > 0.4
    assert answer.json["amount"] == 1


@pytest.mark.parametrize("body", ["html", "empty", "truncated", "array", "null", "binary"])
def test_a_body_may_be_anything(simulator: GatewaySimulator, body: str) -> None:
    for place, look in (("create", lambda: refund(simulator, "k")), ("list", lambda: _list(simulator))):
        simulator.arm("unparsable", body=body, on=place)
        answer = look()
        assert answer.status == 200
        assert not answer.body.startswith(b"{") or body == "truncated"
    assert amounts(simulator) == [5000]


def _list(simulator: GatewaySimulator) -> Raw:
    return call(simulator, "GET", "/v1/refunds?charge=ch_1")


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "late_effect"},
        {"kind": "late_effect", "seconds": 1, "on": "list"},
        {"kind": "executing", "on": "list"},
        {"kind": "slow_body"},
        {"kind": "unparsable", "body": "poem"},
        {"kind": "unparsable", "body": []},
        {"kind": "drop_after", "reset": "yes"},
    ],
)
def test_faults_that_make_no_sense_are_not_armed(simulator: GatewaySimulator, fault: dict[str, Any]) -> None:
    with pytest.raises(OSError) as refused:
        simulator.control("POST", "faults", fault)
    refused.value.close()
    assert refused.value.code == 400
    assert simulator.control("GET", "faults")["armed"] == []


def test_staff_cancel_soon_after_or_not_at_all(simulator: GatewaySimulator) -> None:
    early, late = (refund(simulator, amount=1).json["id"] for _ in range(2))
    canceled = simulator.cancel_in_dashboard(early)
    assert (canceled["status"], canceled["failure_reason"]) == ("canceled", "merchant_request")
    simulator.advance(_HOUR)
    for refund_id in (early, late):
        with pytest.raises(OSError) as refused:
            simulator.cancel_in_dashboard(refund_id)
        refused.value.close()
    assert get(simulator, f"/v1/refunds/{late}")["status"] == "succeeded"


def test_a_rolled_secret_signs_beside_the_new_one_for_its_time(
    simulator: GatewaySimulator, receiver: WebhookReceiver
) -> None:
    simulator.add_endpoint(receiver.url, "whsec_old", types=["refund.created"])
    simulator.roll_secret(receiver.url, "whsec_new", seconds=_HOUR)
    refund(simulator, amount=1)
    assert receiver.wait_for(1)[0].signature.count("v1=") == 2
    simulator.advance(_HOUR)
    refund(simulator, amount=1)
    assert receiver.wait_for(2)[1].signature.count("v1=") == 1
    assert simulator.control("GET", "webhooks")["endpoints"][0]["secrets"] == 1


@pytest.mark.parametrize(
    "order",
    [
        {},
        {"secret": 1},
        {"url": "http://127.0.0.1:1/other"},
        {"secret": "secret"},
        {"seconds": 86_401},
        {"colour": 1},
    ],
)
def test_rolling_that_makes_no_sense_changes_nothing(
    simulator: GatewaySimulator, receiver: WebhookReceiver, order: dict[str, Any]
) -> None:
    simulator.add_endpoint(receiver.url, "whsec_old")
    usual = {"url": receiver.url, "secret": "whsec_new"}
    with pytest.raises(OSError) as refused:
        simulator.control("POST", "webhooks/roll", usual | order if order else None)
    refused.value.close()
    assert refused.value.code == 400
    refund(simulator, amount=1)
    assert receiver.wait_for(1)[0].signature.count("v1=") == 1


def test_events_are_listed_newest_first_by_type_and_by_what_did_not_arrive(
    simulator: GatewaySimulator, receiver: WebhookReceiver
) -> None:
    assert call(simulator, "GET", "/v1/events?types[]=a&type=b").status == 400
    simulator.add_endpoint(receiver.url, "whsec_1")
    simulator.bend_webhooks(type="refund.created", lost=True)
    first = refund(simulator, "k1", amount=1).json["id"]
    second = refund(simulator, "k2", amount=2).json["id"]
    simulator.wait_until_sent()
    types = "types[]=refund.created&types[]=refund.failed"
    listed = get(simulator, f"/v1/events?{types}&limit=1")
    assert [one["data"]["object"]["id"] for one in listed["data"]] == [second]
    assert listed["has_more"] is True
    after = listed["data"][0]["id"]
    page = get(simulator, f"/v1/events?{types}&starting_after={after}")
    assert [one["data"]["object"]["id"] for one in page["data"]] == [first]
    assert page["has_more"] is False
    (lost,) = get(simulator, "/v1/events?delivery_success=false")["data"]
    assert lost["request"]["idempotency_key"] == "k1"
    assert get(simulator, f"/v1/events/{lost['id']}") == lost
    assert len(get(simulator, "/v1/events")["data"]) == 4
    assert call(simulator, "GET", "/v1/events/evt_nobody").status == 404


def test_every_endpoint_is_told_of_the_same_event(
    simulator: GatewaySimulator, receiver: WebhookReceiver
) -> None:
    with webhook_receiver() as other:
        simulator.add_endpoint(receiver.url, "whsec_1", types=["refund.created"])
        simulator.add_endpoint(
            other.url, "whsec_2", types=["refund.created"], api_version="2025-01-27.acacia"
        )
        refund(simulator)
        one, two = receiver.wait_for(1)[0].event, other.wait_for(1)[0].event
        assert one.pop("api_version") != two.pop("api_version")
        assert one == two
        listed = get(simulator, "/v1/events?type=refund.created")["data"]
        assert [event["id"] for event in listed] == [one["id"]]
        simulator.remove_endpoints()


def test_pages_go_both_ways_and_by_time(simulator: GatewaySimulator) -> None:
    now = int(time.time())
    for number in range(5):
        simulator.seed_refund("ch_1", id=f"re_{number}", amount=1, created=now - 10 * number)
    for path in ("/v1/refunds?charge=ch_1", "/v1/charges/ch_1/refunds?created[lte]=9999999999"):
        ids = [one["id"] for one in get(simulator, path)["data"]]
        assert ids == ["re_0", "re_1", "re_2", "re_3", "re_4"]
        before = get(simulator, f"{path}&ending_before=re_3&limit=2")
        assert ([one["id"] for one in before["data"]], before["has_more"]) == (["re_1", "re_2"], True)
        since = get(simulator, f"{path}&created[gte]={now - 20}&created[lt]={now}")
        assert [one["id"] for one in since["data"]] == ["re_1", "re_2"]
        assert call(simulator, "GET", f"{path}&created[about]={now}").status == 400


def test_ids_are_expanded_on_demand(simulator: GatewaySimulator) -> None:
    made = refund(simulator, "k", amount=100, **{"expand[]": "charge"}).json
    assert (made["charge"]["id"], made["charge"]["amount_refunded"]) == ("ch_1", 100)
    listed = get(
        simulator, "/v1/refunds?charge=ch_1&expand[]=data.balance_transaction&expand[]=data.charge.refunds"
    )
    assert listed["data"][0]["balance_transaction"]["amount"] == -100
    assert listed["data"][0]["charge"]["refunds"]["data"][0]["id"] == made["id"]
    assert call(simulator, "GET", "/v1/charges/ch_1?expand[]=secrets").status == 400
    assert call(simulator, "GET", "/v1/charges/ch_1?expand[]=refunds.data.charge.refunds.data").status == 400


def test_a_payment_is_made_captured_in_part_and_shown(simulator: GatewaySimulator) -> None:
    form = {"amount": 900, "currency": "usd", "confirm": "true", "payment_method": "pm_card_visa"}
    made = call(simulator, "POST", "/v1/payment_intents", form | {"capture_method": "manual"}, key="p").json
    path = f"/v1/payment_intents/{made['id']}"
    assert (made["status"], made["amount_capturable"]) == ("requires_capture", 900)
    assert call(simulator, "POST", f"{path}/capture", {"amount_to_capture": 901}).status == 400
    captured = call(simulator, "POST", f"{path}/capture", {"amount_to_capture": 400}, key="c").json
    assert captured == get(simulator, path)
    assert (captured["status"], captured["amount_received"]) == ("succeeded", 400)
    for way in ("capture", "cancel"):
        refused = call(simulator, "POST", f"{path}/{way}")
        assert refused.error["code"] == "payment_intent_unexpected_state"
    (row,) = get(simulator, f"/v1/balance_transactions?source={made['latest_charge']}")["data"]
    assert (row["reporting_category"], row["amount"]) == ("partial_capture_reversal", -500)
    assert get(simulator, f"/v1/charges/{made['latest_charge']}")["amount_captured"] == 400


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"payment_method": "pm_card_chargeDeclined"}, 402),
        ({"payment_method": "pm_bank"}, 400),
        ({"confirm": "false"}, 400),
        ({"amount": ""}, 400),
        ({"currency": "euro"}, 400),
        ({"capture_method": "later"}, 400),
        ({"colour": "blue"}, 400),
    ],
)
def test_payments_that_cannot_be(simulator: GatewaySimulator, change: dict[str, str], status: int) -> None:
    form = {"amount": 900, "currency": "usd", "confirm": "true", "payment_method": "pm_card_visa"}
    assert call(simulator, "POST", "/v1/payment_intents", form | change).status == status
    assert [one["id"] for one in simulator.charges()] == ["ch_1"]


def test_disputes_are_listed_and_escalated_once(simulator: GatewaySimulator) -> None:
    inquiry = simulator.open_dispute("ch_1", status="warning_needs_response")
    simulator.escalate_dispute(inquiry["id"])
    (listed,) = get(simulator, "/v1/disputes?charge=ch_1")["data"]
    assert (listed["status"], listed["is_charge_refundable"]) == ("needs_response", False)
    assert refund(simulator).error["code"] == "charge_disputed"
    with pytest.raises(OSError) as refused:
        simulator.escalate_dispute(inquiry["id"])
    refused.value.close()
    assert get(simulator, "/v1/disputes?charge=ch_2")["data"] == []


def test_a_client_that_left_while_a_key_executes_changes_nothing(simulator: GatewaySimulator) -> None:
    simulator.arm("executing", seconds=60)
    thread = loses_its_answer(simulator, "k", amount=100)
    simulator.wait_until_waiting()
    assert refund(simulator, "k", amount=100).status == 409
    simulator.kill()
    thread.join(20)
    simulator.start()
    again = refund(simulator, "k", amount=100)
    assert (again.status, again.headers["idempotent-replayed"]) == (200, "true")
    assert amounts(simulator) == [100]


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ("list", "/v1/refunds?charge=ch_1"),
        ("retrieve", "/v1/refunds/{refund}"),
        ("charge", "/v1/charges/ch_1"),
        ("charge_refunds", "/v1/charges/ch_1/refunds"),
        ("events", "/v1/events"),
    ],
)
def test_every_surface_can_fail_by_itself(simulator: GatewaySimulator, place: str, path: str) -> None:
    path = path.format(refund=refund(simulator, amount=1).json["id"])
    simulator.arm("status", on=place, status=503)
    simulator.arm("drop_before", on=place)
    assert call(simulator, "GET", path).status == 503
    with pytest.raises(OSError):
        call(simulator, "GET", path)
    assert call(simulator, "GET", path).status == 200
    assert simulator.control("GET", "faults")["armed"] == []


def test_a_reset_ends_what_executes_without_booking_it(simulator: GatewaySimulator) -> None:
    simulator.set_undocumented(execution_seconds=0.5)
    thread = loses_its_answer(simulator, "k", amount=1)
    while not simulator.log():
        time.sleep(0.01)
    time.sleep(0.1)
    simulator.reset()
    thread.join(20)
    simulator.seed_charge("ch_1", amount=5000)
    time.sleep(0.6)
    assert amounts(simulator) == []


def test_what_executes_long_holds_its_key_by_the_providers_clock(simulator: GatewaySimulator) -> None:
    """A request that executes for an hour ends at once when the provider's clock is an hour further."""
    simulator.set_undocumented(execution_seconds=_HOUR)
    answers: list[int] = []
    threads = [
        Thread(target=lambda: answers.append(refund(simulator, "k", amount=1).status)) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 10
    while not answers:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert amounts(simulator) == []
    simulator.advance(_HOUR)
    for thread in threads:
        thread.join(20)
    assert answers == [409, 200]
    assert amounts(simulator) == [1]
