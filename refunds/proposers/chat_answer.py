"""Read the body of a chat completion, believing nothing about it. Pure.

Source: the chat completion object of platform.openai.com/docs/api-reference/chat.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

from refunds.proposers.characters import make_storable
from refunds.proposers.port import DeclinedKind
from refunds.proposers.schema import MAX_PROPOSAL_BYTES

_SNAPSHOT: Final = re.compile(r"[\w.:/@+\-]{1,200}", re.ASCII)
# More than any proposal may have: what is cut here is still too large to be one.
_MAX_KEPT: Final = 2 * MAX_PROPOSAL_BYTES
_EVENT_FIELDS: Final = (b"data:", b"event:", b"id:", b"retry:", b":")  # how a line of an event stream begins


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The model said `text`."""

    text: str = field(repr=False)
    model: str | None


@dataclass(frozen=True, kw_only=True)
class NoAnswer:
    """The model ended without a usable text; `kept` is what it said instead, bounded."""

    kind: DeclinedKind
    detail: str
    kept: str = field(default="", repr=False)
    model: str | None


def is_event_stream(body: bytes) -> bool:
    """Say whether a body is a stream of server-sent events, whatever its content type says.

    Source: html.spec.whatwg.org/multipage/server-sent-events.html.
    """
    return body.lstrip(b"\xef\xbb\xbf\r\n").startswith(_EVENT_FIELDS)


def read_answer(body: bytes) -> Answer | NoAnswer | None:
    """Return what a completion says, or None if the body is not a chat completion. Never raises."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or not isinstance(document.get("choices"), list):
        return None
    model = _snapshot(document.get("model"))
    choices = document["choices"]
    if len(choices) != 1:
        return NoAnswer(kind=DeclinedKind.EMPTY, detail=f"{min(len(choices), 99)} choices", model=model)
    choice = choices[0]
    if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
        return None
    return _read_choice(choice["message"], finish_reason=choice.get("finish_reason"), model=model)


def _read_choice(
    message: dict[str, Any], *, finish_reason: Any, model: str | None
) -> Answer | NoAnswer | None:
    content = message.get("content")
    if (
        message.get("tool_calls")
        or message.get("function_call")
        or finish_reason in ("tool_calls", "function_call")
    ):
        kept = _keep(message.get("tool_calls") or message.get("function_call"))
        return NoAnswer(kind=DeclinedKind.TOOL_CALL, detail="no tools were offered", kept=kept, model=model)
    if message.get("refusal"):
        kept = _keep(message["refusal"])
        return NoAnswer(kind=DeclinedKind.REFUSAL, detail="message.refusal", kept=kept, model=model)
    if finish_reason in ("content_filter", "length"):
        kind = DeclinedKind.TRUNCATED if finish_reason == "length" else DeclinedKind.CONTENT_FILTER
        return NoAnswer(kind=kind, detail=f"finish_reason {finish_reason}", kept=_keep(content), model=model)
    if content is None or (isinstance(content, str) and not content.strip()):
        return NoAnswer(kind=DeclinedKind.EMPTY, detail="no content", model=model)
    return Answer(text=_keep(content), model=model) if isinstance(content, str) else None


def _snapshot(value: Any) -> str | None:
    return value if isinstance(value, str) and _SNAPSHOT.fullmatch(value) else None


def _keep(value: Any) -> str:
    return make_storable(value if isinstance(value, str) else json.dumps(value))[:_MAX_KEPT]
