"""The page between typing and sending: it says what was understood, and stores nothing."""

import pytest

from refunds.models import CustomerMessage, RefundWorkflow
from tests.customer.pages import Elements, text_of, token_of
from tests.factories import make_customer, make_order, open_without_order, open_workflow

URL = "/support/check/"
WORDS = "I was charged twice."
NONSENSE = {
    "nul": "a\x00b",
    "digits": "9" * 10_000,
    "long": "x" * 200_000,
    "beyond a column": str(2**63),
    "bidi": "\u202e",
    "replaced": "\ufffd",
}


def go_on(browser, **fields):
    """Fill the form in and press Continue; a field that is None is left out as an unchecked radio is."""
    form = {
        "message": WORDS,
        "order": "2841",
        "other_order": "",
        "client_token": token_of(browser.get("/support/")),
    }
    return browser.post(URL, {name: value for name, value in (form | fields).items() if value is not None})


def rows():
    return (RefundWorkflow.objects.count(), CustomerMessage.objects.count())


def test_the_form_leads_to_the_check_and_the_check_to_one_request(browser):
    assert Elements(browser.get("/support/")).buttons() == [URL]
    page = go_on(browser)
    text = text_of(page)
    assert page.status_code == 200
    assert "Check what we understood" in text
    assert "Order #2841 · 28 Nov 2026 · $49.99" in text
    assert "Problem You were charged twice for one purchase." in text
    assert f"What you wrote {WORDS}" in text
    assert "It does not refund you yet." in text
    assert page.headers["Cache-Control"] == "private, no-store"
    assert Elements(page).buttons() == ["/support/"]
    assert rows() == (0, 0)

    sent = browser.post("/support/", Elements(page).fields())
    assert sent.headers["Location"] == f"/support/requests/{RefundWorkflow.objects.get().reference}/"
    assert rows() == (1, 1)


def test_what_our_records_hold_about_the_payments_is_not_told_as_decided(browser):
    text = text_of(go_on(browser)).lower()
    assert "captur" not in text
    assert "two completed charges" not in text
    assert "approved" not in text


@pytest.mark.failure("F001")
def test_reloading_and_sending_twice_is_one_request(browser):
    form = {"message": WORDS, "order": "2841", "client_token": token_of(browser.get("/support/"))}
    first, again = browser.post(URL, form), browser.post(URL, form)
    assert Elements(first).fields() == Elements(again).fields()
    sent = [browser.post("/support/", Elements(page).fields()) for page in (first, again, first)]
    assert {response.status_code for response in sent} == {302}
    assert len({response.headers["Location"] for response in sent}) == 1
    assert rows() == (1, 1)


def test_going_back_keeps_what_was_typed_and_its_token(browser):
    words = 'Line one\nand "two" <b>'
    fields = Elements(go_on(browser, message=words)).fields()
    page = browser.post(URL, fields | {"change": "1"})
    assert page.status_code == 200
    assert Elements(page).fields() == {"order": "2841", "client_token": fields["client_token"]}
    assert page.context["form"]["message"].value() == words
    assert "There is a problem" not in text_of(page)
    assert rows() == (0, 0)


def test_a_number_that_is_not_listed_comes_back_as_it_was_typed(browser, order):
    for number in range(10):
        make_order(customer=order.customer, number=f"N{number}")
    fields = Elements(go_on(browser, order="", other_order="#2841")).fields()
    assert fields["order"] == "2841"
    page = Elements(browser.post(URL, fields | {"change": "1"}))
    assert [field["value"] for field in page.all("input") if field["type"] == "text"] == ["2841"]
    assert page.fields()["order"] == ""


def test_a_card_number_that_was_put_into_the_form_by_hand_is_not_shown(browser):
    page = browser.post(URL, {"message": "My card 4242 4242 4242 4242", "change": "1"})
    assert "4242 4242" not in page.content.decode()
    assert "[card number removed]" in page.content.decode()


def test_a_card_number_is_refused_and_not_shown_again(browser):
    page = go_on(browser, message="My card 4242 4242 4242 4242")
    assert page.status_code == 422
    assert "4242 4242" not in page.content.decode()
    assert "Don't send card numbers" in text_of(page)


