"""What people do on the pages, by the names that pages give to things."""

from playwright.sync_api import expect

from tests.browser.shop import PASSWORD


def sign_in(page, email, password=PASSWORD):
    page.get_by_label("E-mail address").fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def ask_about(page, order, *, words="I was charged twice for this order."):
    """Send the form; ends on the request's page."""
    page.get_by_label("Tell us what happened").fill(words)
    page.get_by_role("radio", name=f"#{order.number}").check()
    page.get_by_role("button", name="Send request").click()
    page.wait_for_url("**/support/requests/RF-*/")


def open_case(page, ticket):
    """From the queue to one case."""
    page.get_by_role("link", name=f"#{ticket}", exact=True).click()
    expect(page.get_by_role("heading", name=f"Ticket #{ticket}")).to_be_visible()


def part_of(page, term):
    """The words beside a term of a description list."""
    return page.locator(f"dt:text-is('{term}') + dd")
