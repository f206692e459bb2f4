import pytest
from django.db import OperationalError

from tests.customer.pages import text_of, token_of

pytestmark = pytest.mark.urls("tests.support.customer_urls")


@pytest.fixture
def patient(browser):
    browser.raise_request_exception = False
    return browser


def submit(browser):
    form = {"message": "Twice.", "order": "2841", "client_token": token_of(browser.get("/support/"))}
    return browser.post("/support/", form)


def test_a_database_that_is_away_is_503_and_claims_nothing(patient, monkeypatch):
    def away(**_):
        raise OperationalError("connection refused")

    monkeypatch.setattr("refunds.customer.views.open_request", away)
    response = submit(patient)
    assert (response.status_code, response.headers["Retry-After"]) == (503, "5")
    assert "we could not confirm that it was saved" in text_of(response)
    assert "sending the same form again is safe" in text_of(response)


def test_a_fault_is_500_without_its_details(patient, monkeypatch):
    def broken(**_):
        raise RuntimeError("the secret inside")

    monkeypatch.setattr("refunds.customer.views.open_request", broken)
    response = submit(patient)
    assert response.status_code == 500
    assert "Sorry, there is a problem with this page" in text_of(response)
    assert "secret" not in response.content.decode()


def test_an_unknown_address_has_a_page(client, db):
    response = client.get("/nowhere/")
    assert response.status_code == 404
    assert "Page not found" in text_of(response)


def test_an_unknown_host_is_refused(client):
    response = client.get("/support/", headers={"Host": "evil.example"})
    assert response.status_code == 400
    assert "This request can't be used" in text_of(response)
