"""The form in which an answer is asked for: a schema that the server enforces, or JSON with the schema in words.

Some servers know only the second. Which one a server takes is found out by asking it, and remembered for as long as
this process lives. Whatever the form, the answer is validated here in the same way. Pure but for that memory.
"""

import copy
import json
from collections.abc import Mapping
from typing import Any, Final

from refunds.proposers.parameters import ResponseForm
from refunds.proposers.prompts import Question
from refunds.proposers.schema import PROPOSAL_SCHEMA

_LENGTH_LIMITS: Final = ("minLength", "maxLength", "pattern")
_IN_WORDS: Final = (
    "The JSON object must satisfy this JSON Schema. Answer with the object alone, never with the schema:\n"
    "{schema}"
)
_known: dict[tuple[str, str], ResponseForm] = {}


def form_of(*, base_url: str, model: str) -> ResponseForm:
    """Return the form that this endpoint answered in last, else a schema."""
    return _known.get((base_url, model), ResponseForm.JSON_SCHEMA)


def remember_form(form: ResponseForm, *, base_url: str, model: str) -> None:
    """Keep the form that an endpoint answered in."""
    _known[base_url, model] = form


def in_form(
    request: dict[str, Any], form: ResponseForm, question: Question, *, length_limits: bool
) -> dict[str, Any]:
    """Return the request as one that asks for this form; ``messages`` begins with the instructions."""
    schema = schema_to_send(question.schema, length_limits=length_limits)
    if form is ResponseForm.JSON_SCHEMA:
        described = {"name": question.answer_name, "strict": True, "schema": schema}
        return {**request, "response_format": {"type": str(form), "json_schema": described}}
    in_words = {"role": "system", "content": _IN_WORDS.format(schema=json.dumps(schema))}
    first, *others = request["messages"]
    return {**request, "messages": [first, in_words, *others], "response_format": {"type": str(form)}}


def schema_to_send(schema: Mapping[str, Any] = PROPOSAL_SCHEMA, *, length_limits: bool) -> dict[str, Any]:
    """Return the schema of an answer as a server is given it; what it leaves out is still validated here."""
    sent = copy.deepcopy(dict(schema))
    del sent["$schema"]
    if not length_limits:
        for definition in sent["properties"].values():
            for keyword in _LENGTH_LIMITS:
                definition.pop(keyword, None)
    return sent
