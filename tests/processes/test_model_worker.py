"""The worker that asks the model: a real process with the model's credentials and none of the provider's."""

from datetime import timedelta

import pytest
from django.utils import timezone

from refunds.models import GatewayAttempt, Proposal, RefundOperation
from tests.factories import qualify_model
from tests.support.model_simulator import ModelSimulator
from tests.support.workers import Worker, purge, send, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]


class ModelWorker(Worker):
    """Serves the queue of the model alone."""

    def __init__(self, *, model, log):
        self._model = model
        super().__init__(log=log, beat=False, queues="assistant")

    def _env(self, gateway_url, api_key):
        env = super()._env(gateway_url, api_key)
        kept = {name: value for name, value in env.items() if not name.startswith("STRIPE_")}
        return {
            **kept,
            "OPENAI_BASE_URL": self._model.url,
            "OPENAI_API_KEY": self._model.api_key,
            "ASSISTANT_MODELS": self._model.model,
            "ASSISTANT_DEADLINE_SECONDS": "20",
        }


@pytest.fixture
def model(tmp_path):
    with ModelSimulator(book=tmp_path / "model.sqlite3") as simulator:
        yield simulator


@pytest.fixture
def worker(model, tmp_path):
    purge()
    started = ModelWorker(model=model, log=tmp_path / "worker.log")
    yield started
    started.stop()


def test_it_starts_without_the_gateways_key_asks_the_model_and_sends_nothing(desk, model, worker):
    desk.now = timezone.now() - timedelta(seconds=1)
    qualify_model(base_url=model.url, at=desk.now)
    made = desk.duplicate(desk.customer())
    workflow_id = desk.ask(made.order, run=False)

    send("advance_workflow", workflow_id=workflow_id)

    wait_until(RefundOperation.objects.exists, seconds=120, what="an operation")
    assert not [name for name in worker.environment if name.startswith("STRIPE_")]
    assert Proposal.objects.get().proposer == "demo-proposer-1"
    (question,) = model.log()
    assert not {"tools", "tool_choice", "functions", "function_call"} & set(question["body"])
    operation = desk.operation(workflow_id)
    assert (operation.state, GatewayAttempt.objects.count(), desk.posts()) == ("CREATED", 0, [])
