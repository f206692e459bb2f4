"""What a submission puts on the wire, and what it never does."""

import hashlib

import pytest

from refunds.gateways.port import AnswerClass, RefundCommand
from refunds.gateways.stripe import StripeGateway
from tests.gateways.builders import refund_command, stripe_gateway_at
from tests.support.gateway_simulator import GatewaySimulator


def test_the_request_is_exactly_this(
    gateway_simulator: GatewaySimulator, stripe_gateway: StripeGateway
) -> None:
    gateway_simulator.seed_charge("ch_A2", amount=4999)
    stripe_gateway.submit_refund(refund_command())
    (entry,) = gateway_simulator.log()
    assert (entry["method"], entry["path"], entry["query"]) == ("POST", "/v1/refunds", "")
    assert entry["body"] == (
        "amount=4999&metadata[refund_operation_id]=rfop_01K2TEST&charge=ch_A2&reason=duplicate"
    )
    assert entry["idempotency_key"] == "refund:rfop_01K2TEST"
    assert entry["headers"]["stripe-version"] == "2026-10-28.endive"
    assert entry["headers"]["content-type"] == "application/x-www-form-urlencoded"
    assert entry["headers"]["connection"] == "close"
    assert "stripe-account" not in entry["headers"]


@pytest.mark.parametrize(
    "command",
    [
        refund_command(),
        refund_command(payment_reference="pi_A2"),
        refund_command(payment_reference="py_A2"),
        refund_command(account="acct_1"),
        refund_command(amount_minor_units=1),
        refund_command(reason_code="STAFF_REQUESTED"),
        refund_command("rfop_ä&=[]", idempotency_key="k"),
    ],
)
def test_the_digest_is_that_of_the_bytes_sent(
    gateway_simulator: GatewaySimulator, stripe_gateway: StripeGateway, command: RefundCommand
) -> None:
    stripe_gateway.submit_refund(command)
    (entry,) = gateway_simulator.log()
    assert stripe_gateway.request_body_sha256(command) == entry["body_sha256"]
    assert entry["body_sha256"] == hashlib.sha256(entry["body"].encode()).hexdigest()


def test_resent_bytes_and_headers_are_equal(
    gateway_simulator: GatewaySimulator, stripe_gateway: StripeGateway
) -> None:
    gateway_simulator.seed_charge("ch_A2", amount=4999, account="acct_1")
    gateway_simulator.arm("drop_after")
    stripe_gateway.submit_refund(refund_command(account="acct_1"))
    stripe_gateway_at(gateway_simulator.url).submit_refund(refund_command(account="acct_1"))
    first, second = gateway_simulator.log()
    assert first["body"] == second["body"]
    assert first["headers"] == second["headers"]
    assert second["replayed"] is True


def test_the_payment_intent_is_named_where_the_command_names_one(
    gateway_simulator: GatewaySimulator, stripe_gateway: StripeGateway
) -> None:
    gateway_simulator.seed_charge("ch_A2", amount=4999, payment_intent="pi_A2")
    answer = stripe_gateway.submit_refund(refund_command(payment_reference="pi_A2"))
    assert answer.answer_class is AnswerClass.ACCEPTED
    assert answer.refund is not None
    assert answer.refund.payment_reference == "pi_A2"
    assert "payment_intent=pi_A2" in gateway_simulator.log()[0]["body"]
    found = stripe_gateway.list_refunds(payment_reference="pi_A2", account="")
    assert [fact.payment_reference for fact in found.refunds] == ["pi_A2"]
    by_id = stripe_gateway.retrieve_refund(processor_reference=answer.refund.processor_reference, account="")
    assert [fact.payment_reference for fact in by_id.refunds] == ["ch_A2"]


def test_the_account_is_named_on_every_call(
    gateway_simulator: GatewaySimulator, stripe_gateway: StripeGateway
) -> None:
    gateway_simulator.seed_charge("ch_A2", amount=4999, account="acct_1")
    answer = stripe_gateway.submit_refund(refund_command(account="acct_1"))
    assert answer.refund is not None
    stripe_gateway.list_refunds(payment_reference="ch_A2", account="acct_1")
    stripe_gateway.retrieve_refund(processor_reference=answer.refund.processor_reference, account="acct_1")
    assert [entry["account"] for entry in gateway_simulator.log()] == ["acct_1"] * 3
    assert [entry["status"] for entry in gateway_simulator.log()] == [200] * 3


