"""Facts 10, items 27 to 40 of the provider's side; docs.stripe.com/refunds, /api/refunds, /testing, /currencies."""

from collections.abc import Callable
from threading import Barrier, Thread
from typing import Any

import pytest

from tests.conformance.provider import Payment, Provider

NewKey = Callable[[], str]


def test_27_up_to_what_is_left_and_then_the_charge_is_refunded(provider: Provider) -> None:
    payment = provider.pay(5000)
    provider.refund(payment, amount=3000)
    refused = provider.refund(payment, amount=2001)
    assert (refused.status, refused.error["type"]) == (400, "invalid_request_error")
    assert refused.error["param"] == "amount"
    assert provider.call("GET", f"/v1/charges/{payment.charge}").json["refunded"] is False
    assert provider.refund(payment, amount=2000).status == 200
    charge = provider.call("GET", f"/v1/charges/{payment.charge}").json
    assert (charge["refunded"], charge["amount_refunded"]) == (True, 5000)


def test_28_without_an_amount_all_that_is_left_goes_back(provider: Provider) -> None:
    payment = provider.pay(5000)
    provider.refund(payment, amount=3000)
    assert provider.refund(payment).json["amount"] == 2000


def test_29_what_is_refunded_is_refunded(provider: Provider) -> None:
    payment = provider.pay()
    provider.refund(payment)
    refused = provider.refund(payment, amount=1)
    assert (refused.status, refused.error["code"]) == (400, "charge_already_refunded")


