"""A customer's way from signing in to a refund, with JavaScript and without."""

import re

import pytest
from playwright.sync_api import expect

from refunds.models import RefundOperation
from tests.browser.people import ask_about, heading, sign_in
from tests.browser.shop import PASSWORD, has_state, request_of

pytestmark = pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])


def test_from_signing_in_to_the_reference_of_the_refund(browsing, shop, product, scripts):
    customer = shop.customer(user__password=PASSWORD)
    order = shop.double_charge(customer)
    visit = browsing.visit(scripts=scripts)

    page = visit.go("/support/")
    sign_in(page, customer.user.email)
    page.wait_for_url("**/support/")
    with product.halted():
        ask_about(page, order)
        expect(heading(page)).to_have_text("We've received your request.")
        assert visit.live is scripts  # from here on a browser with scripts loads no page
    visit.follow(
        f"Your refund of $49.99 for order #{order.number} was processed.",
        until=lambda: has_state(order, "COMPLETED"),
    )

    operation = RefundOperation.objects.get(workflow=request_of(order))
    booked = product.gateway.refunds(operation.payment.processor_reference)
    assert [(refund["id"], refund["amount"]) for refund in booked] == [(operation.processor_reference, 4_999)]
    expect(page.get_by_role("main")).to_contain_text(operation.processor_reference)

    page.get_by_role("link", name="All your requests").click()
    line = page.get_by_role("listitem").filter(has_text=request_of(order).reference)
    expect(line).to_contain_text("was processed")


def test_a_hold_is_explained_and_nothing_is_refunded(browsing, shop, scripts):
    customer = shop.customer()
    order = shop.hold_beside_a_charge(customer)
    visit = browsing.visit(user=customer.user, scripts=scripts)

    page = visit.go("/support/")
    ask_about(page, order)
    visit.follow(re.compile("hold|not a second charge"), until=lambda: has_state(order, "NO_REFUND_DUE"))

    assert not RefundOperation.objects.filter(workflow=request_of(order)).exists()
    expect(page.get_by_role("main")).not_to_contain_text("was processed")


def test_signing_in_with_a_wrong_password_says_so_and_keeps_the_address(browsing, shop, scripts):
    customer = shop.customer(user__password=PASSWORD)
    visit = browsing.visit(scripts=scripts)

    page = visit.go("/accounts/login/")
    sign_in(page, customer.user.email, "not the right one")
    expect(page.get_by_role("alert")).to_contain_text("There is a problem")
    expect(page.get_by_label("E-mail address")).to_have_value(customer.user.email)
    sign_in(page, customer.user.email)
    page.wait_for_url("**/support/")
