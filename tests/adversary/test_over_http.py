"""The same over real connections: the model's answer comes over HTTP, and the provider keeps what reached it."""

import json

import pytest

from ledger.models import LedgerEntry
from refunds.gateways.stripe import StripeGateway
from refunds.proposers.openai_compatible import OpenAICompatibleProposer
from tests.adversary.cases import AUTOMATIC
from tests.adversary.desk import run
from tests.adversary.judging import VALID
from tests.adversary.money import differences
from tests.adversary.outputs import one_of_each
from tests.support.gateway_simulator import GatewaySimulator
from tests.support.model_simulator import ModelSimulator

LARGEST = 100_000  # the simulator takes no larger order; longer answers are the raw server's business
SAMPLE = [output for output in one_of_each() if len(output.text) < LARGEST]


@pytest.fixture(scope="module")
def simulators(tmp_path_factory):
    books = tmp_path_factory.mktemp("books")
    with (
        ModelSimulator(book=books / "model.sqlite3") as model,
        GatewaySimulator(book=books / "gateway.sqlite3") as gateway,
    ):
        yield model, gateway


class OverHttp:
    """The provider's simulator, with every charge of the ledger in its book."""

    def __init__(self, simulator):
        simulator.reset()
        for entry in LedgerEntry.objects.filter(kind="CAPTURE").select_related("payment"):
            simulator.seed_charge(
                entry.payment.processor_reference,
                amount=entry.amount_minor_units,
                currency=entry.currency.lower(),
            )
        self.simulator = simulator
        self.gateway = StripeGateway(
            api_key=simulator.api_key,
            api_base=simulator.url,
            connect_timeout_seconds=2,
            answer_timeout_seconds=5,
        )

    def sent(self):
        """The path, the key and the body of each request, as bytes."""
        return [
            json.dumps([post["path"], post["headers"]["idempotency-key"], post["body"]]).encode()
            for post in self.simulator.log(method="POST")
        ]


@pytest.mark.parametrize("verified", [AUTOMATIC], indirect=True)
def test_the_bytes_that_reach_the_provider_are_those_of_the_honest_run(verified, simulators):
    model, gateway = simulators
    proposer = OpenAICompatibleProposer(base_url=model.url, api_key=model.api_key, model=model.model)

    def ran():
        return run(verified, proposer, provider=lambda: OverHttp(gateway)).money

    model.reset()
    honest = ran()
    assert len(honest.sent) == len(honest.operations) == 1
    for output in SAMPLE:
        model.reset()
        model.arm("hostile", content=output.text, count=3)
        money = ran()

        assert differences(honest, money) == [], output.name
        assert len(money.sent) == (output.expected == VALID), output.name


@pytest.mark.failure("F087")
@pytest.mark.parametrize("verified", [AUTOMATIC], indirect=True)
@pytest.mark.parametrize(
    ("fault", "more"),
    [
        ("tool_calls", {"name": "refund_now", "copies": 5}),
        ("refusal", {}),
        ("content_filter", {}),
        ("truncation", {}),
        ("empty_choices", {}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_answer_without_a_proposal_is_handed_over(verified, simulators, fault, more):
    model, gateway = simulators
    proposer = OpenAICompatibleProposer(base_url=model.url, api_key=model.api_key, model=model.model)
    model.reset()
    model.arm(fault, count=3, **more)

    ran = run(verified, proposer, provider=lambda: OverHttp(gateway))

    assert (ran.state, ran.money.operations, ran.money.sent) == ("MANUAL_REVIEW", (), ())
