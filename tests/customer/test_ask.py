import re

import pytest
from django.test import Client

from refunds.models import CustomerMessage, RefundWorkflow, RefundWorkflowEvent
from tests.customer.pages import text_of, token_of
from tests.factories import make_customer, make_order, make_user, open_workflow

URL = "/support/"
FORM = {"message": "I was charged twice.", "order": "2841", "other_order": ""}


def rows():
    return (RefundWorkflow.objects.count(), CustomerMessage.objects.count())


def send(browser, **fields):
    return browser.post(URL, FORM | {"client_token": token_of(browser.get(URL))} | fields)


def test_the_form_offers_own_orders_and_chooses_none(browser, order):
    make_order(
        customer=order.customer, number="2850", total_minor_units=500, currency="JPY", description="Tea <b>"
    )
    make_order(customer=make_customer(merchant=order.merchant), number="9000")
    page = browser.get(URL)
    html = page.content.decode()
    assert re.findall(r'type="radio" name="order" id="[^"]+" value="([^"]*)"', html) == [
        "2850",
        "2841",
        "",
        "#",
    ]
    assert " checked" not in html
    assert "#2850 · 28 Nov 2026 · ¥500 · Tea <b>" in text_of(page)
    assert "Tea <b>" not in html
    assert page.headers["Cache-Control"] == "private, no-store"


def test_an_order_whose_number_nobody_knows_waits_for_its_customer(browser, order):
    sent = send(browser, order="#")
    workflow = RefundWorkflow.objects.get()
    assert workflow.order is None
    assert sent.headers["Location"] == f"/support/requests/{workflow.reference}/"
    assert "We need one thing from you: the order number." in text_of(browser.get(sent.headers["Location"]))


def test_each_form_has_its_own_token(browser):
    assert token_of(browser.get(URL)) != token_of(browser.get(URL))


def test_sending_opens_one_request_and_goes_to_its_page(browser):
    response = send(browser)
    workflow = RefundWorkflow.objects.get()
    assert (response.status_code, response.headers["Location"]) == (
        302,
        f"/support/requests/{workflow.reference}/",
    )
    assert CustomerMessage.objects.get().text.body == "I was charged twice."
    assert RefundWorkflowEvent.objects.get().evidence["identity"]["method"] == "session"


def test_sending_the_same_form_twice_is_one_request(browser):
    sent = FORM | {"client_token": token_of(browser.get(URL))}
    first, second = browser.post(URL, sent), browser.post(URL, sent)
    assert first.headers["Location"] == second.headers["Location"]
    assert rows() == (1, 1)


def test_a_used_form_with_other_words_is_asked_about_and_can_be_sent_again(browser, order):
    make_order(customer=order.customer, number="2850")
    used = token_of(browser.get(URL))
    browser.post(URL, FORM | {"client_token": used})
    again = browser.post(URL, FORM | {"client_token": used, "order": "2850", "message": "And this one."})
    reference = RefundWorkflow.objects.get().reference
    assert again.status_code == 422
    assert f"This form was already sent as {reference}." in text_of(again)
    assert "And this one." in again.content.decode()
    assert rows() == (1, 1)
    fresh = token_of(again)
    assert fresh != used
    browser.post(URL, FORM | {"client_token": fresh, "order": "2850", "message": "And this one."})
    assert rows() == (2, 2)


@pytest.mark.failure("F109")
def test_asking_again_from_a_new_form_joins_the_open_request(browser):
    first, second = send(browser), send(browser, message="Still nothing.")
    assert first.headers["Location"] == second.headers["Location"]
    assert rows() == (1, 2)
    joined = "You already had this request, so it stays one. What you wrote is kept with it."
    assert joined in text_of(browser.get(second.headers["Location"]))
    assert joined not in text_of(browser.get(second.headers["Location"]))


def test_a_typed_number_wins_over_a_listed_order_and_the_label_says_so(browser, order):
    make_order(customer=order.customer, number="2850")
    assert "if you type one, it is used whatever is chosen here" in text_of(browser.get(URL))
    assert send(browser, order="2841", other_order="2850").status_code == 302
    assert RefundWorkflow.objects.get().order.number == "2850"
    wrong = send(browser, order="2841", other_order="0000")
    assert '<a href="#id_other_order">' in wrong.content.decode()
    assert rows() == (1, 1)


def test_an_older_order_than_the_listed_ones_can_be_typed_and_the_page_says_so(browser, client, db):
    assert "An older one can be typed below." in text_of(browser.get(URL))
    client.force_login(make_customer().user)
    assert "An older one" not in text_of(client.get(URL))


def test_another_order_can_be_typed(browser):
    send(browser, order="", other_order=" #2841 ")
    assert RefundWorkflow.objects.get().order.number == "2841"


@pytest.mark.failure("F099")
@pytest.mark.failure("F100")
@pytest.mark.parametrize("field", ["order", "other_order"])
def test_a_foreign_order_and_a_missing_one_get_the_same_page(browser, order, field):
    make_order(customer=make_customer(merchant=order.merchant), number="9000")
    make_order(number="9001")

    def page(number):
        response = send(browser, **({"order": "", "other_order": ""} | {field: number}))
        varying = r'value="[A-Za-z0-9_-]{20,}"|"Content-Length": .*'
        return response.status_code, re.sub(varying, "", response.content.decode().replace(number, "N"))

    missing = page("0000")
    assert missing[0] == 422
    assert "We couldn&#x27;t find order #N in this account." in missing[1]
    assert page("9000") == missing
    assert page("9001") == missing
    assert rows() == (0, 0)


