"""Calls to the API as its callers make them."""

import json

from django.test import Client
from knox.models import AuthToken

URL = "/api/v1/refund-requests"
MESSAGE = "I was charged twice."


def token_client(user):
    """Return a client that signs in with a token of its own."""
    _, token = AuthToken.objects.create(user=user)
    return Client(headers={"Authorization": f"Token {token}"})


def ask(client, *, headers=None, **members):
    """POST a request; ``message`` is given unless it is passed, None leaves a member out."""
    body = {key: value for key, value in ({"message": MESSAGE} | members).items() if value is not None}
    return post(client, json.dumps(body), headers=headers)


def post(client, body, *, content_type="application/json", headers=None):
    """POST a raw body."""
    return client.post(URL, data=body, content_type=content_type, headers=headers)


def problem_of(response):
    """Return status and code of a problem document, after checking its shape."""
    assert response.headers["Content-Type"] == "application/problem+json"
    document = response.json()
    assert document["status"] == response.status_code
    assert document["type"] == f"urn:refund-desk:problem:{document['code']}"
    assert document["title"]
    assert document["detail"]
    return response.status_code, document["code"]