def test_reads_carry_no_key(gateway_simulator: GatewaySimulator, stripe_gateway: StripeGateway) -> None:
    gateway_simulator.seed_charge("ch_A2", amount=4999)
    stripe_gateway.list_refunds(payment_reference="ch_A2", account="")
    assert gateway_simulator.log()[0]["idempotency_key"] is None


def test_no_reason_is_given_for_other_refunds(
    gateway_simulator: GatewaySimulator, stripe_gateway: StripeGateway
) -> None:
    gateway_simulator.seed_charge("ch_A2", amount=4999)
    stripe_gateway.submit_refund(refund_command(reason_code="FRAUDULENT"))
    assert gateway_simulator.refunds()[0]["reason"] is None


@pytest.mark.parametrize(
    ("ours", "currency", "theirs"),
    [(500, "JPY", 500), (5120, "KWD", 5120), (500, "ISK", 50_000), (1000, "MGA", 10), (4999, "USD", 4999)],
)
def test_amounts_are_sent_in_the_providers_units_and_read_back_in_ours(
    gateway_simulator: GatewaySimulator,
    stripe_gateway: StripeGateway,
    ours: int,
    currency: str,
    theirs: int,
) -> None:
    gateway_simulator.seed_charge("ch_A2", amount=theirs, currency=currency.lower())
    answer = stripe_gateway.submit_refund(refund_command(amount_minor_units=ours, currency=currency))
    assert answer.answer_class is AnswerClass.ACCEPTED
    assert answer.refund is not None
    assert (answer.refund.amount_minor_units, answer.refund.currency) == (ours, currency)
    assert [refund["amount"] for refund in gateway_simulator.refunds("ch_A2")] == [theirs]


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (refund_command(amount_minor_units=5124, currency="KWD"), "AMOUNT_NOT_REPRESENTABLE"),
        (refund_command(amount_minor_units=50, currency="MGA"), "AMOUNT_NOT_REPRESENTABLE"),
        (refund_command(amount_minor_units=500, currency="UGX"), "AMOUNT_NOT_REPRESENTABLE"),
        (refund_command(amount_minor_units=0), "AMOUNT_NOT_REPRESENTABLE"),
        (refund_command(amount_minor_units=-1), "AMOUNT_NOT_REPRESENTABLE"),
        (refund_command(currency="usd"), "AMOUNT_NOT_REPRESENTABLE"),
        (refund_command(currency=""), "AMOUNT_NOT_REPRESENTABLE"),
        (refund_command(payment_reference="in_1"), "PAYMENT_REFERENCE_UNSUPPORTED"),
        (refund_command(payment_reference=""), "PAYMENT_REFERENCE_UNSUPPORTED"),
        (refund_command(payment_reference="ch_A2&amount=1"), "PAYMENT_REFERENCE_UNSUPPORTED"),
        (refund_command(account="acct_1\r\nX: y"), "ACCOUNT_UNSUPPORTED"),
        (refund_command(account="merchant-1"), "ACCOUNT_UNSUPPORTED"),
        (refund_command(payment_reference="ch_é"), "PAYMENT_REFERENCE_UNSUPPORTED"),
        (refund_command(idempotency_key=""), "KEY_NOT_USABLE"),
        (refund_command(idempotency_key="k" * 256), "KEY_NOT_USABLE"),
        (refund_command(idempotency_key="k\r\nStripe-Account: acct_2"), "KEY_NOT_USABLE"),
        (refund_command(idempotency_key="ä"), "KEY_NOT_USABLE"),
    ],
)
def test_a_command_without_an_exact_form_is_refused_unsent(
    gateway_simulator: GatewaySimulator, stripe_gateway: StripeGateway, command: RefundCommand, code: str
) -> None:
    gateway_simulator.seed_charge("ch_A2", amount=10**9, currency=command.currency.lower() or "usd")
    answer = stripe_gateway.submit_refund(command)
    assert answer.answer_class is AnswerClass.REFUSED
    assert (answer.http_status, answer.error_type, answer.error_code) == (None, None, code)
    assert answer.detail == f"not sent: {code}"
    assert gateway_simulator.log() == []
    assert stripe_gateway.request_body_sha256(command) == hashlib.sha256(b"").hexdigest()


