"""What every gateway promises; run on the fake, and on the Stripe adapter over HTTP."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Barrier, Thread
from typing import Any, Protocol

import pytest

from refunds.gateways.fake import FakeGateway, Ordered
from refunds.gateways.port import AnswerClass, Gateway, GatewayAnswer, ProviderStatus
from refunds.gateways.stripe import StripeGateway
from tests.gateways.builders import refund_command, stripe_gateway_at
from tests.support.gateway_simulator import GatewaySimulator


class World(Protocol):
    """A gateway with a provider behind it that obeys."""

    gateway: Gateway

    def seed(self, payment: str, amount: int, currency: str = "USD", **more: Any) -> None: ...
    def loses_the_answer(self) -> None: ...
    def loses_the_request(self) -> None: ...
    def books_as_pending(self) -> None: ...
    def unreachable(self) -> AbstractContextManager[None]: ...
    def settle(self, reference: str, status: str) -> None: ...
    def booked(self, payment: str) -> list[int]: ...


class FakeWorld:
    def __init__(self) -> None:
        self.fake = FakeGateway()
        self.gateway: Gateway = self.fake

    def seed(self, payment: str, amount: int, currency: str = "USD", **more: Any) -> None:
        self.fake.seed_payment(
            payment_reference=payment, amount_minor_units=amount, currency=currency, **more
        )

    def loses_the_answer(self) -> None:
        self.fake.order(Ordered.BOOK_THEN_LOSE)

    def loses_the_request(self) -> None:
        self.fake.order(Ordered.NEVER_ARRIVE)

    def books_as_pending(self) -> None:
        self.fake.order(Ordered.PENDING)

    def unreachable(self) -> AbstractContextManager[None]:
        self.fake.order(Ordered.NOT_EXECUTED)
        return nullcontext()

    def settle(self, reference: str, status: str) -> None:
        self.fake.set_status(reference, ProviderStatus[status])

    def booked(self, payment: str) -> list[int]:
        return [fact.amount_minor_units for fact in self.fake.refunds(payment)]


class StripeWorld:
    def __init__(self, simulator: GatewaySimulator) -> None:
        self.simulator = simulator
        self.gateway: Gateway = stripe_gateway_at(simulator.url)

    def seed(self, payment: str, amount: int, currency: str = "USD", **more: Any) -> None:
        self.simulator.seed_charge(payment, amount=amount, currency=currency, **more)

    def loses_the_answer(self) -> None:
        self.simulator.arm("drop_after")

    def loses_the_request(self) -> None:
        self.simulator.arm("drop_before")

    def books_as_pending(self) -> None:
        self.simulator.arm("pending")

    @contextmanager
    def unreachable(self) -> Iterator[None]:
        self.simulator.stop()
        yield
        self.simulator.start()

    def settle(self, reference: str, status: str) -> None:
        self.simulator.set_refund_status(reference, status.lower())

    def booked(self, payment: str) -> list[int]:
        return [refund["amount"] for refund in self.simulator.refunds(payment)]


@pytest.fixture(params=["fake", "stripe"])
def world(request: pytest.FixtureRequest) -> World:
    if request.param == "fake":
        return FakeWorld()
    return StripeWorld(request.getfixturevalue("gateway_simulator"))


def _list(world: World, payment: str = "ch_A2", account: str = "") -> Any:
    return world.gateway.list_refunds(payment_reference=payment, account=account)


def test_a_refund_is_accepted_and_booked_once(world: World) -> None:
    world.seed("ch_A2", 4999)
    answer = world.gateway.submit_refund(refund_command())
    assert answer.answer_class is AnswerClass.ACCEPTED
    assert answer.http_status == 200
    assert answer.replayed is False
    assert answer.refund is not None
    assert answer.refund.operation_id == "rfop_01K2TEST"
    assert answer.refund.amount_minor_units == 4999
    assert answer.refund.currency == "USD"
    assert answer.refund.status is ProviderStatus.SUCCEEDED
    assert answer.refund.payment_reference == "ch_A2"
    assert world.booked("ch_A2") == [4999]


def test_the_same_command_again_is_answered_from_memory(world: World) -> None:
    world.seed("ch_A2", 9998)
    first = world.gateway.submit_refund(refund_command())
    again = world.gateway.submit_refund(refund_command())
    assert again.answer_class is AnswerClass.ACCEPTED
    assert again.replayed is True
    assert again.refund == first.refund
    assert world.booked("ch_A2") == [4999]


def test_the_same_key_with_another_amount_pays_nothing_and_proves_nothing(world: World) -> None:
    world.seed("ch_A2", 4999)
    world.gateway.submit_refund(refund_command(amount_minor_units=100))
    answer = world.gateway.submit_refund(refund_command(amount_minor_units=200))
    assert answer.answer_class is AnswerClass.UNKNOWN
    assert answer.error_type == "idempotency_error"
    assert answer.refund is None
    assert world.booked("ch_A2") == [100]


def test_two_operations_of_equal_amount_are_two_refunds(world: World) -> None:
    world.seed("ch_A2", 4999)
    first = world.gateway.submit_refund(refund_command("rfop_1", amount_minor_units=1000))
    second = world.gateway.submit_refund(refund_command("rfop_2", amount_minor_units=1000))
    assert first.refund is not None
    assert second.refund is not None
    assert first.refund.processor_reference != second.refund.processor_reference
    assert world.booked("ch_A2") == [1000, 1000]


def test_a_pending_refund_is_pending_until_the_provider_says_more(world: World) -> None:
    world.seed("ch_A2", 4999)
    world.books_as_pending()
    answer = world.gateway.submit_refund(refund_command())
    assert answer.answer_class is AnswerClass.PENDING
    assert answer.refund is not None
    assert answer.refund.status is ProviderStatus.PENDING
    for status in ("SUCCEEDED", "FAILED"):
        world.settle(answer.refund.processor_reference, status)
        found = world.gateway.retrieve_refund(
            processor_reference=answer.refund.processor_reference, account=""
        )
        assert [fact.status.value for fact in found.refunds] == [status]


def test_a_disputed_payment_is_refused(world: World) -> None:
    world.seed("ch_A2", 4999, disputed=True)
    answer = world.gateway.submit_refund(refund_command())
    assert answer.answer_class is AnswerClass.REFUSED
    assert answer.error_code == "charge_disputed"
    assert world.booked("ch_A2") == []


def test_a_refunded_payment_is_refused(world: World) -> None:
    world.seed("ch_A2", 4999)
    world.gateway.submit_refund(refund_command("rfop_1"))
    answer = world.gateway.submit_refund(refund_command("rfop_2"))
    assert answer.answer_class is AnswerClass.REFUSED
    assert answer.error_code == "charge_already_refunded"
    assert world.booked("ch_A2") == [4999]


def test_more_than_is_left_is_refused(world: World) -> None:
    world.seed("ch_A2", 5000)
    world.gateway.submit_refund(refund_command("rfop_1", amount_minor_units=3000))
    answer = world.gateway.submit_refund(refund_command("rfop_2", amount_minor_units=2001))
    assert answer.answer_class is AnswerClass.REFUSED
    assert world.booked("ch_A2") == [3000]


def test_an_unknown_payment_proves_nothing_since_the_account_or_the_mode_may_be_wrong(world: World) -> None:
    answer = world.gateway.submit_refund(refund_command())
    assert answer.answer_class is AnswerClass.UNKNOWN
    assert (answer.http_status, answer.error_code) == (404, "resource_missing")
    listed = _list(world)
    assert (listed.complete, listed.http_status, listed.refunds) == (False, 404, ())


def test_a_failed_refund_gives_its_amount_back(world: World) -> None:
    world.seed("ch_A2", 4999)
    first = world.gateway.submit_refund(refund_command("rfop_1"))
    assert first.refund is not None
    world.settle(first.refund.processor_reference, "FAILED")
    second = world.gateway.submit_refund(refund_command("rfop_2"))
    assert second.answer_class is AnswerClass.ACCEPTED


def test_a_lost_answer_is_unknown_and_the_list_finds_the_refund(world: World) -> None:
    world.seed("ch_A2", 4999)
    world.loses_the_answer()
    answer = world.gateway.submit_refund(refund_command())
    assert answer.answer_class is AnswerClass.UNKNOWN
    assert answer.refund is None
    found = _list(world)
    assert found.complete is True
    assert found.surface == "refunds.list"
    assert [(fact.operation_id, fact.amount_minor_units) for fact in found.refunds] == [
        ("rfop_01K2TEST", 4999)
    ]
    assert world.booked("ch_A2") == [4999]


def test_a_lost_request_is_unknown_and_the_list_is_complete_and_empty(world: World) -> None:
    world.seed("ch_A2", 4999)
    world.loses_the_request()
    answer = world.gateway.submit_refund(refund_command())
    assert answer.answer_class is AnswerClass.UNKNOWN
    found = _list(world)
    assert (found.complete, found.refunds) == (True, ())
    assert world.booked("ch_A2") == []


def test_after_a_lost_answer_the_same_key_pays_nothing_more(world: World) -> None:
    world.seed("ch_A2", 9998)
    world.loses_the_answer()
    world.gateway.submit_refund(refund_command())
    answer = world.gateway.submit_refund(refund_command())
    assert answer.answer_class is AnswerClass.ACCEPTED
    assert answer.replayed is True
    assert world.booked("ch_A2") == [4999]


def test_no_connection_means_not_executed(world: World) -> None:
    world.seed("ch_A2", 4999)
    with world.unreachable():
        answer = world.gateway.submit_refund(refund_command())
    assert answer.answer_class is AnswerClass.NOT_EXECUTED
    assert answer.error_code == "CONNECT_FAILED"
    assert world.booked("ch_A2") == []
    assert world.gateway.submit_refund(refund_command()).answer_class is AnswerClass.ACCEPTED


def test_the_list_of_an_unknown_payment_proves_nothing(world: World) -> None:
    found = _list(world, "ch_nowhere")
    assert (found.complete, found.refunds) == (False, ())
    assert found.error_code == "resource_missing"


def test_the_list_is_newest_first(world: World) -> None:
    world.seed("ch_A2", 4999)
    for number in (1, 2, 3):
        world.gateway.submit_refund(refund_command(f"rfop_{number}", amount_minor_units=number))
    assert [fact.amount_minor_units for fact in _list(world).refunds] == [3, 2, 1]


def test_an_unknown_refund_cannot_be_retrieved(world: World) -> None:
    found = world.gateway.retrieve_refund(processor_reference="re_nothing", account="")
    assert (found.complete, found.refunds) == (False, ())
    assert found.surface == "refunds.retrieve"
    assert found.error_code == "resource_missing"


def test_accounts_do_not_see_each_other(world: World) -> None:
    world.seed("ch_A2", 4999, account="acct_1")
    assert world.gateway.submit_refund(refund_command()).answer_class is AnswerClass.UNKNOWN
    made = world.gateway.submit_refund(refund_command(account="acct_1"))
    assert made.answer_class is AnswerClass.ACCEPTED
    assert made.refund is not None
    reference = made.refund.processor_reference
    assert _list(world, account="").complete is False
    assert [fact.processor_reference for fact in _list(world, account="acct_1").refunds] == [reference]
    assert world.gateway.retrieve_refund(processor_reference=reference, account="").complete is False
    assert world.gateway.retrieve_refund(processor_reference=reference, account="acct_1").complete is True


def test_yen_have_no_minor_unit(world: World) -> None:
    world.seed("ch_A2", 500, "JPY")
    answer = world.gateway.submit_refund(refund_command(amount_minor_units=500, currency="JPY"))
    assert answer.refund is not None
    assert (answer.refund.amount_minor_units, answer.refund.currency) == (500, "JPY")
    assert world.booked("ch_A2") == [500]


def test_twenty_at_once_are_one_refund(world: World) -> None:
    world.seed("ch_A2", 99980)
    answers: list[GatewayAnswer] = []
    barrier = Barrier(20)

    def submit() -> None:
        barrier.wait()
        answers.append(world.gateway.submit_refund(refund_command()))

    threads = [Thread(target=submit) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 20
    assert {answer.answer_class for answer in answers} <= {AnswerClass.ACCEPTED, AnswerClass.UNKNOWN}
    assert sum(answer.answer_class is AnswerClass.ACCEPTED and not answer.replayed for answer in answers) == 1
    assert world.booked("ch_A2") == [4999]


def test_the_body_digest_follows_the_command(world: World) -> None:
    digest = world.gateway.request_body_sha256(refund_command())
    assert digest == world.gateway.request_body_sha256(refund_command())
    assert digest != world.gateway.request_body_sha256(refund_command(amount_minor_units=5000))
    assert digest != world.gateway.request_body_sha256(refund_command("rfop_2"))
    assert digest != world.gateway.request_body_sha256(refund_command(payment_reference="ch_A1"))
    assert len(digest) == 64


def test_the_stripe_adapter_is_the_port(gateway_simulator: GatewaySimulator) -> None:
    gateway: Gateway = stripe_gateway_at(gateway_simulator.url)
    assert isinstance(gateway, StripeGateway)
    assert (gateway.provider, gateway.api_version) == ("stripe", "2026-10-28.endive")
