"""What the simulated provider tells, how it signs it, and how deliveries may go wrong (docs.stripe.com/webhooks)."""

import json
import time
from collections.abc import Iterator
from threading import Event

import pytest
import stripe

from tests.simulators.raw import Raw, call, refund
from tests.support.gateway_simulator import GatewaySimulator
from tests.support.webhook_receiver import Received, WebhookReceiver, webhook_receiver

SECRET, OLD_SECRET = "whsec_new", "whsec_old"


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with webhook_receiver() as running:
        yield running


@pytest.fixture
def simulator(gateway_simulator: GatewaySimulator, receiver: WebhookReceiver) -> Iterator[GatewaySimulator]:
    gateway_simulator.add_endpoint(receiver.url, SECRET)
    gateway_simulator.webhook_patience(retry_seconds=0.05, timeout_seconds=2.0)
    gateway_simulator.seed_charge("ch_1", amount=5000, payment_intent="pi_1")
    yield gateway_simulator
    gateway_simulator.reset()  # the receiver is about to go


def verified(one: Received, secret: str = SECRET) -> dict:
    """Return the event as the official SDK reads it; raises SignatureVerificationError."""
    return dict(stripe.Webhook.construct_event(one.body, one.signature, secret).to_dict())


def is_refused(one: Received, secret: str = SECRET) -> bool:
    with pytest.raises(stripe.SignatureVerificationError):
        verified(one, secret)
    return True


def sent(simulator: GatewaySimulator, receiver: WebhookReceiver) -> list[str]:
    simulator.wait_until_sent()
    return receiver.types


def test_a_refund_is_told_signed_and_whole(simulator: GatewaySimulator, receiver: WebhookReceiver) -> None:
    answer = refund(simulator, "key-1", amount=100, **{"metadata[refund_operation_id]": "rfop_1"})
    created, charged = (verified(one) for one in receiver.wait_for(2))
    assert created["id"].startswith("evt_")
    assert (created["object"], created["type"], created["livemode"]) == ("event", "refund.created", False)
    assert created["api_version"] == "2026-10-28.endive"
    assert "account" not in created
    assert created["data"]["object"] == answer.json
    assert created["data"]["object"]["metadata"] == {"refund_operation_id": "rfop_1"}
    assert created["request"] == {"id": answer.headers["request-id"], "idempotency_key": "key-1"}
    assert (charged["type"], charged["data"]["object"]["id"]) == ("charge.refunded", "ch_1")
    assert charged["data"]["object"]["amount_refunded"] == 100


def test_a_refund_of_a_connected_account_names_it(
    simulator: GatewaySimulator, receiver: WebhookReceiver
) -> None:
    simulator.seed_charge("ch_2", amount=1, account="acct_1")
    call(simulator, "POST", "/v1/refunds", {"charge": "ch_2"}, account="acct_1")
    assert [verified(one)["account"] for one in receiver.wait_for(2)] == ["acct_1", "acct_1"]


def test_a_replayed_or_refused_request_tells_nothing(
    simulator: GatewaySimulator, receiver: WebhookReceiver
) -> None:
    for _ in range(3):
        refund(simulator, "k", amount=5000)
    refund(simulator, "k2", amount=1)
    assert sent(simulator, receiver) == ["refund.created", "charge.refunded"]


def test_both_secrets_sign_while_one_is_rolled(
    simulator: GatewaySimulator, receiver: WebhookReceiver
) -> None:
    simulator.add_endpoint(receiver.url, SECRET, OLD_SECRET)
    refund(simulator)
    one = receiver.wait_for(1)[0]
    assert one.signature.count("v1=") == 2
    assert verified(one, SECRET) == verified(one, OLD_SECRET)
    assert is_refused(one, "whsec_other")


@pytest.mark.parametrize("status", [500, 404, 302])
def test_a_failed_delivery_is_tried_again_with_a_new_signature(
    simulator: GatewaySimulator, receiver: WebhookReceiver, status: int
) -> None:
    simulator.webhook_patience(retry_seconds=1.1)
    simulator.add_endpoint(receiver.url, SECRET, types=["refund.created"])
    receiver.answers = [status]
    refund(simulator)
    first, second = receiver.wait_for(2)
    assert verified(first) == verified(second)
    assert first.body == second.body
    assert first.signature != second.signature
    (delivery,) = simulator.wait_until_sent()
    assert delivery["state"] == "delivered"
    assert [one["status"] for one in delivery["attempts"]] == [status, 200]


