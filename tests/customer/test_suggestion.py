"""The page of a request that waits for its order: a model's reading pre-selects, says so, and decides nothing."""

import json

import pytest

from refunds.models import RefundWorkflow
from tests.customer.pages import Elements, text_of
from tests.customer.test_order_needed import address, name_order
from tests.customer.test_refresh import live_part, refresh
from tests.factories import make_order, make_reading, open_without_order, open_workflow

PROGRAM = "A computer program read what you wrote"


@pytest.fixture
def waiting(order):
    return open_without_order(customer=order.customer, message="Charged twice for 2841.")


def chosen(page):
    """Return the number of the order that is chosen on the page, and the one that is typed."""
    inputs = Elements(page).all("input")
    checked = [field["value"] for field in inputs if field.get("name") == "order" and "checked" in field]
    typed = next(field["value"] for field in inputs if field.get("name") == "other_order")
    return checked, typed


def test_without_a_reading_nothing_is_chosen_or_said(browser, waiting):
    page = browser.get(address(waiting))
    assert chosen(page) == ([], "")
    assert PROGRAM not in text_of(page)


def test_an_own_order_is_chosen_and_who_suggests_it_is_said(browser, waiting):
    make_reading(waiting, order_hint="2841")
    page = browser.get(address(waiting))
    assert chosen(page) == (["2841"], "")
    assert f"{PROGRAM} and suggests order #2841. It can be wrong, and nothing was decided" in text_of(page)
    assert f'href="{address(waiting)}?order=suggested#name-order">Name the order</a>' in page.content.decode()
    assert chosen(browser.get(f"{address(waiting)}?order=suggested")) == (["2841"], "")
    assert RefundWorkflow.objects.get().order is None


def test_what_is_chosen_is_sent_by_the_customer(browser, waiting, order):
    make_reading(waiting, order_hint="2841")
    page = browser.get(address(waiting))
    name_order(browser, waiting, **Elements(page).fields() | {"other_order": ""})
    assert RefundWorkflow.objects.get().order == order
    assert PROGRAM not in text_of(browser.get(address(waiting)))


def test_the_customer_may_choose_another_one(browser, waiting, order):
    other = make_order(customer=order.customer, number="2850")
    make_reading(waiting, order_hint="2841")
    name_order(browser, waiting, order="2850")
    assert RefundWorkflow.objects.get().order == other


def test_an_older_order_that_is_not_listed_stands_in_the_field(browser, waiting, order):
    for number in range(10):
        make_order(customer=order.customer, number=f"31{number}", placed_at=waiting.created_at)
    make_reading(waiting, order_hint="2841")
    assert chosen(browser.get(address(waiting))) == ([""], "2841")


@pytest.mark.parametrize("columns", [{"order_hint": "HINT_UNKNOWN"}, {"order_hint": ""}])
def test_a_hint_at_no_own_order_chooses_nothing_and_says_nothing(browser, waiting, columns):
    make_reading(waiting, **columns)
    page = browser.get(address(waiting))
    assert chosen(page) == ([], "")
    assert PROGRAM not in text_of(page)
    assert "HINT_UNKNOWN" not in page.content.decode()


@pytest.mark.parametrize("intent", ["other", "account_question", "order_question", "refund_other_reason"])
def test_what_seems_to_be_about_something_else_is_offered_a_person(browser, waiting, intent):
    make_reading(waiting, intent=intent, problem="none")
    page = browser.get(address(waiting))
    text = text_of(page)
    assert f"{PROGRAM}, and it may be about something other than a double charge." in text
    assert "For anything else, ask a person." in text
    assert f"{address(waiting, 'person/')}?" in Elements(page).buttons()
    assert "We need one thing from you: the order number." in text
    assert RefundWorkflow.objects.get().state == "EVIDENCE_PENDING"


def test_a_reading_that_was_of_no_use_says_nothing(browser, waiting):
    make_reading(waiting, output_class="REJECT", detail="FORBIDDEN_KEY", intent="", problem="", language="")
    assert PROGRAM not in text_of(browser.get(address(waiting)))


def test_the_newest_words_count(browser, waiting):
    make_reading(waiting, intent="other")
    waiting.messages.model.objects.create(
        workflow=waiting, text=waiting.messages.get().text, text_sha256="e" * 64, at=waiting.created_at
    )
    make_reading(waiting, order_hint="2841")
    assert "suggests order #2841" in text_of(browser.get(address(waiting)))
    assert "something other" not in text_of(browser.get(address(waiting)))


def test_a_refused_form_keeps_what_was_typed(browser, waiting):
    make_reading(waiting, order_hint="2841")
    page = name_order(browser, waiting, other_order="0000")
    assert page.status_code == 422
    assert chosen(page) == ([""], "0000")


def test_a_reading_that_comes_later_reaches_the_open_page(browser, waiting):
    page = browser.get(address(waiting))
    assert refresh(browser, waiting, page).status_code == 304
    make_reading(waiting, order_hint="2841")
    part = refresh(browser, waiting, page)
    assert part.status_code == 200
    assert "suggests order #2841" in text_of(part)
    seen = json.loads(live_part(part)["hx-headers"])["If-None-Match"]
    assert seen != json.loads(live_part(page)["hx-headers"])["If-None-Match"]


def test_a_request_whose_order_is_known_is_never_suggested_one(browser, order, django_assert_num_queries):
    known = open_workflow(order=order)
    make_reading(known, order_hint="2841", intent="other")
    assert PROGRAM not in text_of(browser.get(address(known)))


@pytest.mark.parametrize("number", ["<b>1</b>", '"><script>'])
def test_an_odd_number_is_shown_as_text(browser, order, number):
    make_order(customer=order.customer, number=number)
    waiting = open_without_order(customer=order.customer)
    make_reading(waiting, order_hint=number)
    page = browser.get(address(waiting)).content.decode()
    assert number not in page
    assert chosen(browser.get(address(waiting)))[0] == [number]
