"""What becomes of refunds by themselves or by hand: later statuses, dashboard, disputes, seeds, pruned keys."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.simulators.raw import amounts, call, refund
from tests.support.gateway_simulator import GatewaySimulator
from tests.support.webhook_receiver import WebhookReceiver, webhook_receiver


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with webhook_receiver() as running:
        yield running


@pytest.fixture
def simulator(gateway_simulator: GatewaySimulator, receiver: WebhookReceiver) -> Iterator[GatewaySimulator]:
    gateway_simulator.add_endpoint(receiver.url, "whsec_1")
    gateway_simulator.seed_charge("ch_1", amount=5000)
    yield gateway_simulator
    gateway_simulator.reset()


def objects(receiver: WebhookReceiver, event_type: str) -> list[dict]:
    return [one.event["data"] for one in receiver.received if one.event["type"] == event_type]


def test_a_success_that_fails_later_names_why_and_frees_the_amount(
    simulator: GatewaySimulator, receiver: WebhookReceiver
) -> None:
    made = refund(simulator, "k").json
    simulator.set_refund_status(made["id"], "failed", failure_reason="expired_or_canceled_card")
    simulator.wait_until_sent()
    (failed,) = objects(receiver, "refund.failed")
    assert failed["object"]["failure_reason"] == "expired_or_canceled_card"
    assert failed["object"]["failure_balance_transaction"].startswith("txn_")
    # The recorded payload of such an event: what it was before, and no request and no key.
    assert failed["previous_attributes"] == {
        "status": "succeeded",
        "failure_reason": None,
        "failure_balance_transaction": None,
    }
    assert receiver.received[-1].event["request"] == {"id": None, "idempotency_key": None}
    assert call(simulator, "GET", "/v1/charges/ch_1").json["amount_refunded"] == 0


@pytest.mark.parametrize("status", ["pending", "requires_action", "succeeded", "canceled", "teleported"])
def test_every_status_and_an_unknown_one_can_be_told(
    simulator: GatewaySimulator, receiver: WebhookReceiver, status: str
) -> None:
    simulator.arm("pending", first="pending" if status != "pending" else "requires_action")
    made = refund(simulator).json
    simulator.set_refund_status(made["id"], status)
    simulator.wait_until_sent()
    (updated,) = objects(receiver, "refund.updated")
    assert updated["object"]["status"] == status
    assert ("failure_reason" in updated["object"]) is (status == "canceled")
    assert "refund.failed" not in receiver.types
    assert call(simulator, "GET", f"/v1/refunds/{made['id']}").json["status"] == status


@pytest.mark.parametrize(
    ("payment_method", "first", "then", "told"),
    [
        ("pm_card_pendingRefund", "pending", "succeeded", ["refund.updated"]),
        ("pm_card_refundFail", "succeeded", "failed", ["refund.updated", "refund.failed"]),
        ("pm_card_visa", "succeeded", "succeeded", []),
    ],
)
def test_the_providers_test_cards(
    simulator: GatewaySimulator,
    receiver: WebhookReceiver,
    payment_method: str,
    first: str,
    then: str,
    told: list[str],
) -> None:
    simulator.seed_charge("ch_2", amount=100, payment_method=payment_method)
    made = refund(simulator, charge="ch_2").json
    assert made["status"] == first
    receiver.wait_for(2 + len(told))
    assert simulator.refunds("ch_2")[0]["status"] == then
    assert receiver.types[2 : 2 + len(told)] == told


def test_a_pending_refund_may_end_by_itself(simulator: GatewaySimulator, receiver: WebhookReceiver) -> None:
    simulator.arm("pending", then="failed", failure_reason="insufficient_funds", seconds=0.1)
    assert refund(simulator).json["status"] == "pending"
    receiver.wait_for(4)
    assert objects(receiver, "refund.failed")[0]["object"]["failure_reason"] == "insufficient_funds"


def test_what_was_to_happen_happens_after_a_restart(tmp_path: Path, receiver: WebhookReceiver) -> None:
    with GatewaySimulator(book=tmp_path / "book.sqlite3", webhook_url=receiver.url) as simulator:
        simulator.seed_charge("ch_1", amount=5000)
        simulator.arm("pending", then="succeeded", seconds=0.3)
        simulator.bend_webhooks(seconds=0.3, count=None)
        refund(simulator)
        simulator.kill()
        assert receiver.received == []
        simulator.start()
        assert [one.event["type"] for one in receiver.wait_for(4)].count("refund.created") == 1
        assert simulator.refunds()[0]["status"] == "succeeded"
        # Where the command line names the endpoint it is there again.
        assert simulator.control("GET", "webhooks")["endpoints"][0]["url"] == receiver.url


def test_a_dashboard_refund_is_told_without_request_and_key(
    simulator: GatewaySimulator, receiver: WebhookReceiver
) -> None:
    made = simulator.dashboard_refund("ch_1", amount=2000, metadata={"by": "staff"})
    first, _ = receiver.wait_for(2)
    assert first.event["data"]["object"] == made
    assert first.event["request"] == {"id": None, "idempotency_key": None}
    assert simulator.log() == []
    assert refund(simulator, amount=3001).status == 400
    assert refund(simulator, amount=3000).status == 200


def test_the_dashboard_obeys_the_providers_rules(simulator: GatewaySimulator) -> None:
    with pytest.raises(OSError) as refused:
        simulator.dashboard_refund("ch_1", amount=5001)
    refused.value.close()
    assert (refused.value.code, amounts(simulator)) == (400, [])


def test_a_dispute_closes_the_charge_and_fails_what_is_pending(
    simulator: GatewaySimulator, receiver: WebhookReceiver
) -> None:
    simulator.arm("pending")
    pending = refund(simulator, amount=100).json
    dispute = simulator.open_dispute("ch_1", reason="fraudulent")
    assert refund(simulator, amount=1).error["code"] == "charge_disputed"
    simulator.wait_until_sent()
    (told,) = objects(receiver, "charge.dispute.created")
    assert told["object"] == dispute | {"charge": "ch_1", "status": "needs_response"}
    assert simulator.refunds()[0]["id"] == pending["id"]
    assert simulator.refunds()[0]["failure_reason"] == "charge_for_pending_refund_disputed"
    simulator.close_dispute(dispute["id"], "won")
    assert refund(simulator, amount=1).status == 200
    simulator.wait_until_sent()
    assert "charge.dispute.funds_reinstated" in receiver.types


def test_a_lost_dispute_keeps_the_charge_closed(simulator: GatewaySimulator) -> None:
    dispute = simulator.open_dispute("ch_1")
    simulator.close_dispute(dispute["id"], "lost")
    assert refund(simulator, amount=1).error["code"] == "charge_disputed"
    assert simulator.control("GET", "disputes")["disputes"][0]["status"] == "lost"


def test_an_inquiry_allows_a_full_refund(simulator: GatewaySimulator) -> None:
    simulator.open_dispute("ch_1", status="warning_needs_response")
    assert refund(simulator).status == 200


def test_seeded_refunds_are_there_and_tell_nothing(
    simulator: GatewaySimulator, receiver: WebhookReceiver
) -> None:
    old = int(time.time()) - 40 * 86_400
    new = refund(simulator, amount=7).json
    seeded = simulator.seed_refund(
        "ch_1",
        id="re_seeded",
        amount=5,
        status="failed",
        created=old,
        metadata={"refund_operation_id": "rfop_1"},
    )
    assert (seeded["id"], seeded["created"], seeded["status"]) == ("re_seeded", old, "failed")
    listed = call(simulator, "GET", "/v1/refunds?charge=ch_1").json["data"]
    assert [one["id"] for one in listed] == [new["id"], "re_seeded"]
    page = call(simulator, "GET", f"/v1/refunds?charge=ch_1&limit=1&starting_after={new['id']}").json
    assert [one["id"] for one in page["data"]] == ["re_seeded"]
    assert listed[1]["metadata"] == {"refund_operation_id": "rfop_1"}
    simulator.wait_until_sent()
    assert len(receiver.received) == 2
    simulator.seed_refund("ch_1", amount=1, tell=True)
    assert receiver.wait_for(4)[2].event["type"] == "refund.created"


@pytest.mark.parametrize(
    "seed",
    [
        {"charge": "ch_nobody"},
        {"charge": "ch_1", "amount": 0},
        {"charge": "ch_1", "amount": True},
        {"charge": "ch_1", "status": "lost"},
        {"charge": "ch_1", "colour": "blue"},
        {"charge": "ch_1", "id": "re_taken"},
        {},
        None,
    ],
)
def test_a_bad_refund_seed_leaves_nothing_behind(simulator: GatewaySimulator, seed: object) -> None:
    simulator.seed_refund("ch_1", id="re_taken", amount=1)
    with pytest.raises(OSError) as refused:
        simulator.control("POST", "refunds", [{"charge": "ch_1", "amount": 1}, seed])
    refused.value.close()
    assert refused.value.code in (400, 404)
    assert [one["id"] for one in simulator.refunds()] == ["re_taken"]


def test_a_pruned_key_executes_again(simulator: GatewaySimulator) -> None:
    refund(simulator, "k", amount=100)
    assert simulator.forget_keys("other") == 0
    assert simulator.forget_keys("k") == 1
    again = refund(simulator, "k", amount=100)
    assert "idempotent-replayed" not in again.headers
    assert amounts(simulator) == [100, 100]


def test_metadata_that_changes_is_told(simulator: GatewaySimulator, receiver: WebhookReceiver) -> None:
    made = refund(simulator).json
    call(simulator, "POST", f"/v1/refunds/{made['id']}", {"metadata[note]": "x"}, key="k")
    simulator.wait_until_sent()
    (updated,) = objects(receiver, "refund.updated")
    assert updated["previous_attributes"] == {"metadata": {}}