def test_30_two_at_once_never_exceed_the_charge(provider: Provider, new_key: NewKey) -> None:
    payment, start, statuses = provider.pay(5000), Barrier(2), []

    def ask() -> None:
        start.wait(10)
        statuses.append(provider.refund(payment, new_key(), amount=3000).status)

    threads = [Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert statuses.count(200) == 1
    assert set(statuses) <= {200, 400, 429}
    assert sum(provider.amounts(payment)) == 3000


def test_31_equal_partials_under_two_keys_are_two_refunds(provider: Provider, new_key: NewKey) -> None:
    payment = provider.pay(5000)
    made = [provider.refund(payment, new_key(), amount=100).json["id"] for _ in range(2)]
    assert len(set(made)) == 2
    assert provider.amounts(payment) == [100, 100]


def test_32_a_success_may_fail_later(provider: Provider) -> None:
    payment = provider.pay(payment_method="pm_card_refundFail")
    made = provider.refund(payment).json
    assert made["status"] == "succeeded"
    provider.wait_for(lambda: provider.status_of(made["id"])["status"] == "failed")
    failed = provider.status_of(made["id"])
    assert failed["failure_reason"] == "expired_or_canceled_card"
    assert failed["failure_balance_transaction"].startswith("txn_")
    (told,) = provider.wait_for(lambda: provider.events_about(made["id"], "refund.failed"))
    assert told["request"]["idempotency_key"] is None


def test_33_pending_becomes_succeeded(provider: Provider) -> None:
    payment = provider.pay(payment_method="pm_card_pendingRefund")
    made = provider.refund(payment).json
    assert made["status"] == "pending"
    provider.wait_for(lambda: provider.status_of(made["id"])["status"] == "succeeded")
    assert provider.wait_for(lambda: provider.events_about(made["id"], "refund.updated"))


def test_34_without_a_balance_it_waits_and_a_top_up_lets_it_go(provider: Provider) -> None:
    control, payment = provider.control, provider.pay(5000)
    control.set_balance("usd", 4999)
    made = provider.refund(payment).json
    assert (made["status"], made["pending_reason"]) == ("pending", "insufficient_funds")
    control.set_balance("usd", 5000)
    assert provider.status_of(made["id"])["status"] == "succeeded"
    assert provider.call("GET", "/v1/balance").json["available"] == [{"amount": 0, "currency": "usd"}]
    assert provider.events_about(made["id"], "refund.updated")


def waiting_for_its_customer(provider: Provider) -> dict[str, Any]:
    control = provider.control
    control.seed_charge("py_1", amount=5000, currency="jpy", payment_method_type="konbini")
    made = provider.refund(Payment("py_1", "pi_1")).json
    assert made["status"] == "requires_action"
    assert made["next_action"]["display_details"]["expires_at"] > made["created"]
    return dict(made)


@pytest.mark.parametrize(
    ("path", "becomes"),
    [("/v1/refunds/{}/cancel", "canceled"), ("/v1/test_helpers/refunds/{}/expire", "failed")],
)
def test_35_what_waits_for_its_customer_can_be_canceled_and_expires(
    provider: Provider, path: str, becomes: str
) -> None:
    made = waiting_for_its_customer(provider)
    ended = provider.call("POST", path.format(made["id"]))
    assert (ended.status, ended.json["status"]) == (200, becomes)
    assert ended.json["failure_reason"]
    assert ended.json["failure_balance_transaction"]
    assert provider.call("POST", path.format(made["id"])).status == 400


def test_35_by_itself_it_expires_after_its_time(provider: Provider) -> None:
    made = waiting_for_its_customer(provider)
    provider.control.advance(made["next_action"]["display_details"]["expires_at"] - made["created"])
    provider.wait_for(lambda: provider.status_of(made["id"])["status"] == "failed")


def test_35_nothing_else_can_be_canceled(provider: Provider) -> None:
    made = provider.refund(provider.pay()).json
    refused = provider.call("POST", f"/v1/refunds/{made['id']}/cancel")
    assert (refused.status, refused.error["type"]) == (400, "invalid_request_error")
    assert provider.status_of(made["id"])["status"] == "succeeded"


def test_36_a_disputed_charge_is_not_refunded(provider: Provider) -> None:
    payment = provider.pay(payment_method="pm_card_createDispute")
    path = f"/v1/charges/{payment.charge}"
    provider.wait_for(lambda: provider.call("GET", path).json["disputed"])
    refused = provider.refund(payment)
    assert (refused.status, refused.error["code"]) == (400, "charge_disputed")


def test_36_an_inquiry_allows_a_full_refund_and_is_settled_by_it(provider: Provider) -> None:
    control, payment = provider.control, provider.pay()
    control.open_dispute(payment.charge, status="warning_needs_response")
    assert provider.refund(payment).status == 200
    (inquiry,) = provider.call("GET", "/v1/disputes", {"charge": payment.charge}).json["data"]
    assert inquiry["status"] == "warning_closed"


@pytest.mark.parametrize("escalated", [True, False])
def test_37_a_dispute_fails_what_is_pending(provider: Provider, escalated: bool) -> None:
    control, payment = provider.control, provider.pay()
    control.set_balance("usd", 0)
    made = provider.refund(payment).json
    if escalated:
        inquiry = control.open_dispute(payment.charge, status="warning_needs_response")
        assert provider.status_of(made["id"])["status"] == "pending"
        control.escalate_dispute(inquiry["id"])
    else:
        control.open_dispute(payment.charge)
    failed = provider.status_of(made["id"])
    assert (failed["status"], failed["failure_reason"]) == ("failed", "charge_for_pending_refund_disputed")


def test_38_an_authorisation_is_canceled_and_not_refunded(provider: Provider) -> None:
    payment = provider.pay(capture_method="manual")
    for reference in ({"charge": payment.charge}, {"payment_intent": payment.intent}):
        refused = provider.call("POST", "/v1/refunds", reference)
        assert (refused.status, refused.error["type"]) == (400, "invalid_request_error")
    canceled = provider.call("POST", f"/v1/payment_intents/{payment.intent}/cancel")
    assert (canceled.status, canceled.json["status"]) == (200, "canceled")
    assert provider.call("POST", "/v1/refunds", {"payment_intent": payment.intent}).status == 400


def test_38_what_was_captured_in_part_is_refunded_up_to_that(provider: Provider) -> None:
    payment = provider.pay(5000, capture_method="manual")
    path = f"/v1/payment_intents/{payment.intent}/capture"
    assert provider.call("POST", path, {"amount_to_capture": 3000}).json["amount_received"] == 3000
    assert provider.refund(payment, amount=3001).status == 400
    assert provider.refund(payment).json["amount"] == 3000


@pytest.mark.parametrize(
    ("currency", "good", "bad"), [("jpy", 500, None), ("kwd", 5120, 5124), ("isk", 500, 550)]
)
def test_39_amounts_are_in_the_currencys_own_unit(
    provider: Provider, currency: str, good: int, bad: int | None
) -> None:
    payment = provider.pay(100_000, currency)
    if bad is not None:
        refused = provider.refund(payment, amount=bad)
        assert (refused.status, refused.error["param"]) == (400, "amount")
    made = provider.refund(payment, amount=good).json
    assert (made["amount"], made["currency"]) == (good, currency)


@pytest.mark.parametrize("reason", ["other", "expired_uncaptured_charge"])
def test_40_a_reason_is_one_of_three(provider: Provider, reason: str) -> None:
    payment = provider.pay()
    refused = provider.refund(payment, reason=reason)
    assert (refused.status, refused.error["param"]) == (400, "reason")
    assert provider.amounts(payment) == []


def test_40_an_expired_authorisation_shows_as_a_refund_with_a_reason_of_its_own(provider: Provider) -> None:
    control, payment = provider.control, provider.pay(capture_method="manual")
    control.expire_authorisation(payment.charge)
    assert [one["reason"] for one in provider.refunds(payment)] == ["expired_uncaptured_charge"]
