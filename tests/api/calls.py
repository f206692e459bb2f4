"""Calls to the API as its callers make them."""

import json

from knox.models import AuthToken

from tests.api.conformance import CheckedClient

URL = "/api/v1/refund-requests"
MESSAGE = "I was charged twice."


def token_client(user):
    """Return a client that signs in with a token of its own."""
    _, token = AuthToken.objects.create(user=user)
    return CheckedClient(headers={"Authorization": f"Token {token}"})


def ask(client, *, headers=None, **members):
    """POST a request; ``message`` is given unless it is passed, None leaves a member out."""
    body = {key: value for key, value in ({"message": MESSAGE} | members).items() if value is not None}
    return post(client, json.dumps(body), headers=headers)


def post(client, body, *, url=URL, content_type="application/json", headers=None):
    """POST a raw body."""
    return client.post(url, data=body, content_type=content_type, headers=headers)


def act(client, workflow_id, action, **members):
    """POST one of a request's actions; without members there is no body."""
    url = f"{URL}/{workflow_id}/{action}"
    return post(client, json.dumps(members) if members else "", url=url)


def problem_of(response):
    """Return status and code of a problem document, after checking its shape."""
    assert response.headers["Content-Type"] == "application/problem+json"
    document = response.json()
    assert document["status"] == response.status_code
    assert document["type"] == f"urn:refund-desk:problem:{document['code']}"
    assert document["title"]
    assert document["detail"]
    return response.status_code, document["code"]