def test_the_wait_doubles_and_the_last_attempt_is_the_last(
    simulator: GatewaySimulator, receiver: WebhookReceiver
) -> None:
    simulator.add_endpoint(receiver.url, SECRET, types=["refund.created"])
    receiver.answers = [503] * 5
    refund(simulator)
    first, second, third = receiver.wait_for(3)
    (delivery,) = simulator.wait_until_sent()
    assert (delivery["state"], len(delivery["attempts"])) == ("failed", 3)
    assert second.at - first.at >= 0.05
    assert third.at - second.at >= 0.1
    assert len(receiver.received) == 3


def test_nobody_there_never_blocks_an_answer(simulator: GatewaySimulator) -> None:
    with webhook_receiver() as silent:
        held = Event()
        silent.on_event = lambda _one: held.wait(10) and None
        simulator.remove_endpoints()
        simulator.add_endpoint(silent.url, SECRET)
        started = time.monotonic()
        assert refund(simulator, amount=1).status == 200
        assert refund(simulator, amount=1).status == 200
        assert time.monotonic() - started < 1.5
        held.set()
    simulator.webhook_patience(attempts=1)
    refund(simulator, amount=1)
    last = simulator.wait_until_sent()[-1]
    assert (last["state"], last["attempts"][-1]["error"]) == ("failed", "ConnectionRefusedError")


def test_early_comes_before_the_answer(simulator: GatewaySimulator, receiver: WebhookReceiver) -> None:
    simulator.bend_webhooks(type="refund.created", early=True)
    seen_before_answer: list[int] = []
    receiver.on_event = lambda _one: seen_before_answer.append(len(answers))
    answers: list[Raw] = []
    answers.append(refund(simulator))
    assert seen_before_answer[0] == 0


def test_early_comes_also_before_an_answer_that_is_lost(
    simulator: GatewaySimulator, receiver: WebhookReceiver
) -> None:
    simulator.bend_webhooks(type="refund.created", early=True)
    simulator.arm("drop_after")
    with pytest.raises(OSError):
        refund(simulator)
    assert receiver.types[:1] == ["refund.created"]


def test_late_comes_later(simulator: GatewaySimulator, receiver: WebhookReceiver) -> None:
    simulator.bend_webhooks(type="refund.created", seconds=0.3)
    refund(simulator)
    answered = time.time()
    late = receiver.wait_for(2)[1]
    assert late.event["type"] == "refund.created"
    assert late.at - answered >= 0.25


def test_copies_are_one_event_and_a_twin_is_another(
    simulator: GatewaySimulator, receiver: WebhookReceiver
) -> None:
    simulator.add_endpoint(receiver.url, SECRET, types=["refund.created"])
    simulator.bend_webhooks(copies=3)
    simulator.bend_webhooks(twin=True)
    refund(simulator, amount=1)
    refund(simulator, amount=2)
    ids = [verified(one)["id"] for one in receiver.wait_for(5)]
    assert [ids.count(one) for one in ids] == [3, 3, 3, 1, 1]


def test_the_events_of_one_change_may_come_in_reverse(
    simulator: GatewaySimulator, receiver: WebhookReceiver
) -> None:
    simulator.bend_webhooks(reordered=True)
    refund(simulator)
    assert sent(simulator, receiver) == ["charge.refunded", "refund.created"]


def test_a_lost_event_is_never_sent(simulator: GatewaySimulator, receiver: WebhookReceiver) -> None:
    simulator.bend_webhooks(lost=True, count=None)
    refund(simulator)
    assert [one["state"] for one in simulator.wait_until_sent()] == ["lost", "lost"]
    simulator.control("DELETE", "webhooks/knobs")
    refund_id = simulator.refunds()[0]["id"]
    simulator.set_refund_status(refund_id, "failed")
    assert sent(simulator, receiver) == ["refund.updated", "refund.failed", "charge.refund.updated"]


def test_held_events_go_on_release_in_the_order_asked_for(
    simulator: GatewaySimulator, receiver: WebhookReceiver
) -> None:
    simulator.seed_charge("ch_2", amount=5000)
    simulator.bend_webhooks(held=True, count=None)
    made = refund(simulator).json
    refund(simulator, charge="ch_2")
    simulator.set_refund_status(made["id"], "failed", failure_reason="declined")
    held = {one["type"]: one for one in simulator.deliveries(state="held") if "ch_1" in one["about"]}
    assert receiver.received == []
    wanted = [held["refund.failed"]["event"], held["refund.created"]["event"]]
    assert simulator.release_webhooks(events=wanted) == 2
    assert sent(simulator, receiver) == ["refund.failed", "refund.created"]
    assert simulator.release_webhooks(charge="ch_2", newest_first=True) == 2
    assert sent(simulator, receiver)[2:] == ["charge.refunded", "refund.created"]
    assert simulator.release_webhooks(type="charge.refunded") == 1
    assert simulator.release_webhooks() == 2