def test_an_order_that_only_the_text_names_is_offered_for_confirmation(browser):
    page = go_on(browser, order=None, message="Order #2841 was charged twice.")
    text = text_of(page)
    assert "Is your request about this order?" in text
    assert "Yes, #2841 · 28 Nov 2026" in text
    assert Elements(page).fields()["order"] == "2841"
    assert [field["value"] for field in Elements(page).all("input") if field["type"] == "radio"] == [
        "2841",
        "#",
    ]
    assert rows() == (0, 0)
    browser.post("/support/", Elements(page).fields() | {"order": "#"})
    assert RefundWorkflow.objects.get().order is None


@pytest.mark.failure("F093")
def test_several_numbers_or_those_of_others_are_never_taken_from_a_text(browser, order):
    make_order(customer=order.customer, number="2850")
    others = [make_order(customer=make_customer(merchant=order.merchant)).number for _ in range(5)]
    for words in ("Orders 2841 and 2850.", " ".join(others), "No number at all."):
        page = go_on(browser, order=None, message=words)
        assert page.status_code == 422
        assert text_of(page).count("Choose an order, or type an order number.") == 2
        assert words in page.content.decode()
    assert rows() == (0, 0)


def test_a_text_is_not_searched_once_something_is_chosen(browser, order):
    make_order(customer=order.customer, number="2850")
    words = "Order 2841, please."
    assert Elements(go_on(browser, order="2850", message=words)).fields()["order"] == "2850"
    assert Elements(go_on(browser, order="#", message=words)).fields()["order"] == "#"
    assert go_on(browser, order="", message=words).status_code == 422


def test_not_knowing_the_number_says_what_follows(browser):
    text = text_of(go_on(browser, order="#"))
    assert "We save your request and ask you for the order" in text
    assert "starts a check" not in text


@pytest.mark.parametrize("known", [True, False])
def test_an_open_request_is_named_before_more_is_sent_to_it(browser, order, known):
    waiting = open_workflow(order=order) if known else open_without_order(customer=order.customer)
    page = go_on(browser, order="2841" if known else "#")
    assert f"You already have an open request {'about this' if known else 'without an'} order" in text_of(
        page
    )
    assert waiting.reference in text_of(page)
    assert "already have" not in text_of(go_on(browser, order="#" if known else "2841"))


@pytest.mark.failure("F099")
@pytest.mark.failure("F100")
def test_a_foreign_order_and_a_missing_one_get_the_same_page(browser, order):
    make_order(customer=make_customer(merchant=order.merchant), number="9000")

    def page(number):
        response = go_on(browser, order=number, client_token="t")
        return response.status_code, text_of(response).replace(number, "N"), rows()

    assert page("9000") == page("0000")
    assert page("0000")[0] == 422


@pytest.mark.failure("F136")
@pytest.mark.failure("F139")
@pytest.mark.failure("F140")
@pytest.mark.failure("F141")
@pytest.mark.parametrize("value", NONSENSE.values(), ids=NONSENSE)
@pytest.mark.parametrize("field", ["message", "order", "other_order", "client_token", "change"])
def test_nonsense_is_no_fault_and_stores_nothing(browser, field, value):
    assert go_on(browser, **{field: value}).status_code < 500
    assert rows() == (0, 0)


def test_opening_its_address_leads_to_the_form_and_strangers_to_sign_in(browser, client):
    assert browser.get(URL).headers["Location"] == "/support/"
    client.logout()
    assert client.post(URL, {"message": WORDS}).headers["Location"] == f"/accounts/login/?next={URL}"


def test_the_check_asks_few_queries(browser, django_assert_num_queries):
    form = {"message": WORDS, "order": "2841", "client_token": "t"}
    with django_assert_num_queries(6):  # session, user, customer, order by number, order, open request
        browser.post(URL, form)


@pytest.mark.failure("F141")
def test_changing_a_text_that_is_far_too_long_shows_its_beginning(browser):
    sent = {"message": "4 " * 100_000, "order": "2841", "client_token": "t", "change": "1"}
    assert browser.post(URL, sent).content.decode().count("4 ") < 1200
    refused = browser.post(URL, {name: value for name, value in sent.items() if name != "change"})
    assert refused.status_code == 422
    assert refused.content.decode().count("4 ") < 1200
