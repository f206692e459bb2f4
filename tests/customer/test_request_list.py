import pytest

from refunds.states import OperationState
from tests.customer.pages import text_of
from tests.factories import make_customer, make_duplicate_order, make_order, open_workflow, operation_in_state

URL = "/support/requests/"


def test_an_empty_list_says_what_to_do(browser):
    text = text_of(browser.get(URL))
    assert "You have no requests. If something is wrong with an order, tell us." in text
    assert "New request" in text


def test_a_head_request_is_answered_without_a_body(browser, order):
    reference = open_workflow(order=order).reference
    for path in (URL, f"{URL}{reference}/", "/support/"):
        answer = browser.head(path)
        assert (answer.status_code, answer.content) == (200, b""), path
    assert browser.post(URL).status_code == 405


def test_own_requests_stand_newest_first_20_per_page(browser, order):
    open_workflow(order=make_order())
    references = [
        open_workflow(order=make_order(customer=order.customer, number=f"N{n}")).reference for n in range(21)
    ]
    first = browser.get(URL)
    assert [report.workflow.reference for report in first.context["reports"]] == references[:0:-1]
    assert "Page 1 of 2 Older requests" in text_of(first)
    second = browser.get(f"{URL}?page=2")
    assert [report.workflow.reference for report in second.context["reports"]] == references[:1]
    for page in ("x", "0", "99", "9" * 30):
        assert browser.get(f"{URL}?page={page}").status_code == 200


def test_each_request_says_where_it_stands(client, db):
    workflow = operation_in_state(OperationState.COMPLETED).workflow
    client.force_login(workflow.customer.user)
    text = text_of(client.get(URL))
    assert workflow.reference in text
    assert "was processed." in text


@pytest.mark.parametrize("size", [1, 4])
def test_the_list_asks_the_same_queries_whatever_its_length(client, db, django_assert_num_queries, size):
    customer = make_customer()
    for _ in range(size):
        operation_in_state(OperationState.STATUS_UNKNOWN, order=make_duplicate_order(customer=customer).order)
    client.force_login(customer.user)
    # session, user, customer, count, page, seven for the rows beside it
    with django_assert_num_queries(12):
        page = client.get(URL)
    assert len(page.context["reports"]) == size
