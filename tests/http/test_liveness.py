"""The probe of the process, and what a bad host, a missing address and a fault answer below the API."""

import pytest
from django.db import OperationalError
from django.test import Client

from refunds.api.problems import Problem
from tests.api.calls import problem_of


@pytest.mark.parametrize("host", ["10.1.2.3:8000", "[::1]", "evil.example", "a b"])
def test_the_probe_needs_no_host_no_https_and_no_database(settings, host):
    settings.SECURE_SSL_REDIRECT = True
    settings.ALLOWED_HOSTS = ["refunds.example.com"]
    answer = Client().get("/livez", headers={"Host": host})
    assert (answer.status_code, answer.content) == (200, b'{"status": "ok"}')
    assert Client().head("/livez").status_code == 200
    assert Client().get("/support/", headers={"Host": host}).status_code == 400


def test_plain_http_is_redirected_everywhere_else(settings):
    settings.SECURE_SSL_REDIRECT = True
    assert Client().get("/support/").status_code == 301


@pytest.mark.parametrize("path", ["/api/v1/refund-requests", "/api/docs/", "/api/nowhere"])
def test_a_bad_host_is_a_problem_document_below_the_api(path):
    assert problem_of(Client().get(path, headers={"Host": "evil.example"})) == (400, "bad_request")


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/api/nowhere", "/api/", "/api/v2/refund-requests"])
def test_a_missing_address_is_a_problem_document_below_the_api(path):
    assert problem_of(Client().get(path)) == (404, "not_found")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("fault", "answer"),
    [
        (OperationalError("connection refused"), (503, "database_unavailable")),
        (RuntimeError("the secret inside"), (500, "server_error")),
    ],
)
def test_a_fault_outside_a_view_is_a_problem_document_below_the_api(monkeypatch, fault, answer):
    def broken(*_):
        raise fault

    monkeypatch.setattr("drf_spectacular.views.SpectacularAPIView.dispatch", broken)
    response = Client(raise_request_exception=False).get("/api/schema/")
    assert problem_of(response) == answer
    assert "secret" not in response.content.decode()


@pytest.mark.django_db
def test_pages_stay_pages():
    client = Client(raise_request_exception=False)
    assert "Page not found" in client.get("/nowhere").content.decode()
    assert "This request can't be used" in client.get("/", headers={"Host": "evil.example"}).content.decode()


def test_a_problem_has_its_status_in_words():
    assert Problem(415, "c", "d").title == "Unsupported Media Type"
