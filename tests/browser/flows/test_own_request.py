"""What a customer does with a request that is there: name its order, add information, ask for a person."""

import pytest
from playwright.sync_api import expect

from refunds.models import RefundWorkflow
from refunds.states import WorkflowState
from tests.browser.people import ask_about, heading, notice, open_case
from tests.browser.shop import has_state, now_in, page_of, ticket_of

pytestmark = pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])


def test_asked_without_a_number_it_goes_on_once_the_order_is_named(browsing, shop, product, scripts):
    customer = shop.customer()
    order = shop.double_charge(customer)
    visit = browsing.visit(user=customer.user, scripts=scripts)

    page = visit.go("/support/")
    ask_about(page)
    visit.follow(
        "We need one thing from you: the order number.",
        until=lambda: RefundWorkflow.objects.filter(customer=customer, order=None).exists(),
    )
    page.get_by_role("link", name="Name the order").click()
    page.get_by_role("radio", name=f"#{order.number}").check()
    with product.halted():
        page.get_by_role("button", name="Use this order").click()
        expect(notice(page)).to_have_text("We know now which order this request is about.")
        expect(heading(page)).to_have_text("We've received your request.")
    visit.follow(
        f"Your refund of $49.99 for order #{order.number} was processed.",
        until=lambda: has_state(order, "COMPLETED"),
    )
    assert RefundWorkflow.objects.filter(customer=customer).count() == 1


def test_what_is_added_is_kept_and_stands_before_the_reviewer(browsing, shop, scripts):
    asked = shop.waiting()

    page = browsing.visit(user=asked.customer.user, scripts=scripts).go(page_of(asked))
    page.get_by_role("button", name="Add information").click()
    page.get_by_label("What do you want to add?").fill("The second one was on Monday.")
    page.get_by_role("button", name="Add information").click()
    expect(notice(page)).to_have_text("What you wrote is kept with this request.")
    expect(page.get_by_role("blockquote").last).to_have_text("The second one was on Monday.")
    page.reload()
    expect(notice(page)).to_have_count(0)
    expect(page.get_by_role("blockquote")).to_have_count(2)

    desk = browsing.visit(user=shop.reviewer(), scripts=scripts).go("/admin/review/")
    open_case(desk, ticket_of(asked))
    expect(desk.get_by_role("main")).to_contain_text("The second one was on Monday.")


def test_a_person_takes_up_what_was_closed(browsing, shop, scripts):
    closed = shop.request(WorkflowState.NO_REFUND_DUE, reason="NO_SECOND_CHARGE")

    page = browsing.visit(user=closed.customer.user, scripts=scripts).go(page_of(closed))
    page.get_by_role("button", name="Ask a person").click()
    expect(heading(page)).to_have_text("Ask a person?")
    assert now_in(closed, "NO_REFUND_DUE")  # asking is not doing
    page.get_by_role("button", name="Ask a person").click()
    expect(notice(page)).to_have_text("We noted that you asked for a person.")
    assert now_in(closed, "MANUAL_REVIEW")
    expect(page.get_by_role("button", name="Ask a person")).to_have_count(0)

    desk = browsing.visit(user=shop.reviewer(), scripts=scripts).go("/admin/review/")
    open_case(desk, ticket_of(closed))
    why = desk.get_by_role("region", name="Why it needs a person")
    expect(why).to_contain_text("The customer asked for a person.")
