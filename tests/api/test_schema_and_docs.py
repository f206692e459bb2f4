import re

import yaml
from django.contrib.staticfiles import finders


def test_the_schema_describes_every_call_and_its_problems(client):
    schema = yaml.safe_load(client.get("/api/schema/").content)
    assert set(schema["paths"]) == {"/api/v1/refund-requests", "/api/v1/refund-requests/{workflow_id}"}
    post = schema["paths"]["/api/v1/refund-requests"]["post"]
    assert set(post["responses"]) == {
        "200",
        "201",
        "400",
        "401",
        "403",
        "404",
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
    assert fields["required"] == ["message", "order_number"]


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
