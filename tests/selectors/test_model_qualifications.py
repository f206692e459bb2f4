import pytest

from refunds.proposers.router import RoutedModel
from refunds.selectors import model_qualifications
from refunds.selectors.model_qualifications import (
    evaluated_endpoints,
    get_admission,
    newest_qualifications,
)
from tests.factories import NOW, model_configuration, qualify_model

pytestmark = pytest.mark.django_db
URL, OTHER = "https://models.example.com/v1", "https://other.example.com/v1"


def configuration(url=URL, model="first"):
    return model_configuration(base_url=url, model=model)


def test_the_newest_evaluation_of_a_configuration_counts_whatever_it_says():
    qualify_model(base_url=URL, model="first")
    qualify_model(base_url=URL, model="first", passed=False)
    qualify_model(base_url=URL, model="second")
    qualify_model(base_url=OTHER, model="first")
    wanted = [configuration().sha256, configuration(model="second").sha256]

    found = {each.model: each.passed for each in newest_qualifications(configurations=wanted)}

    assert found == {"first": False, "second": True}


def test_nothing_is_found_for_what_was_never_evaluated():
    qualify_model(base_url=URL, model="first")
    assert newest_qualifications(configurations=[configuration(url=OTHER).sha256]) == ()


def test_it_is_one_query(django_assert_num_queries):
    for _ in range(3):
        qualify_model(base_url=URL, model="first")
    with django_assert_num_queries(1):
        (found,) = newest_qualifications(configurations=[configuration().sha256, "0" * 64])
    assert (found.snapshot, found.response_form) == ("first-2026-08-01", "json_schema")


def test_each_model_is_shown_at_the_address_where_it_was_evaluated_last():
    qualify_model(base_url=URL, model="first")
    qualify_model(base_url=OTHER, model="first")
    qualify_model(base_url=URL, model="second", passed=False)
    assert dict(evaluated_endpoints()) == {
        "first": configuration(url=OTHER).endpoint_sha256,
        "second": configuration(model="second").endpoint_sha256,
    }


def test_the_metrics_show_so_many_models_at_most():
    for number in range(25):
        qualify_model(base_url=URL, model=f"model-{number}")
    assert len(evaluated_endpoints()) == 20


def line(*models):
    return [
        *(
            (each, RoutedModel(proposer=None, configuration=configuration(model=each), breaker=None))
            for each in models
        ),
        ("deterministic", None),
    ]


def admitted(wanted):
    found = get_admission(wanted, now=NOW, asked_for="somebody").qualifications
    return {each.model: each.passed for each in found}


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(model_qualifications.time, "monotonic", lambda: now[0])
    return now


def test_what_passed_is_remembered_for_five_seconds(clock, django_assert_num_queries):
    qualify_model(base_url=URL, model="first")
    qualify_model(base_url=URL, model="second")
    wanted = line("first", "second")
    with django_assert_num_queries(1):
        assert admitted(wanted) == admitted(wanted) == {"first": True, "second": True}
    qualify_model(base_url=URL, model="first", passed=False)
    clock[0] += 4.9
    assert admitted(wanted) == {"first": True, "second": True}
    assert admitted(line("first")) == {"first": False}  # another line remembers nothing of this one
    clock[0] += 0.1
    assert admitted(wanted) == {"first": False, "second": True}


@pytest.mark.parametrize("passed", [None, False])
def test_what_did_not_pass_is_asked_for_each_time(clock, passed):
    qualify_model(base_url=URL, model="second")
    if passed is not None:
        qualify_model(base_url=URL, model="first", passed=passed)
    wanted = line("first", "second")
    assert admitted(wanted).get("first") is passed
    qualify_model(base_url=URL, model="first")
    assert admitted(wanted) == {"first": True, "second": True}


def test_without_a_model_nothing_is_asked(django_assert_num_queries):
    with django_assert_num_queries(0):
        assert admitted(line()) == {}