def test_an_event_can_be_sent_again(simulator: GatewaySimulator, receiver: WebhookReceiver) -> None:
    refund(simulator)
    event = receiver.wait_for(2)[0].event["id"]
    assert simulator.resend_webhook(event, copies=2) == 2
    assert [one.event["id"] for one in receiver.wait_for(4)[2:]] == [event, event]


@pytest.mark.parametrize(
    "knob",
    [{"wrong_secret": True}, {"age_seconds": 600}, {"tampered": True}],
    ids=lambda knob: next(iter(knob)),
)
def test_what_must_be_refused_is_refused_by_the_official_verifier(
    simulator: GatewaySimulator, receiver: WebhookReceiver, knob: dict
) -> None:
    simulator.bend_webhooks(type="refund.created", **knob)
    refund(simulator)
    wrong, right = receiver.wait_for(2)
    assert is_refused(wrong)
    assert verified(right)["type"] == "charge.refunded"


def test_live_mode_and_other_accounts_are_signed_as_well(
    simulator: GatewaySimulator, receiver: WebhookReceiver
) -> None:
    simulator.bend_webhooks(type="refund.created", livemode=True, account="acct_other")
    refund(simulator)
    created = verified(receiver.wait_for(1)[0])
    assert (created["livemode"], created["account"]) == (True, "acct_other")


def test_a_knob_is_for_as_many_events_of_its_charge_as_it_says(
    simulator: GatewaySimulator, receiver: WebhookReceiver
) -> None:
    simulator.seed_charge("ch_2", amount=5000)
    simulator.add_endpoint(receiver.url, SECRET, types=["refund.created"])
    simulator.bend_webhooks(lost=True, charge="ch_2", count=2)
    for charge in ("ch_1", "ch_2", "ch_2", "ch_2"):
        refund(simulator, charge=charge, amount=1)
    states = [one["state"] for one in simulator.wait_until_sent()]
    assert states == ["delivered", "lost", "lost", "delivered"]
    assert simulator.control("GET", "webhooks")["knobs"] == []


def test_an_old_endpoint_hears_of_charges_only(
    simulator: GatewaySimulator, receiver: WebhookReceiver
) -> None:
    simulator.add_endpoint(receiver.url, SECRET, api_version="2024-09-30.acacia")
    made = refund(simulator).json
    simulator.set_refund_status(made["id"], "failed")
    assert sent(simulator, receiver) == ["charge.refunded", "charge.refund.updated"]
    assert receiver.received[0].event["api_version"] == "2024-09-30.acacia"


def test_any_event_can_be_sent(simulator: GatewaySimulator, receiver: WebhookReceiver) -> None:
    simulator.send_event("refund.teleported", {"id": "re_1", "object": "refund", "status": "elsewhere"})
    event = verified(receiver.wait_for(1)[0])
    assert (event["type"], event["data"]["object"]["status"]) == ("refund.teleported", "elsewhere")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("endpoints", {"url": "https://example.com/hook", "secrets": ["whsec_1"]}),
        ("endpoints", {"url": "http://192.168.1.1/hook", "secrets": ["whsec_1"]}),
        ("endpoints", {"url": "http://127.0.0.1/\u00e9", "secrets": ["whsec_1"]}),
        ("endpoints", {"url": "http://127.0.0.1/hook", "secrets": []}),
        ("endpoints", {"url": "http://127.0.0.1/hook", "secrets": ["secret"]}),
        ("endpoints", None),
        ("settings", {"attempts": 0}),
        ("settings", {"retry_seconds": "1"}),
        ("settings", {"colour": 1}),
        ("knobs", {"colour": "blue"}),
        ("knobs", {"copies": 0}),
        ("knobs", {"seconds": -1}),
        ("knobs", {"lost": "yes"}),
        ("knobs", {"charge": 1}),
        ("release", {"colour": 1}),
        ("resend", {"event": 1}),
        ("events", {"type": "x"}),
    ],
)
def test_control_requests_that_make_no_sense_change_nothing(
    simulator: GatewaySimulator, receiver: WebhookReceiver, path: str, value: object
) -> None:
    before = simulator.control("GET", "webhooks")
    answer = call(simulator, "GET", "/_sim/webhooks/nothing")
    assert answer.status == 404
    with pytest.raises(OSError) as refused:
        simulator.control("POST", f"webhooks/{path}", value)
    refused.value.close()
    assert refused.value.code == 400
    assert simulator.control("GET", "webhooks") == before
    assert receiver.received == []


def test_secrets_are_shown_to_nobody(simulator: GatewaySimulator) -> None:
    refund(simulator)
    assert "whsec" not in json.dumps(simulator.control("GET", "webhooks"))
