"""Which of the two questions a request asks, and the documents that its user messages are. Pure."""

import json
from collections.abc import Iterable
from typing import Any

# The names of the forms that the desk asks its answers in.
PROPOSAL, READING = "refund_proposal", "message_reading"


def asked_for(request: dict[str, Any]) -> str:
    """Return the name of the form that a request wants filled in; whatever is unknown is a proposal."""
    form = request.get("response_format")
    described = form.get("json_schema") if isinstance(form, dict) else None
    name = described.get("name") if isinstance(described, dict) else None
    return READING if name == READING else PROPOSAL


def documents_of(messages: Iterable[Any]) -> list[dict[str, Any]]:
    """Return the JSON document of each of the user's messages that is one."""
    return [document for message in messages if (document := _document(message)) is not None]


def _document(message: Any) -> dict[str, Any] | None:
    if not isinstance(message, dict) or message.get("role") != "user":
        return None
    try:
        document = json.loads(message.get("content", ""))
    except (TypeError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