def test_a_key_of_255_characters_is_sent(
    gateway_simulator: GatewaySimulator, stripe_gateway: StripeGateway
) -> None:
    gateway_simulator.seed_charge("ch_A2", amount=4999)
    answer = stripe_gateway.submit_refund(refund_command(idempotency_key="k" * 255))
    assert answer.answer_class is AnswerClass.ACCEPTED


@pytest.mark.parametrize(
    ("fault", "answer_class", "booked"),
    [
        ({"kind": "status", "status": 401}, AnswerClass.NOT_EXECUTED, 0),
        ({"kind": "status", "status": 403}, AnswerClass.NOT_EXECUTED, 0),
        (
            {"kind": "status", "status": 429, "rate_limited_reason": "endpoint-rate"},
            AnswerClass.NOT_EXECUTED,
            0,
        ),
        ({"kind": "status", "status": 429, "code": "lock_timeout"}, AnswerClass.UNKNOWN, 0),
        ({"kind": "status", "status": 424}, AnswerClass.UNKNOWN, 0),
        ({"kind": "status", "status": 500}, AnswerClass.UNKNOWN, 0),
        ({"kind": "status", "status": 500, "book": True}, AnswerClass.UNKNOWN, 1),
        ({"kind": "status", "status": 503, "book": True}, AnswerClass.UNKNOWN, 1),
        ({"kind": "unparsable"}, AnswerClass.UNKNOWN, 1),
        ({"kind": "drop_after"}, AnswerClass.UNKNOWN, 1),
        ({"kind": "drop_before"}, AnswerClass.UNKNOWN, 0),
        ({"kind": "pending"}, AnswerClass.PENDING, 1),
    ],
)
def test_trouble_at_the_provider(
    gateway_simulator: GatewaySimulator,
    stripe_gateway: StripeGateway,
    fault: dict[str, object],
    answer_class: AnswerClass,
    booked: int,
) -> None:
    gateway_simulator.seed_charge("ch_A2", amount=4999)
    gateway_simulator.control("POST", "faults", fault)
    assert stripe_gateway.submit_refund(refund_command()).answer_class is answer_class
    assert len(gateway_simulator.refunds()) == booked
    assert len(gateway_simulator.log()) == 1


def test_an_answer_later_than_the_timeout_is_unknown_and_the_refund_is_found(
    gateway_simulator: GatewaySimulator,
) -> None:
    gateway_simulator.seed_charge("ch_A2", amount=4999)
    gateway_simulator.arm("hold")
    gateway = stripe_gateway_at(gateway_simulator.url, answer=0.3)
    answer = gateway.submit_refund(refund_command())
    assert (answer.answer_class, answer.error_code) == (AnswerClass.UNKNOWN, "ANSWER_TIMED_OUT")
    found = gateway.list_refunds(payment_reference="ch_A2", account="")
    assert [fact.operation_id for fact in found.refunds] == ["rfop_01K2TEST"]
    assert gateway_simulator.release() == 1


def test_a_request_that_is_still_executing_shows_as_absent_and_is_booked_later(
    gateway_simulator: GatewaySimulator,
) -> None:
    gateway_simulator.seed_charge("ch_A2", amount=4999)
    gateway_simulator.arm("delay_before")
    gateway = stripe_gateway_at(gateway_simulator.url, answer=0.3)
    assert gateway.submit_refund(refund_command()).answer_class is AnswerClass.UNKNOWN
    empty = gateway.list_refunds(payment_reference="ch_A2", account="")
    assert (empty.complete, empty.refunds) == (True, ())
    in_use = gateway.submit_refund(refund_command())
    assert (in_use.answer_class, in_use.http_status) == (AnswerClass.UNKNOWN, 409)
    assert in_use.error_code == "idempotency_key_in_use"
    assert gateway_simulator.release() == 1
    answer = _until_booked(gateway, gateway_simulator)
    assert answer == ["rfop_01K2TEST"]


def _until_booked(gateway: StripeGateway, simulator: GatewaySimulator) -> list[str | None]:
    for _ in range(500):
        if simulator.refunds("ch_A2"):
            break
    return [fact.operation_id for fact in gateway.list_refunds(payment_reference="ch_A2", account="").refunds]
