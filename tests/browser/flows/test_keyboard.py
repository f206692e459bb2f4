"""The main ways through the product with keys alone."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.keyboard import choose, open_with_enter, press, tab_to, type_into
from tests.browser.people import notice
from tests.browser.shop import PASSWORD, has_state, page_of, request_of, ticket_of
from tests.support.workers import wait_until

ASKING = "Tell us what happened"


def test_sign_in_ask_and_read_the_answer(browsing, shop):
    customer = shop.customer(user__password=PASSWORD)
    order = shop.double_charge(customer)
    visit = browsing.visit()

    page = visit.go("/support/")
    press(page, page.get_by_role("link", name="Skip to the content"))
    type_into(page, page.get_by_label("E-mail address"), customer.user.email)
    type_into(page, page.get_by_label("Password"), PASSWORD)
    with page.expect_navigation():
        page.keyboard.press("Enter")

    type_into(page, page.get_by_label(ASKING), "I was charged twice.")
    choose(page, page.get_by_role("radio", name=f"#{order.number}"))
    open_with_enter(page, page.get_by_role("button", name="Continue"))
    open_with_enter(page, page.get_by_role("button", name="Send request"))
    visit.follow(
        f"Your refund of $49.99 for order #{order.number} was processed.",
        until=lambda: has_state(order, "COMPLETED"),
    )
    open_with_enter(page, page.get_by_role("link", name="All your requests"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Your requests")


def test_an_error_takes_the_focus_and_leads_to_its_field(browsing, shop):
    customer = shop.customer()
    shop.double_charge(customer)

    page = browsing.visit(user=customer.user).go("/support/")
    open_with_enter(page, page.get_by_role("button", name="Continue"))
    expect(page.get_by_role("alert")).to_be_focused()
    assert page.title().startswith("Problem: ")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    field = page.get_by_label(ASKING)
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_accessible_description(re.compile("Leave out card numbers.* Error: "))


def test_name_the_order(browsing, shop):
    customer = shop.customer()
    order = shop.double_charge(customer)
    asked = shop.without_order(customer)

    page = browsing.visit(user=customer.user).go(page_of(asked))
    open_with_enter(page, page.get_by_role("link", name="Name the order"))
    choose(page, page.get_by_role("radio", name=f"#{order.number}"))
    open_with_enter(page, page.get_by_role("button", name="Use this order"))
    expect(notice(page)).to_have_text("We know now which order this request is about.")
    assert request_of(order) == asked


@pytest.mark.parametrize("decision", ["Approve", "Reject"])
def test_decide_a_case(browsing, shop, decision):
    asked = shop.waiting()
    ticket = ticket_of(asked)

    page = browsing.visit(user=shop.reviewer()).go("/admin/review/")
    open_with_enter(page, page.get_by_role("link", name=f"#{ticket}", exact=True))
    open_with_enter(page, page.get_by_role("link", name=f"{decision} refund of $149.00"))
    expect(page.get_by_role("heading", level=1)).to_have_text(f"{decision} refund of $149.00?")

    choose(page, page.get_by_role("radio", name="Another reason"))
    note = page.get_by_label("Note for colleagues")
    type_into(page, note, "Compared.")
    page.keyboard.press("Enter")  # a new line, never the decision
    page.keyboard.type("Twice.")
    expect(note).to_have_value("Compared.\nTwice.")
    open_with_enter(page, page.get_by_role("button", name=f"{decision} refund of $149.00"))
    expect(page.get_by_role("status")).to_contain_text("ticket #")

    ended = "COMPLETED" if decision == "Approve" else "REJECTED"
    wait_until(lambda: has_state(asked.order, ended), seconds=90, what=ended)


def test_every_link_of_a_case_can_be_reached_and_seen(browsing, shop):
    asked = shop.waiting()

    page = browsing.visit(user=shop.reviewer()).go(f"/admin/review/{ticket_of(asked)}/")
    for region in ("Charges side by side", "Checks of the command"):
        tab_to(page, page.get_by_role("region", name=region))
    page.keyboard.press("Shift+Tab")
    tab_to(page, page.get_by_role("link", name="Reject refund of $149.00"))
