"""Facts 10, items 63 and 64 of the provider's side; docs.stripe.com/webhooks, changelog acacia 2024-10-28."""

from collections.abc import Iterator

import pytest

from tests.conformance.provider import Provider
from tests.support.gateway_simulator import GatewaySimulator
from tests.support.webhook_receiver import WebhookReceiver, webhook_receiver

_THREE_DAYS = 3 * 86_400


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with webhook_receiver() as running:
        yield running


@pytest.fixture
def control(provider: Provider, receiver: WebhookReceiver) -> GatewaySimulator:
    provider.control.add_endpoint(receiver.url, "whsec_1", types=["refund.created"])
    return provider.control


def test_63_a_sandbox_tries_three_times_and_signs_each_anew(
    provider: Provider, control: GatewaySimulator, receiver: WebhookReceiver
) -> None:
    control.webhook_patience(retry_seconds=3600)
    receiver.answers = [500, 302, 503, 200]
    provider.refund(provider.pay())
    for count, hours in ((1, 0), (2, 1), (3, 2)):
        control.advance(hours * 3600)
        receiver.wait_for(count)
    control.advance(_THREE_DAYS)
    (delivery,) = control.wait_until_sent()
    assert (delivery["state"], [one["status"] for one in delivery["attempts"]]) == ("failed", [500, 302, 503])
    assert len({one.event["id"] for one in receiver.received}) == 1
    assert len({one.body for one in receiver.received}) == 1


def test_63_each_attempt_has_a_time_and_a_signature_of_its_own(
    provider: Provider, control: GatewaySimulator, receiver: WebhookReceiver
) -> None:
    control.webhook_patience(retry_seconds=1.1)
    receiver.answers = [500]
    provider.refund(provider.pay())
    first, second = receiver.wait_for(2)
    assert first.signature.partition(",")[0] != second.signature.partition(",")[0]
    assert first.signature.partition(",")[2] != second.signature.partition(",")[2]


def test_63_live_mode_goes_on_for_three_days(
    provider: Provider, control: GatewaySimulator, receiver: WebhookReceiver
) -> None:
    control.webhook_patience(retry_seconds=3600, for_seconds=_THREE_DAYS)
    receiver.answers = [500] * 100
    provider.refund(provider.pay())
    began, hours = receiver.wait_for(1)[0].at, 1.0
    assert began
    for count in range(2, 8):  # 1, 3, 7, 15, 31 and 63 hours after the first
        control.advance(hours * 3600)
        hours *= 2
        receiver.wait_for(count)
    control.advance(10 * _THREE_DAYS)
    (delivery,) = control.wait_until_sent()
    assert (delivery["state"], len(delivery["attempts"])) == ("failed", 7)


def test_64_before_acacia_a_card_refund_is_told_by_its_charge(
    provider: Provider, receiver: WebhookReceiver
) -> None:
    control = provider.control
    control.add_endpoint(receiver.url, "whsec_1", api_version="2024-06-20")
    made = provider.refund(provider.pay()).json
    control.set_refund_status(made["id"], "failed")
    control.wait_until_sent()
    assert receiver.types == ["charge.refunded", "charge.refund.updated"]
