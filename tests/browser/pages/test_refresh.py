"""A status page that is open: it follows the rows, and says so while it can't."""

import pytest
from playwright.sync_api import expect

from refunds.states import WorkflowState
from tests.browser.accessibility import assert_accessible
from tests.browser.people import heading
from tests.browser.shop import page_of
from tests.factories import move_workflow

CAN_NOT = "We could not refresh this page."
ASKED = "**/status/?shown=*"


@pytest.fixture
def visit(browsing, shop):
    """The page of a request that was just received; ``visit.request`` is its row."""
    request = shop.request(WorkflowState.EVIDENCE_PENDING)
    visit = browsing.visit(user=request.customer.user)
    visit.go(page_of(request))
    assert visit.live
    visit.request = request
    return visit


def answer_503(route):
    route.fulfill(
        status=503, content_type="text/html", body="<h1>Not here</h1>", headers={"Retry-After": "5"}
    )


def lose_the_connection(route):
    route.abort("connectionreset")


@pytest.mark.parametrize(
    ("happens", "silent"),
    [(answer_503, "503"), (lose_the_connection, "net::ERR_CONNECTION_RESET")],
)
def test_a_page_that_can_not_be_refreshed_says_so_until_it_can(visit, shop, happens, silent):
    page = visit.page
    problem = page.locator("#refresh-problem")
    expect(problem).to_be_empty()

    page.route(ASKED, happens)
    expect(problem).to_contain_text(CAN_NOT)
    again = problem.get_by_role("link", name="Reload this page")
    expect(again).to_have_attribute("href", page_of(visit.request))
    expect(heading(page)).to_have_text("We've received your request.")  # what was known stays
    assert_accessible(page)

    move_workflow(visit.request, WorkflowState.EVIDENCE_VERIFIED, now=shop.now)
    page.unroute(ASKED)
    expect(problem).to_be_empty()
    expect(page.get_by_role("main")).to_contain_text("Page last checked")

    told, visit.watch.problems[:] = visit.watch.problems[:], []
    assert [line for line in told if line.startswith(silent)]
    # htmx repeats it on the console; nothing else may be there.
    assert [line for line in told if not line.startswith(silent) and "/htmx-2.min.js" not in line] == []


def test_a_change_is_shown_where_one_is_and_said_once(visit, shop):
    page = visit.page
    page.get_by_role("button", name="Add information").focus()
    page.evaluate("document.documentElement.dataset.same = 'yes'")

    for step in (WorkflowState.EVIDENCE_VERIFIED, WorkflowState.MANUAL_REVIEW):
        move_workflow(visit.request, step, now=shop.now, reason="CONFLICTING_ROWS")
    expect(heading(page)).not_to_have_text("We've received your request.")
    expect(page.locator("#announcement")).to_have_text(heading(page).inner_text())
    expect(page.locator("html")).to_have_attribute("data-same", "yes")
    expect(page.get_by_role("button", name="Add information")).to_be_focused()
    assert_accessible(page)


def test_what_is_typed_stays_while_the_page_refreshes(browsing, shop):
    customer = shop.customer()
    shop.double_charge(customer)
    visit = browsing.visit(user=customer.user)
    page = visit.go(page_of(shop.without_order(customer)))
    assert visit.live

    page.get_by_label("Its number").fill("28")
    with page.expect_response(ASKED) as answered:
        pass
    assert answered.value.status == 304
    expect(page.get_by_label("Its number")).to_have_value("28")


def test_a_page_whose_session_ended_goes_to_sign_in(visit):
    visit.context.clear_cookies()
    visit.page.wait_for_url("**/accounts/login/?next=/support/requests/**")
    expect(heading(visit.page)).to_have_text("Sign in to see your requests")
