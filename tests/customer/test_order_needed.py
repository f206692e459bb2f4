"""A request that waits for its order: the page offers one's own orders and a field."""

import pytest

from refunds.models import RefundWorkflow
from refunds.states import WorkflowState
from tests.customer.pages import Elements, text_of
from tests.factories import make_customer, make_order, move_workflow, open_without_order, open_workflow


def address(workflow, action=""):
    return f"/support/requests/{workflow.reference}/{action}"


def name_order(browser, workflow, **fields):
    return browser.post(address(workflow, "order/"), {"order": "", "other_order": ""} | fields)


@pytest.fixture
def waiting(order):
    return open_without_order(customer=order.customer)


def test_the_page_offers_own_orders_and_a_field(browser, waiting, order):
    make_order(customer=make_customer(merchant=order.merchant), number="9000")
    page = browser.get(address(waiting))
    text = text_of(page)
    assert "We need one thing from you: the order number." in text
    assert "#2841 · 28 Nov 2026 · $49.99" in text
    assert "9000" not in text
    assert "I don't know the number" not in text
    assert address(waiting, "order/") in Elements(page).buttons()
    assert "Order #" not in text
    assert (
        f'<a id="to-order" href="{address(waiting)}#name-order">Name the order</a>' in page.content.decode()
    )
    assert "No order named" in text_of(browser.get("/support/requests/"))


@pytest.mark.parametrize("fields", [{"order": "2841"}, {"other_order": " #2841 "}])
def test_naming_it_goes_on_with_the_same_request_and_twice_is_harmless(browser, waiting, order, fields):
    first = name_order(browser, waiting, **fields)
    assert (first.status_code, first.headers["Location"]) == (302, address(waiting))
    assert RefundWorkflow.objects.get().order == order
    text = text_of(browser.get(address(waiting)))
    assert "We know now which order this request is about." in text
    assert "Order #2841" in text
    assert "Name the order" not in text
    assert name_order(browser, waiting, **fields).headers["Location"] == address(waiting)


def test_an_order_with_an_open_request_leads_there_and_says_so(browser, waiting, order):
    other = open_workflow(order=order, message="Something else.")
    for _ in range(2):
        assert name_order(browser, waiting, order="2841").headers["Location"] == address(other)
    text = text_of(browser.get(address(other)))
    assert "You already had this request for that order. What you wrote is kept with it." in text
    assert "I was charged twice." in text
    assert "That" not in text_of(browser.get(address(other))).partition("You already had this")[2]
    closed = text_of(browser.get(address(waiting)))
    assert f"You already had a request for that order: {other.reference}." in closed


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "Choose an order, or type an order number."),
        ({"other_order": "\uff12"}, "Type the order number as"),
    ],
)
def test_a_mistake_is_shown_on_the_page(browser, waiting, fields, words):
    page = name_order(browser, waiting, **fields)
    assert page.status_code == 422
    assert text_of(page).count(words) == 2
    assert "<title>Problem:" in page.content.decode()
    assert RefundWorkflow.objects.get().order is None


@pytest.mark.failure("F099")
@pytest.mark.failure("F100")
def test_a_foreign_order_and_a_missing_one_get_the_same_page(browser, waiting, order):
    make_order(customer=make_customer(merchant=order.merchant), number="9000")

    def page(number):
        response = name_order(browser, waiting, other_order=number)
        return response.status_code, text_of(response).replace(number, "N").partition("Page last checked")[0]

    assert page("9000") == page("0000")
    assert page("0000")[0] == 422
    assert "We couldn't find order #N in this account." in page("0000")[1]


def test_another_order_than_the_one_that_was_named_is_refused(browser, waiting, order):
    make_order(customer=order.customer, number="2850")
    name_order(browser, waiting, order="2841")
    refused = name_order(browser, waiting, order="2850")
    assert refused.status_code == 409
    assert "This request is about another order already." in text_of(refused)
    assert name_order(browser, waiting).status_code == 422


def test_a_request_that_people_have_takes_no_order(browser, waiting):
    move_workflow(waiting, WorkflowState.MANUAL_REVIEW)
    refused = name_order(browser, waiting, order="2841")
    assert refused.status_code == 409
    assert "Our billing team has this request." in text_of(refused)


def test_opening_its_address_leads_to_the_page(browser, waiting):
    assert browser.get(address(waiting, "order/")).headers["Location"] == address(waiting)
