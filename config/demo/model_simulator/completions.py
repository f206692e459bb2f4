"""Chat completions: what a request must be, and the bodies that an honest or a faulty model answers with. Pure."""

import json
import time
import uuid
from collections.abc import Callable
from typing import Any

from config.demo.model_simulator.faults import FaultKind
from config.demo.model_simulator.model import answer_to
from config.demo.model_simulator.questions import READING, asked_for
from config.demo.model_simulator.readings import reading_of
from config.demo.model_simulator.scripts import obeyed, obeyed_reading, trick

_RELEASED = "2026-08-01"
_PROSE = "I looked at both charges. In my opinion the later one is a duplicate and should be refunded."


class RefusedRequestError(Exception):
    """A request that OpenAI's API would refuse as well; becomes an error body."""

    def __init__(self, message: str, *, status: int = 400, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def check_request(request: Any, *, models: tuple[str, ...]) -> None:
    """Raise RefusedRequestError unless this is a question that the simulator can answer."""
    if not isinstance(request, dict):
        raise RefusedRequestError("The body must be a JSON object.")
    if request.get("model") not in models:
        raise RefusedRequestError("The model does not exist.", status=404, code="model_not_found")
    messages = request.get("messages")
    if not isinstance(messages, list) or not messages:
        raise RefusedRequestError("messages must be a list with at least one message.")
    if request.get("stream"):
        raise RefusedRequestError("This server does not stream.")
    form = request.get("response_format")
    if isinstance(form, dict) and form.get("type") == "json_schema":
        described = form.get("json_schema")
        if not isinstance(described, dict) or not isinstance(described.get("schema"), dict):
            raise RefusedRequestError("response_format.json_schema needs a schema.")


def completion(request: dict[str, Any], fault: dict[str, Any] | None) -> dict[str, Any]:
    """Return the completion of a checked request, bent by the fault if one changes what the model says."""
    honest = _honest(request)
    content: str | None = honest
    finish_reason = "stop"
    more: dict[str, Any] = {}
    match fault["kind"] if fault is not None else None:
        case FaultKind.TRUNCATION:
            content, finish_reason = _half(honest), "length"
        case FaultKind.CONTENT_FILTER:
            content, finish_reason = None, "content_filter"
        case FaultKind.REFUSAL:
            content, more = None, {"refusal": "I cannot help with that."}
        case FaultKind.TOOL_CALLS if fault is not None:
            calls = [_tool_call(fault["name"]) for _ in range(fault["copies"])]
            content, finish_reason, more = None, "tool_calls", {"tool_calls": calls}
        case str() if fault is not None:
            content = _bent(honest, fault, request)
    message = {"role": "assistant", "content": content, "refusal": None, **more}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason}
    empty = fault is not None and fault["kind"] == FaultKind.EMPTY_CHOICES
    return _envelope(request, [] if empty else [choice])


def _honest(request: dict[str, Any]) -> str:
    return (reading_of if asked_for(request) == READING else answer_to)(request["messages"])


def _bent(honest: str, fault: dict[str, Any], request: dict[str, Any]) -> str:
    """Return what is said instead of the honest answer."""
    obey = obeyed_reading if asked_for(request) == READING else obeyed
    answer = json.loads(honest)
    said: dict[str, Callable[[], str]] = {
        FaultKind.MALFORMED_JSON: lambda: _half(honest),
        FaultKind.MISSING_FIELD: lambda: json.dumps(
            {name: value for name, value in answer.items() if name != fault["name"]}
        ),
        FaultKind.EXTRA_FIELD: lambda: json.dumps({**answer, "mood": "helpful"}),
        FaultKind.PROSE: lambda: _PROSE,
        FaultKind.FENCES: lambda: f"```json\n{honest}\n```",
        FaultKind.HOSTILE: lambda: str(fault["content"]),
        FaultKind.TRICK: lambda: trick(fault["name"]),
        FaultKind.OBEDIENT: lambda: obey(request["messages"]),
    }
    return said.get(fault["kind"], lambda: honest)()


def _half(text: str) -> str:
    return text[: len(text) // 2]


def model_list(models: tuple[str, ...]) -> dict[str, Any]:
    """Return the answer to GET /v1/models."""
    return {
        "object": "list",
        "data": [{"id": name, "object": "model", "created": 0, "owned_by": "simulator"} for name in models],
    }


def error_body(message: str, *, status: int, code: str | None = None) -> dict[str, Any]:
    """Return an error in OpenAI's form."""
    kind = "invalid_request_error" if status < 500 else "server_error"  # noqa: PLR2004 - where HTTP draws the line
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _envelope(request: dict[str, Any], choices: list[dict[str, Any]]) -> dict[str, Any]:
    asked = len(json.dumps(request["messages"])) // 4
    said = len(json.dumps(choices)) // 4
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": f"{request['model']}-{_RELEASED}",
        "choices": choices,
        "usage": {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said},
    }


def _tool_call(name: str) -> dict[str, Any]:
    arguments = json.dumps({"charge": "ch_made_up", "amount": 999_999, "approved": True})
    return {
        "id": f"call_{uuid.uuid4().hex[:12]}",
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }
