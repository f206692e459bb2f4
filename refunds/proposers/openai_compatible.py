"""A proposer and reader that asks any server which speaks OpenAI's chat completions, through the official SDK.

The SDK's own retries are off and its parsing is not used: nothing that it returns is trusted.
Source: platform.openai.com/docs/guides/structured-outputs.
"""

import copy
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import httpx2
import openai

from ledger.canonical import canonical_sha256
from refunds.proposers.attempts import Attempts, NotAnsweredError, describe_failure
from refunds.proposers.bounded_transport import BoundedTransport, proxy_for
from refunds.proposers.chat_answer import Answer, read_answer
from refunds.proposers.port import (
    Declined,
    ProposalContext,
    ProposalResult,
    Proposed,
    Unavailable,
    UnavailableKind,
)
from refunds.proposers.prompts import Question, proposal_question, reading_question
from refunds.proposers.reading import ReadingContext
from refunds.proposers.schema import PROPOSAL_SCHEMA

_NOT_PARAMETERS: Final = ("model", "messages", "response_format")
_LENGTH_LIMITS: Final = ("minLength", "maxLength", "pattern")


@dataclass(frozen=True, kw_only=True)
class ModelParameters:
    """What differs between servers that speak the same protocol.

    `temperature` is sent only if given, since some models refuse it. `length_limits` keeps minLength,
    maxLength and pattern in the schema that is sent: OpenAI's strict mode refuses them, local servers obey.
    """

    max_output_tokens: int = 1000
    output_limit_field: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    temperature: float | None = None
    length_limits: bool = False


class OpenAICompatibleProposer:
    """Asks one model at one base URL, which ends where "/chat/completions" begins. Safe to share."""

    def __init__(
        self, *, base_url: str, api_key: str, model: str, parameters: ModelParameters | None = None
    ) -> None:
        if urlsplit(base_url).scheme not in {"http", "https"} or not model:
            raise ValueError("a proposer needs an http(s) base URL and the name of a model")
        self._base_url = base_url
        self._api_key = api_key or "none"
        self._model = model
        self._parameters = parameters or ModelParameters()
        self._tls = ssl.create_default_context()

    def propose(
        self, context: ProposalContext, *, deadline_seconds: float, repair_of: str | None = None
    ) -> ProposalResult:
        """Ask the model; see `Proposer.propose`."""
        return self._answer(proposal_question(context, repair_of=repair_of), deadline_seconds)

    def read_message(
        self, context: ReadingContext, *, deadline_seconds: float, repair_of: str | None = None
    ) -> ProposalResult:
        """Ask the model; see `MessageReader.read_message`."""
        return self._answer(reading_question(context, repair_of=repair_of), deadline_seconds)

    def _answer(self, question: Question, deadline_seconds: float) -> ProposalResult:
        request = self._request(question)
        attempts = Attempts(deadline_seconds=deadline_seconds)
        try:
            with self._client() as client:
                body = attempts.run(lambda seconds: _ask(client, request, seconds=seconds))
        except NotAnsweredError as failure:
            return Unavailable(
                kind=failure.kind,
                detail=failure.detail,
                requests=attempts.requests,
                latency_ms=attempts.elapsed_ms(),
            )
        return self._result(body, attempts, question, request)

    def _request(self, question: Question) -> dict[str, Any]:
        parameters = self._parameters
        request: dict[str, Any] = {
            "model": self._model,
            "messages": list(question.messages),
            "response_format": {
                "type": "json_schema",
                "json_schema": {
                    "name": question.answer_name,
                    "strict": True,
                    "schema": schema_to_send(question.schema, length_limits=parameters.length_limits),
                },
            },
            parameters.output_limit_field: parameters.max_output_tokens,
        }
        if parameters.temperature is not None:
            request["temperature"] = parameters.temperature
        return request

    def _client(self) -> openai.OpenAI:
        """Return a client of its own for each question: no connection outlives it or crosses a fork."""
        transport = httpx2.HTTPTransport(verify=self._tls, proxy=proxy_for(self._base_url))
        return openai.OpenAI(
            base_url=self._base_url,
            api_key=self._api_key,
            max_retries=0,
            default_headers={"Accept-Encoding": "identity"},
            # A redirect would carry the customer's words to an address that nobody configured.
            http_client=httpx2.Client(transport=BoundedTransport(transport), follow_redirects=False),
        )

    def _result(
        self, body: bytes, attempts: Attempts, question: Question, request: dict[str, Any]
    ) -> ProposalResult:
        answer = read_answer(body)
        requests, latency_ms = attempts.requests, attempts.elapsed_ms()
        if answer is None:
            return Unavailable(
                kind=UnavailableKind.UNREADABLE_ANSWER,
                detail="not a chat completion",
                requests=requests,
                latency_ms=latency_ms,
            )
        evidence: dict[str, Any] = {
            "model_snapshot": answer.model or self._model,
            "prompt_version": question.template.label,
            "prompt_sha256": question.template.sha256,
            "context_sha256": question.context_sha256,
            "request_sha256": canonical_sha256(request),
            "parameters": {name: value for name, value in request.items() if name not in _NOT_PARAMETERS},
            "latency_ms": latency_ms,
            "requests": requests,
        }
        if isinstance(answer, Answer):
            return Proposed(raw_text=answer.text, **evidence)
        return Declined(kind=answer.kind, detail=answer.detail, raw_text=answer.kept, **evidence)


def schema_to_send(schema: Mapping[str, Any] = PROPOSAL_SCHEMA, *, length_limits: bool) -> dict[str, Any]:
    """Return the schema of an answer as a server is given it; what it leaves out is still validated here."""
    sent = copy.deepcopy(dict(schema))
    del sent["$schema"]
    if not length_limits:
        for definition in sent["properties"].values():
            for keyword in _LENGTH_LIMITS:
                definition.pop(keyword, None)
    return sent


def _ask(client: openai.OpenAI, request: dict[str, Any], *, seconds: float) -> bytes:
    """Send one request and return the body of its answer. Raises NotAnsweredError."""
    try:
        response = client.chat.completions.with_raw_response.create(**request, timeout=seconds)
    except openai.APIError as error:
        raise describe_failure(error) from error
    return response.content
