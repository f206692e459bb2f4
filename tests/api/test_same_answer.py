import pytest

from refunds.models import CustomerMessage, RefundWorkflow
from tests.api.calls import URL, ask, problem_of, token_client
from tests.factories import make_customer, make_order, open_workflow

pytestmark = [pytest.mark.failure("F099"), pytest.mark.failure("F100")]
FOREIGN_ID_OF_OTHER_TENANT = "9001"


@pytest.fixture
def foreign(order):
    """Orders of another customer of the same merchant, and of another merchant's customer, with open requests."""
    neighbour = make_order(customer=make_customer(merchant=order.merchant), number="9000")
    stranger = make_order(number=FOREIGN_ID_OF_OTHER_TENANT)
    return [open_workflow(order=neighbour), open_workflow(order=stranger)]


def seen(response):
    return response.status_code, dict(response.headers), response.content


def test_a_foreign_order_and_a_missing_one_get_the_same_answer(api, order, foreign):
    missing = ask(api, order_number="0000")
    assert problem_of(missing) == (404, "order_not_found")
    for workflow in foreign:
        assert seen(ask(api, order_number=workflow.order.number)) == seen(missing)
    assert RefundWorkflow.objects.count() == 2
    assert CustomerMessage.objects.count() == 2


def test_the_same_holds_with_a_key(api, order, foreign):
    missing = ask(api, order_number="0000", headers={"Idempotency-Key": "k"})
    for workflow in foreign:
        answer = ask(api, order_number=workflow.order.number, headers={"Idempotency-Key": "k"})
        assert seen(answer) == seen(missing)


def test_a_foreign_workflow_and_an_unknown_one_get_the_same_answer(api, order, foreign):
    unknown = api.get(f"{URL}/wf_01KUNKNOWN0000000000000000")
    assert problem_of(unknown) == (404, "not_found")
    for workflow in foreign:
        for identifier in (workflow.pk, workflow.reference):
            assert seen(api.get(f"{URL}/{identifier}")) == seen(unknown)
    for malformed in ("x" * 500, "wf_", "1 OR 1=1", "%F0%9F%92%B8", "%ED%A0%80"):
        assert seen(api.get(f"{URL}/{malformed}")) == seen(unknown)


def test_both_cases_ask_the_same_number_of_queries(api, order, foreign, django_assert_num_queries):
    with django_assert_num_queries(3):
        ask(api, order_number="0000")
    with django_assert_num_queries(3):
        ask(api, order_number="9000")


def test_the_list_holds_own_requests_only(api, order, foreign):
    own = open_workflow(order=order)
    assert [row["workflow_id"] for row in api.get(URL).json()["results"]] == [own.pk]


def test_one_person_with_two_merchants_sees_the_hosts_requests_only(order, settings):
    settings.ALLOWED_HOSTS = ["testserver", "two.example.com"]
    user = order.customer.user
    elsewhere = make_order(customer=make_customer(user=user, merchant__host="two.example.com"), number="7000")
    here, there = open_workflow(order=order), open_workflow(order=elsewhere)
    api = token_client(user)
    assert [row["workflow_id"] for row in api.get(URL).json()["results"]] == [here.pk]
    other = api.get(URL, headers={"Host": "two.example.com"}).json()["results"]
    assert [row["workflow_id"] for row in other] == [there.pk]
    assert api.get(f"{URL}/{there.pk}").status_code == 404
