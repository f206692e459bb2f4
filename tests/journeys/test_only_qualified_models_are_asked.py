"""A request goes its way whether its model is qualified, expired, changed, broken or without Redis; only who proposes differs."""

from datetime import timedelta

import pytest

from refunds.models import ModelQualification, Proposal, RefundWorkflowEvent
from refunds.proposers import registry
from tests.factories import make_customer, qualify_model
from tests.proposers.hanging_redis import hanging_redis
from tests.support.asked_model import asked_model
from tests.support.model_simulator import ModelSimulator

pytestmark = pytest.mark.django_db(transaction=True)
NAME = "demo-proposer-1"


@pytest.fixture(scope="module")
def running_model(tmp_path_factory):
    with ModelSimulator(book=tmp_path_factory.mktemp("model") / "book.sqlite3") as simulator:
        yield simulator


@pytest.fixture
def model(desk, running_model, settings):
    with asked_model(running_model, settings):
        yield running_model


def refunded(desk, customer=None):
    """Take a request for a charge that was made twice to its end; return its proposal and who was passed over."""
    workflow_id = desk.ask(desk.duplicate(customer or desk.customer()).order)
    assert desk.workflow(workflow_id).state == "COMPLETED"
    event = RefundWorkflowEvent.objects.get(workflow_id=workflow_id, to_state="ACTION_PROPOSED")
    return Proposal.objects.get(workflow_id=workflow_id), event.evidence["unavailable"]


def test_a_qualified_model_is_asked(desk, model):
    proposal, unavailable = refunded(desk)
    assert (proposal.proposer, proposal.model_snapshot, unavailable) == (NAME, f"{NAME}-2026-08-01", [])
    assert len(model.log()) == 1
    desk.assert_books_agree()


def test_a_model_whose_newest_evaluation_failed_is_not_asked(desk, model):
    qualify_model(base_url=model.url, passed=False)
    proposal, unavailable = refunded(desk)
    assert (proposal.proposer, unavailable) == ("deterministic", [f"{NAME}:NOT_QUALIFIED"])
    assert model.log() == []


def test_a_model_with_other_parameters_is_not_asked(desk, model, settings):
    settings.ASSISTANT_PARAMETERS = {"temperature": 1.5}
    registry.get_proposers.cache_clear()
    _, unavailable = refunded(desk)
    assert unavailable == [f"{NAME}:NOT_QUALIFIED"]
    assert model.log() == []


def test_a_model_is_asked_until_its_evaluation_expires(desk, model):
    ends = ModelQualification.objects.get().expires_at
    desk.now = ends - timedelta(seconds=1)
    assert refunded(desk)[1] == []
    desk.now = ends
    assert refunded(desk)[1] == [f"{NAME}:QUALIFICATION_EXPIRED"]
    assert len(model.log()) == 1


@pytest.mark.parametrize("changes", [{"snapshot": f"{NAME}-2026-07-01"}, {"response_form": "json_object"}])
def test_the_answer_of_another_one_than_qualified_is_not_taken(desk, model, changes):
    qualify_model(base_url=model.url, **changes)
    proposal, unavailable = refunded(desk)
    assert (proposal.proposer, unavailable) == ("deterministic", [f"{NAME}:MODEL_CHANGED"])
    assert (proposal.requests, len(model.log())) == (1, 1)


def test_many_customers_failures_spare_the_model_and_no_request(desk, model):
    model.arm("drop", count=None)
    merchant = desk.shop()
    for _ in range(10):
        assert refunded(desk, make_customer(merchant=merchant))[1] == [f"{NAME}:CONNECTION_FAILED"]
    assert len(model.log()) == 10

    assert refunded(desk, make_customer(merchant=merchant))[1] == [f"{NAME}:CIRCUIT_OPEN"]

    assert len(model.log()) == 10
    desk.assert_books_agree()


def test_one_customers_failures_take_the_model_from_nobody(desk, model):
    model.arm("drop", count=12)
    merchant = desk.shop()
    unlucky = make_customer(merchant=merchant)
    for _ in range(12):
        assert refunded(desk, unlucky)[1] == [f"{NAME}:CONNECTION_FAILED"]

    proposal, unavailable = refunded(desk, make_customer(merchant=merchant))

    assert (proposal.proposer, unavailable) == (NAME, [])


def test_without_redis_the_model_is_asked_all_the_same(desk, model, settings):
    caches = (registry.get_proposers, registry._breaker, registry._redis)
    with hanging_redis() as (url, taken):
        settings.CELERY_BROKER_URL = url
        for cache in caches:
            cache.cache_clear()
        try:
            proposals = [refunded(desk) for _ in range(3)]
        finally:
            for cache in caches:
                cache.cache_clear()
        assert 1 <= len(taken) <= 6  # two looks for each, and most of them left out
    assert [(proposal.proposer, unavailable) for proposal, unavailable in proposals] == [(NAME, [])] * 3
