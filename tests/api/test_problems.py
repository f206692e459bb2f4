import json

import pytest
from django.db import OperationalError
from django.test import Client
from knox.models import AuthToken
from rest_framework.exceptions import Throttled

from refunds.api.problems import problem_response
from tests.api.calls import URL, ask, post, problem_of
from tests.api.conformance import CheckedClient


@pytest.mark.parametrize(
    "headers",
    [{}, {"Authorization": "Token wrong"}, {"Authorization": "Token"}, {"Authorization": "Token a b"}],
)
def test_a_stranger_is_401_and_told_how_to_sign_in(db, headers):
    response = CheckedClient(headers=headers).get(URL)
    status, code = problem_of(response)
    assert (status, code) == (401, "authentication_failed" if headers else "not_authenticated")
    assert response.headers["WWW-Authenticate"] == "Token"


def test_a_token_ends_with_its_user(api, order):
    order.customer.user.is_active = False
    order.customer.user.save()
    assert problem_of(api.get(URL)) == (401, "authentication_failed")


def test_a_method_that_is_not_there_is_405(api):
    response = api.delete(URL)
    assert problem_of(response) == (405, "method_not_allowed")
    assert response.headers["Allow"] == "GET, POST, HEAD, OPTIONS"


def test_an_answer_that_is_not_json_is_406(api):
    assert problem_of(api.get(URL, headers={"Accept": "application/xml"})) == (406, "not_acceptable")


@pytest.mark.parametrize(
    "content_type", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain"]
)
def test_a_body_that_is_not_json_is_415(api, order, content_type):
    assert problem_of(post(api, "message=x", content_type=content_type)) == (415, "unsupported_media_type")


@pytest.mark.parametrize("path", ["/api/v1/nothing", f"{URL}/", "/api/v1/"])
@pytest.mark.parametrize("method", ["get", "post", "delete"])
def test_an_unknown_endpoint_is_404_for_everybody(db, path, method):
    assert problem_of(getattr(Client(), method)(path)) == (404, "not_found")


def test_429_says_how_long_to_wait():
    response = problem_response(Throttled(wait=7), {})
    assert (response.status_code, json.loads(response.content)["code"]) == (429, "throttled")
    assert response.headers["Retry-After"] == "7"


def test_a_database_that_is_away_is_503_and_claims_nothing(api, order, monkeypatch):
    def away(**_):
        raise OperationalError("connection refused")

    monkeypatch.setattr("refunds.api.views.open_request", away)
    response = ask(api, order_number="2841")
    assert problem_of(response) == (503, "database_unavailable")
    assert response.headers["Retry-After"] == "5"
    assert "could not confirm" in response.json()["detail"]
    assert "connection refused" not in response.content.decode()


def test_a_fault_is_500_without_its_details(api, order, monkeypatch):
    def broken(**_):
        raise RuntimeError("the secret inside")

    monkeypatch.setattr("refunds.api.views.open_request", broken)
    response = ask(api, order_number="2841")
    assert problem_of(response) == (500, "server_error")
    assert "secret" not in response.content.decode()


def test_tokens_are_stored_hashed(api):
    stored = AuthToken.objects.get()
    sent = api.defaults["HTTP_AUTHORIZATION"].removeprefix("Token ")
    assert len(stored.digest) == 128
    assert sent not in str(stored.__dict__)
