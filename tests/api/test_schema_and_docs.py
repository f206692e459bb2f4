import os
import re

import pytest
import yaml
from django.contrib.staticfiles import finders
from django.core.management import call_command
from django.http import JsonResponse

from tests.api.calls import URL, ask
from tests.api.conformance import check_response


def test_the_schema_describes_every_call_and_its_problems(client):
    schema = yaml.safe_load(client.get("/api/schema/").content)
    one = "/api/v1/refund-requests/{workflow_id}"
    actions = {f"{one}/{action}" for action in ("withdraw", "messages", "person", "order")}
    assert set(schema["paths"]) == {"/api/v1/refund-requests", one, *actions}
    for action in actions:
        described = schema["paths"][action]["post"]
        assert {"200", "404", "409", "422", "429"} <= set(described["responses"])
        assert list(described["responses"]["409"]["content"]) == ["application/problem+json"]
    post = schema["paths"]["/api/v1/refund-requests"]["post"]
    assert set(post["responses"]) == {
        "200",
        "201",
        "400",
        "401",
        "403",
        "404",
        "409",
        "413",
        "415",
        "422",
        "429",
        "503",
    }
    assert list(post["responses"]["422"]["content"]) == ["application/problem+json"]
    assert list(post["requestBody"]["content"]) == ["application/json"]
    assert {"Idempotency-Key"} == {row["name"] for row in post["parameters"] if row["in"] == "header"}
    assert post["responses"]["429"]["headers"]["Retry-After"]["schema"] == {"type": "integer"}
    fields = schema["components"]["schemas"]["NewRefundRequest"]
    assert set(fields["properties"]) == {"message", "order_number", "problem"}
    assert fields["required"] == ["message"]
    assert fields["properties"]["order_number"]["nullable"] is True
    assert schema["components"]["schemas"]["RefundRequest"]["properties"]["order_number"]["nullable"] is True


def test_the_schema_is_valid_and_leaves_nothing_out(capsys):
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", os.devnull)
    assert "Warning" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "change",
    [
        {"order_number": 2841},
        {"operation": {}},
        {"secret": "not listed"},
        {"status": None},
        {"timeline": [{"at": "2026-11-28T10:00:00Z", "key": "REQUEST_SAVED"}]},
    ],
)
def test_an_answer_that_the_schema_does_not_describe_is_noticed(api, order, change):
    body = ask(api, order_number="2841").json() | change
    answer = JsonResponse(body, status=201)
    answer.json = lambda: body
    with pytest.raises(AssertionError):
        check_response("post", URL, answer)


def test_the_docs_run_under_the_strict_policy(client):
    response = client.get("/api/docs/")
    page = response.content.decode()
    policy = response.headers["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "<style" not in page
    assert " style=" not in page
    scripts = re.findall(r"<script([^>]*)>([^<]*)</script>", page)
    assert len(scripts) == 3
    assert all('src="/' in attributes and not body for attributes, body in scripts)
    for static in re.findall(r'(?:src|href)="/static/([^"]+)"', page):
        assert finders.find(static), static
    script = client.get("/api/docs/?script=")
    assert script.headers["Content-Type"] == "application/javascript"
    assert 'url: "/api/schema/"' in script.content.decode()
