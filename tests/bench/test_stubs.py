import asyncio
import json
import threading
from urllib.parse import urlencode

import pytest

from config.demo.bench.statements import recording
from config.demo.bench.stubs import GatewayStub, answer_question, serving
from ledger.models import Merchant
from refunds.gateways.port import AnswerClass, RefundCommand
from refunds.gateways.stripe import StripeGateway
from tests.factories import make_merchant

FORM = {"charge": "ch_1", "amount": "4999", "metadata[refund_operation_id]": "rfop_1"}
COMMAND = RefundCommand(
    operation_id="rfop_1",
    idempotency_key="refund:rfop_1",
    account="",
    payment_reference="ch_1",
    amount_minor_units=4999,
    currency="USD",
    reason_code="DUPLICATE_CHARGE",
)


def submit(stub, key, **more):
    return stub.handle("/v1/refunds", {"idempotency-key": key}, urlencode({**FORM, **more}).encode())


def stats(stub):
    return stub.handle("/stats", {}, b"")[1]


def test_one_key_is_one_refund():
    stub = GatewayStub()
    assert submit(stub, "k") == submit(stub, "k")
    assert stats(stub) == {"calls": 2, "refunds": 1, "charges_with_several_keys": 0}


def test_a_key_with_another_body_is_refused():
    stub = GatewayStub()
    submit(stub, "k")
    assert submit(stub, "k", amount="1")[0] == 400


def test_a_charge_that_is_refunded_under_two_keys_is_found_out():
    stub = GatewayStub()
    submit(stub, "k1")
    submit(stub, "k2")
    assert stats(stub)["charges_with_several_keys"] == 1


def test_the_model_answers_in_the_simulators_words():
    facts = {"role": "user", "content": json.dumps({"finding": "VERIFIED_DUPLICATE_CHARGE"})}
    asked = {"model": "bench", "messages": [facts]}
    status, answer = answer_question("/v1/chat/completions", {}, json.dumps(asked).encode())
    assert status == 200
    assert answer["choices"][0]["message"]["role"] == "assistant"


@pytest.fixture
def gateway_url():
    """The gateway's stub, served by a thread of its own."""
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(serving(GatewayStub().handle), "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    loop.call_soon_threadsafe(server.close)
    asyncio.run_coroutine_threadsafe(_ended(), loop).result(5)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


async def _ended():
    """Wait until every connection has been closed."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def test_the_products_adapter_takes_the_stub_for_the_provider(gateway_url):
    gateway = StripeGateway(
        api_key="sk_test_bench", api_base=gateway_url, connect_timeout_seconds=2, answer_timeout_seconds=2
    )
    answer = gateway.submit_refund(COMMAND)
    assert answer.answer_class is AnswerClass.ACCEPTED
    assert answer.refund.processor_reference == "re_bench_1"


@pytest.mark.django_db
def test_every_statement_is_recorded_with_its_table():
    with recording() as found:
        make_merchant()
        list(Merchant.objects.all())
    assert [statement.kind for statement in found] == ["INSERT ledger_merchants", "SELECT ledger_merchants"]
    assert all(statement.caller == () for statement in found)  # this test is none of the product's functions
