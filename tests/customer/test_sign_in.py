import pytest
from django.contrib.auth import get_user_model
from django.core.cache import cache
from django.test import Client

from tests.customer.pages import text_of
from tests.factories import make_customer

PASSWORD = "correct horse battery staple"
URL = "/accounts/login/"


def ada():
    """A customer who signs in with PASSWORD."""
    customer = make_customer(user__email="ada@example.com")
    customer.user.set_password(PASSWORD)
    customer.user.save()
    return customer


@pytest.fixture(autouse=True)
def _fresh_limits():
    cache.clear()


def test_a_customer_signs_in_and_comes_back_to_the_page(client, db):
    customer = ada()
    page = client.get(f"{URL}?next=/support/requests/")
    assert "Sign in to see your requests" in text_of(page)
    assert 'autocomplete="current-password"' in page.content.decode()
    sent = {"login": "Ada@example.com", "password": PASSWORD, "next": "/support/requests/"}
    response = client.post(URL, sent)
    assert (response.status_code, response.headers["Location"]) == (302, "/support/requests/")
    assert client.session["_auth_user_id"] == str(customer.user_id)


def test_a_wrong_password_and_an_unknown_address_read_the_same(client, db):
    ada()
    texts = [
        text_of(client.post(URL, {"login": login, "password": "wrong"}))
        for login in ("ada@example.com", "eve@example.com")
    ]
    assert texts[0] == texts[1]
    assert "There is a problem" in texts[0]


def test_the_next_page_is_never_another_site(client, db):
    ada()
    sent = {"login": "ada@example.com", "password": PASSWORD, "next": "https://evil.example/"}
    assert client.post(URL, sent).headers["Location"] == "/support/"


def test_signing_in_and_out_needs_a_csrf_token(db):
    browser = Client(enforce_csrf_checks=True)
    assert browser.post(URL, {"login": "a@example.com", "password": "x"}).status_code == 403
    assert browser.post("/accounts/logout/").status_code == 403


def test_signing_out_asks_first(browser):
    assert "Sign out?" in text_of(browser.get("/accounts/logout/"))
    assert browser.post("/accounts/logout/").status_code == 302
    assert browser.get("/support/").status_code == 302


def test_nobody_opens_an_account_here(client, db):
    sent = {"email": "eve@example.com", "password1": PASSWORD, "password2": PASSWORD}
    assert client.get("/accounts/signup/").status_code == 404
    assert client.post("/accounts/signup/", sent).status_code == 404
    assert get_user_model().objects.count() == 0


@pytest.mark.failure("F136")
def test_a_nul_in_the_sign_in_form_is_no_error_of_ours(client, db):
    assert client.post(URL, {"login": "a\x00@example.com", "password": "p\x00"}).status_code == 200
