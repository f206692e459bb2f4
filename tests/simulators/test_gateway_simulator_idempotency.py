"""Idempotency keys at the simulated provider: docs.stripe.com/api/idempotent_requests, /error-low-level."""

from threading import Barrier, Thread

from tests.simulators.raw import Raw, amounts, call, in_parallel, refund
from tests.support.gateway_simulator import GatewaySimulator


def test_a_replay_has_the_first_body_and_books_nothing(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    first = refund(gateway_simulator, "k", amount=100)
    again = refund(gateway_simulator, "k", amount=100)
    assert (first.status, again.status) == (200, 200)
    assert again.body == first.body
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert again.headers["idempotency-key"] == "k"
    assert again.headers["request-id"] != first.headers["request-id"]
    assert amounts(gateway_simulator) == [100]


def test_a_replay_keeps_the_first_body_when_the_refund_has_moved_on(
    gateway_simulator: GatewaySimulator,
) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    first = refund(gateway_simulator, "k", amount=100)
    gateway_simulator.set_refund_status(first.json["id"], "failed", failure_reason="declined")
    assert refund(gateway_simulator, "k", amount=100).body == first.body
    now = call(gateway_simulator, "GET", f"/v1/refunds/{first.json['id']}").json
    assert (now["status"], now["failure_reason"]) == ("failed", "declined")


def test_a_kept_refusal_is_replayed_when_it_would_no_longer_be_one(
    gateway_simulator: GatewaySimulator,
) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000, disputed=True)
    first = refund(gateway_simulator, "k", amount=100)
    gateway_simulator.seed_charge("ch_1", amount=5000, disputed=False)
    again = refund(gateway_simulator, "k", amount=100)
    assert (again.status, again.error["code"]) == (400, "charge_disputed")
    assert again.body == first.body
    assert again.headers["idempotent-replayed"] == "true"
    assert refund(gateway_simulator, "k2", amount=100).status == 200


def test_a_500_is_replayed_for_ever_whether_or_not_it_booked(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    for key, book in (("k1", False), ("k2", True)):
        gateway_simulator.arm("status", status=500, book=book)
        answers = [refund(gateway_simulator, key, amount=100) for _ in range(3)]
        assert [answer.status for answer in answers] == [500, 500, 500]
        assert [answer.headers.get("idempotent-replayed") for answer in answers] == [None, "true", "true"]
        assert len({answer.body for answer in answers}) == 1
    assert amounts(gateway_simulator) == [100]


def test_other_parameters_under_a_key_are_refused_and_the_first_still_replays(
    gateway_simulator: GatewaySimulator,
) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    first = refund(gateway_simulator, "k", amount=100)
    for changed in (
        {"amount": 200},
        {"amount": 100, "reason": "duplicate"},
        {"amount": 100, "metadata[a]": "b"},
    ):
        refused = refund(gateway_simulator, "k", **changed)
        assert (refused.status, refused.error["type"]) == (400, "idempotency_error")
        assert "code" not in refused.error
        assert "idempotent-replayed" not in refused.headers
    assert refund(gateway_simulator, "k", amount=100).body == first.body
    assert amounts(gateway_simulator) == [100]


def test_the_order_of_parameters_does_not_matter(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    first = call(gateway_simulator, "POST", "/v1/refunds", {"charge": "ch_1", "amount": 100}, key="k")
    again = call(gateway_simulator, "POST", "/v1/refunds", {"amount": 100, "charge": "ch_1"}, key="k")
    assert again.body == first.body


def test_a_key_on_another_endpoint_is_refused_with_both_named(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    made = refund(gateway_simulator, "k", amount=100).json["id"]
    refused = call(gateway_simulator, "POST", f"/v1/refunds/{made}", {"metadata[a]": "b"}, key="k")
    assert (refused.status, refused.error["type"]) == (400, "idempotency_error")
    assert f"('POST /v1/refunds/{made}' vs 'POST /v1/refunds')" in refused.error["message"]
    assert gateway_simulator.refunds()[0]["metadata"] == {}


def test_a_key_in_use_is_refused_at_once_and_the_first_result_replays_later(
    gateway_simulator: GatewaySimulator,
) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    gateway_simulator.arm("delay_before")
    answers: list[Raw] = []
    original = Thread(target=lambda: answers.append(refund(gateway_simulator, "k", amount=100)))
    original.start()
    gateway_simulator.wait_until_waiting()
    in_use = refund(gateway_simulator, "k", amount=100)
    assert (in_use.status, in_use.error["code"]) == (409, "idempotency_key_in_use")
    assert amounts(gateway_simulator) == []
    assert gateway_simulator.release() == 1
    original.join(10)
    (first,) = answers
    assert first.status == 200
    again = refund(gateway_simulator, "k", amount=100)
    assert (again.body, again.headers["idempotent-replayed"]) == (first.body, "true")
    assert amounts(gateway_simulator) == [100]


def test_a_validation_error_is_not_kept(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    refused = refund(gateway_simulator, "k", amount="ten")
    assert (refused.status, refused.error["code"]) == (400, "parameter_invalid_integer")
    accepted = refund(gateway_simulator, "k", amount=10)
    assert accepted.status == 200
    assert "idempotent-replayed" not in accepted.headers


def test_a_limiter_keeps_nothing(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    gateway_simulator.arm("status", status=429, rate_limited_reason="endpoint-rate")
    limited = refund(gateway_simulator, "k", amount=100)
    assert (limited.status, limited.headers["stripe-rate-limited-reason"]) == (429, "endpoint-rate")
    assert amounts(gateway_simulator) == []
    assert refund(gateway_simulator, "k", amount=100).status == 200


def test_a_key_can_have_255_characters(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    assert refund(gateway_simulator, "k" * 256, amount=100).status == 400
    assert amounts(gateway_simulator) == []
    assert refund(gateway_simulator, "k" * 255, amount=100).status == 200


def test_a_key_on_a_read_has_no_effect(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    refund(gateway_simulator, "k", amount=100)
    for _ in range(2):
        listed = call(gateway_simulator, "GET", "/v1/refunds?charge=ch_1", key="k")
        assert (listed.status, len(listed.json["data"])) == (200, 1)
        assert "idempotent-replayed" not in listed.headers


def test_without_a_key_every_request_executes(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    refund(gateway_simulator, amount=100)
    refund(gateway_simulator, amount=100)
    assert amounts(gateway_simulator) == [100, 100]


def test_twenty_at_once_under_one_key_book_once(gateway_simulator: GatewaySimulator) -> None:
    gateway_simulator.seed_charge("ch_1", amount=5000)
    barrier = Barrier(20)
    answers: list[Raw] = []

    def submit() -> None:
        barrier.wait()
        answers.append(refund(gateway_simulator, "k", amount=100))

    in_parallel([submit] * 20)
    assert len(answers) == 20
    assert {answer.status for answer in answers} <= {200, 409}
    assert len({answer.body for answer in answers if answer.status == 200}) == 1
    assert amounts(gateway_simulator) == [100]
