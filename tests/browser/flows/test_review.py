"""A request above the automatic limit: a person decides on the exact command, and the customer sees what came of it."""

import re

import pytest
from playwright.sync_api import expect

from refunds.models import RefundOperation
from tests.browser.people import ask_about, open_case, part_of, sign_in
from tests.browser.shop import ABOVE_THE_LIMIT, PASSWORD, has_state, request_of, ticket_of

pytestmark = pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])


@pytest.fixture
def waiting(browsing, shop, scripts):
    """A customer who has asked about $149.00 and sees that people look at it."""
    customer = shop.customer()
    order = shop.double_charge(customer, ABOVE_THE_LIMIT)
    visit = browsing.visit(user=customer.user, scripts=scripts)
    ask_about(visit.go("/support/"), order)
    visit.follow(
        re.compile("is with our billing review team"),
        until=lambda: has_state(order, "REQUIRES_HUMAN_APPROVAL"),
    )
    return order, visit


def test_approved_by_a_reviewer_and_refunded(browsing, shop, product, waiting, scripts):
    order, customers = waiting
    reviewer = shop.reviewer(password=PASSWORD)
    target = request_of(order).refund_payment.processor_reference

    page = browsing.visit(scripts=scripts).go("/admin/review/")
    sign_in(page, reviewer.email)
    page.wait_for_url("**/admin/review/")
    open_case(page, ticket_of(request_of(order)))
    expect(page.get_by_role("region", name="Charges side by side")).to_contain_text(target)
    page.get_by_role("link", name="Approve refund of $149.00").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Approve refund of $149.00?")
    expect(part_of(page, "Amount")).to_have_text("$149.00")
    expect(part_of(page, "Charge")).to_have_text(target)
    page.get_by_role("radio", name="I compared both charges").check()
    page.get_by_role("button", name="Approve refund of $149.00").click()
    expect(page.get_by_role("status")).to_contain_text("Approved: a refund of $149.00")

    customers.follow(
        f"Your refund of $149.00 for order #{order.number} was processed.",
        until=lambda: has_state(order, "COMPLETED"),
    )
    reference = RefundOperation.objects.get(workflow=request_of(order)).processor_reference
    expect(customers.page.get_by_role("main")).to_contain_text(reference)
    assert [refund["id"] for refund in product.gateway.refunds(target)] == [reference]


def test_rejected_by_a_reviewer_and_nothing_is_sent(browsing, shop, product, waiting, scripts):
    order, customers = waiting
    request = request_of(order)

    page = browsing.visit(user=shop.reviewer(), scripts=scripts).go("/admin/review/")
    open_case(page, ticket_of(request))
    page.get_by_role("link", name="Reject refund of $149.00").click()
    page.get_by_role("radio", name="The charges are two purchases").check()
    page.get_by_role("button", name="Reject refund of $149.00").click()
    expect(page.get_by_role("alert")).to_contain_text("a rejection needs its reason in words")
    page.get_by_label("Note for colleagues").fill("Two lamps, two deliveries.")
    page.get_by_role("button", name="Reject refund of $149.00").click()
    expect(page.get_by_role("status")).to_contain_text("Rejected: no refund is sent")

    customers.follow("We did not approve this refund.", until=lambda: has_state(order, "REJECTED"))
    assert product.gateway.refunds(request.refund_payment.processor_reference) == []