@pytest.mark.parametrize(
    ("fields", "words", "field"),
    [
        ({"message": ""}, "Tell us what happened.", "id_message"),
        ({"message": "x" * 2001}, "Use at most 2000 characters.", "id_message"),
        ({"message": "a\x00b"}, "Null characters are not allowed.", "id_message"),
        ({"message": "a\u202eb"}, "The text contains hidden control characters.", "id_message"),
        ({"order": ""}, "Choose an order, or type an order number.", "id_order"),
        (
            {"order": "", "other_order": "\uff12\uff18\uff14\uff11"},
            "Type the order number as it stands",
            "id_other_order",
        ),
    ],
)
def test_a_mistake_is_named_at_the_top_and_at_its_field(browser, fields, words, field):
    response = send(browser, **fields)
    html = response.content.decode()
    assert response.status_code == 422
    assert text_of(response).count(words) == 2
    assert response.headers["Cache-Control"] == "private, no-store"
    assert "There is a problem" in html
    assert re.search(r'<div class="error-summary"[^>]* tabindex="-1" autofocus>', html)
    assert re.search(r'<fieldset [^>]*id="id_order" tabindex="-1"', html)
    assert f'<a href="#{field}">' in html
    assert f'id="{field}-error"' in html
    assert f'id="{field}"' in html
    assert "<title>Problem:" in html
    assert rows() == (0, 0)


def test_what_was_typed_is_still_there_after_a_mistake(browser):
    html = send(browser, message="<b>charged</b>", order="", other_order="nö").content.decode()
    assert "&lt;b&gt;charged&lt;/b&gt;" in html
    assert 'value="nö"' in html


def test_a_customer_without_orders_is_told_so(client, db):
    client.force_login(make_customer().user)
    assert "This account has no orders here." in text_of(client.get(URL))


def test_a_form_without_a_csrf_token_stores_nothing(order):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(order.customer.user)
    response = browser.post(URL, FORM)
    assert response.status_code == 403
    assert "What you sent was not stored." in text_of(response)
    assert rows() == (0, 0)


def test_a_form_whose_token_was_lost_still_works(browser):
    assert browser.post(URL, FORM | {"client_token": "tampered with"}).status_code == 302
    assert rows() == (1, 1)


def test_strangers_are_sent_to_sign_in(client, db):
    for path in (URL, "/support/requests/", "/support/requests/RF-0000-0000/"):
        response = client.get(path)
        assert (response.status_code, response.headers["Location"]) == (302, f"/accounts/login/?next={path}")
    assert client.post(URL, FORM).status_code == 302
    assert rows() == (0, 0)


def test_somebody_without_a_customer_record_gets_a_page_that_explains(client, db):
    client.force_login(make_user())
    for path in (URL, "/support/requests/", "/support/requests/RF-0000-0000/"):
        response = client.get(path)
        assert response.status_code == 403
        assert "This account has no orders here" in text_of(response)
    assert client.post(URL, FORM).status_code == 403
    assert rows() == (0, 0)


@pytest.mark.parametrize("method", ["put", "delete", "patch"])
def test_other_methods_are_refused(browser, method):
    assert getattr(browser, method)(URL).status_code == 405


def test_where_other_help_is_stands_in_the_foot_of_every_page(browser, client, order):
    reference = open_workflow(order=order).reference
    own = f"/support/requests/{reference}/"
    for path in (URL, "/support/requests/", own, f"{own}withdraw/", "/support/requests/RF-0/"):
        foot = browser.get(path).content.decode().partition("<footer")[2]
        assert "Contact the shop where you bought" in foot, path
    client.logout()
    assert "Contact the shop where you bought" in client.get("/accounts/login/").content.decode()


def test_the_page_asks_few_queries(browser, order, django_assert_num_queries):
    for number in range(12):
        make_order(customer=order.customer, number=f"N{number}")
    open_workflow(order=order)
    with django_assert_num_queries(4):  # session, user, customer, orders
        page = browser.get(URL)
    assert page.content.decode().count('type="radio"') == 12


@pytest.mark.parametrize("field", ["order", "other_order"])
@pytest.mark.parametrize("typed", ["4242424242424242", "4242 4242 4242 4242" + " x" * 40])
def test_a_card_number_in_the_order_field_is_not_shown_again(browser, field, typed):
    page = send(browser, **({"order": "", "other_order": ""} | {field: typed})).content.decode()
    assert "There is a problem" in page
    assert typed[:12] not in page
    assert ("order #[card number removed] in this account" in page) == (len(typed) == 16)


def test_an_own_order_whose_number_looks_like_a_card_can_be_named(browser, order):
    make_order(customer=order.customer, number="4242424242424242")
    assert send(browser, order="", other_order="4242424242424242").status_code == 302
    assert RefundWorkflow.objects.get().order.number == "4242424242424242"
