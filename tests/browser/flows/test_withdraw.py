"""A customer takes a request back before anything was sent, with JavaScript, without it, and with keys alone."""

import re

import pytest
from playwright.sync_api import expect

from refunds.models import RefundOperation
from tests.browser.accessibility import assert_accessible
from tests.browser.keyboard import open_with_enter
from tests.browser.people import heading, open_case
from tests.browser.shop import now_in, page_of, ticket_of

WITHDRAWN = re.compile("^You withdrew this request on ")


def offer(page):
    return page.get_by_role("button", name="Withdraw this request")


def confirm(page):
    return page.get_by_role("button", name="Withdraw", exact=True)


def assert_no_open_case(page):
    """The reviewer's queue holds nothing."""
    page.goto("/admin/review/")
    expect(page.get_by_text("Nothing is waiting.")).to_be_visible()


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
def test_withdrawn_after_a_question_and_no_reviewer_finds_it(browsing, shop, product, scripts):
    asked = shop.waiting()
    desk = browsing.visit(user=shop.reviewer(), scripts=scripts).go("/admin/review/")
    open_case(desk, ticket_of(asked))
    visit = browsing.visit(user=asked.customer.user, scripts=scripts)

    page = visit.go(page_of(asked))
    offer(page).click()
    expect(heading(page)).to_have_text("Withdraw this request?")
    page.get_by_role("link", name="Keep this request").click()
    offer(page).click()
    expect(confirm(page)).to_be_visible()
    assert now_in(asked, "REQUIRES_HUMAN_APPROVAL")  # asking is not doing
    confirm(page).click()
    expect(heading(page)).to_have_text(WITHDRAWN)

    assert now_in(asked, "WITHDRAWN")
    expect(offer(page)).to_have_count(0)
    if scripts:
        assert_accessible(page)
    assert_no_open_case(desk)
    assert not RefundOperation.objects.filter(workflow=asked).exists()
    assert product.gateway.refunds(asked.refund_payment.processor_reference) == []


def test_a_decision_that_comes_after_it_is_refused(browsing, shop):
    asked = shop.waiting()
    desk = browsing.visit(user=shop.reviewer()).go(f"/admin/review/{ticket_of(asked)}/approve/")
    desk.get_by_role("radio", name="I compared both charges").check()

    page = browsing.visit(user=asked.customer.user).go(page_of(asked, "withdraw/"))
    confirm(page).click()
    expect(heading(page)).to_have_text(WITHDRAWN)
    desk.get_by_role("button", name="Approve refund of $149.00").click()

    expect(desk.get_by_role("alert")).to_contain_text("This case is closed")
    assert now_in(asked, "WITHDRAWN")
    assert not RefundOperation.objects.filter(workflow=asked).exists()


def test_withdrawn_with_keys_alone(browsing, shop):
    asked = shop.waiting()

    page = browsing.visit(user=asked.customer.user).go(page_of(asked))
    open_with_enter(page, offer(page))
    open_with_enter(page, confirm(page))
    expect(heading(page)).to_have_text(WITHDRAWN)
    assert now_in(asked, "WITHDRAWN")


def test_a_request_that_is_over_offers_no_withdrawing(browsing, shop):
    done = shop.request()

    page = browsing.visit(user=done.customer.user).go(page_of(done))
    expect(heading(page)).to_contain_text("was processed")
    expect(offer(page)).to_have_count(0)
