"""Every answer that an API test sees is checked against the schema that the product publishes."""

import re
from functools import cache

from django.test import Client
from drf_spectacular.generators import SchemaGenerator
from jsonschema import Draft202012Validator

UNLISTED = {405, 406, 411, 500}  # of every address alike, or faults


class CheckedClient(Client):
    """A client that fails where the schema does not say what came back."""

    def request(self, **request):
        """Send, then check what came back from a listed address."""
        response = super().request(**request)
        check_response(request["REQUEST_METHOD"].lower(), request["PATH_INFO"], response)
        return response


def check_response(method, path, response):
    operation = _operation(method, path)
    if operation is None or response.status_code in UNLISTED or _never_arrived(response):
        return
    listed = operation["responses"].get(str(response.status_code))
    assert listed, f"{method} {path}: {response.status_code} is not in the schema"
    media_type = response.headers["Content-Type"].partition(";")[0]
    assert media_type in listed["content"], f"{method} {path}: {media_type} is not in the schema"
    defects = list(
        _validator(_reference(listed["content"][media_type]["schema"])).iter_errors(response.json())
    )
    assert not defects, f"{method} {path}: {defects[0].json_path}: {defects[0].message}"


def _never_arrived(response):
    """Tell whether an address with a NUL in it was refused before it meant anything."""
    return response.status_code == 400 and response.json()["code"] == "bad_request"


@cache
def published_schema():
    return SchemaGenerator().get_schema(request=None, public=True)


@cache
def _addresses():
    return [
        (re.compile("^" + re.sub(r"\\{[^}]+\\}", "[^/]+", re.escape(path)) + "$"), operations)
        for path, operations in published_schema()["paths"].items()
    ]


def _operation(method, path):
    return next((ops.get(method) for pattern, ops in _addresses() if pattern.match(path)), None)


def _reference(schema):
    assert set(schema) == {"$ref"}, schema
    return schema["$ref"]


@cache
def _validator(reference):
    components = _as_json_schema(published_schema()["components"])
    return Draft202012Validator({"$ref": reference, "components": components})


def _as_json_schema(node):
    """Return OpenAPI 3.0 as JSON Schema: ``nullable`` spelt out, and no member that is not listed."""
    if isinstance(node, list):
        return [_as_json_schema(item) for item in node]
    if not isinstance(node, dict):
        return node
    plain = {key: _as_json_schema(value) for key, value in node.items() if key != "nullable"}
    if plain.get("type") == "object" and "properties" in plain:
        plain["additionalProperties"] = False
    return {"anyOf": [plain, {"type": "null"}]} if node.get("nullable") is True else plain
