"""What people do on the pages, by the names that pages give to things."""

from playwright.sync_api import expect

from tests.browser.shop import PASSWORD

TOLD = "I was charged twice for this order."
UNKNOWN = "I don't know the number"


def sign_in(page, email, password=PASSWORD):
    page.get_by_label("E-mail address").fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def describe(page, order=None, *, words=TOLD):
    """Fill in the form and send nothing; without an order its number is not known."""
    page.get_by_label("Tell us what happened").fill(words)
    page.get_by_role("radio", name=f"#{order.number}" if order else UNKNOWN).check()


def ask_about(page, order=None, *, words=TOLD):
    """Fill in the form, check what was understood and send it; ends on the request's page."""
    describe(page, order, words=words)
    page.get_by_role("button", name="Continue").click()
    expect(heading(page)).to_have_text("Check what we understood")
    expect(part_of(page, "What you wrote")).to_have_text(words)
    page.get_by_role("button", name="Send request").click()
    page.wait_for_url("**/support/requests/RF-*/")


def heading(page):
    return page.get_by_role("heading", level=1)


def notice(page):
    """What the form that was just sent did, in one sentence."""
    return page.locator("p.notice[role=status]")


def open_case(page, ticket):
    """From the queue to one case."""
    page.get_by_role("link", name=f"#{ticket}", exact=True).click()
    expect(page.get_by_role("heading", name=f"Ticket #{ticket}")).to_be_visible()


def part_of(page, term):
    """The words beside a term of a description list."""
    return page.locator(f"dt:text-is('{term}') + dd")
