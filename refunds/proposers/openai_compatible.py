"""A proposer and reader that asks any server which speaks OpenAI's chat completions, through the official SDK.

The SDK's own retries are off and its parsing is not used: nothing that it returns is trusted.
Source: platform.openai.com/docs/guides/structured-outputs.
"""

import ssl
from typing import Any
from urllib.parse import urlsplit

import httpx2
import openai

from ledger.canonical import canonical_sha256
from refunds.proposers.attempts import Attempts, NotAnsweredError, describe_failure
from refunds.proposers.bounded_transport import BoundedTransport, proxy_for
from refunds.proposers.chat_answer import Answer, is_event_stream, read_answer
from refunds.proposers.parameters import ModelParameters, ResponseForm
from refunds.proposers.port import (
    Declined,
    ProposalContext,
    ProposalResult,
    Proposed,
    Scalar,
    Unavailable,
    UnavailableKind,
)
from refunds.proposers.prompts import Question, proposal_question, reading_question
from refunds.proposers.qualification import endpoint_host
from refunds.proposers.reading import ReadingContext
from refunds.proposers.response_forms import form_of, in_form, remember_form


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
                body = attempts.run(lambda seconds: request.ask(client, seconds=seconds))
        except NotAnsweredError as failure:
            return Unavailable(
                kind=failure.kind,
                detail=failure.detail,
                requests=attempts.requests,
                latency_ms=attempts.elapsed_ms(),
            )
        remember_form(request.form, base_url=self._base_url, model=self._model)
        return self._result(body, request, attempts)

    def _request(self, question: Question) -> "_Request":
        parameters = self._parameters
        asked: dict[str, Any] = {
            "model": self._model,
            "messages": list(question.messages),
            parameters.output_limit_field: parameters.max_output_tokens,
        }
        if parameters.temperature is not None:
            asked["temperature"] = parameters.temperature
        form = form_of(base_url=self._base_url, model=self._model)
        return _Request(question, asked, form, length_limits=parameters.length_limits)

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

    def _result(self, body: bytes, request: "_Request", attempts: Attempts) -> ProposalResult:
        answer = read_answer(body)
        requests, latency_ms = attempts.requests, attempts.elapsed_ms()
        if answer is None:
            streamed = is_event_stream(body)
            return Unavailable(
                kind=UnavailableKind.STREAMED_ANSWER if streamed else UnavailableKind.UNREADABLE_ANSWER,
                detail="an event stream" if streamed else "not a chat completion",
                requests=requests,
                latency_ms=latency_ms,
            )
        question = request.question
        evidence: dict[str, Any] = {
            "model_snapshot": answer.model or self._model,
            "prompt_version": question.template.label,
            "prompt_sha256": question.template.sha256,
            "context_sha256": question.context_sha256,
            "request_sha256": canonical_sha256(request.body),
            "parameters": self._evidence(request.form),
            "latency_ms": latency_ms,
            "requests": requests,
        }
        if isinstance(answer, Answer):
            return Proposed(raw_text=answer.text, **evidence)
        return Declined(kind=answer.kind, detail=answer.detail, raw_text=answer.kept, **evidence)

    def _evidence(self, form: ResponseForm) -> dict[str, Scalar]:
        """Return what the answered request asked with; of the address only its host, which holds no secret."""
        return {
            **self._parameters.as_evidence(),
            "response_form": str(form),
            "endpoint_host": endpoint_host(self._base_url),
        }


class _Request:
    """One request body, which takes another form when the server refuses the first."""

    def __init__(
        self, question: Question, asked: dict[str, Any], form: ResponseForm, *, length_limits: bool
    ) -> None:
        self.question = question
        self._asked, self._length_limits = asked, length_limits
        self._take(form)

    def _take(self, form: ResponseForm) -> None:
        self.form = form
        self.body = in_form(self._asked, form, self.question, length_limits=self._length_limits)

    def ask(self, client: openai.OpenAI, *, seconds: float) -> bytes:
        """Send the request once and return the body of its answer. Raises NotAnsweredError."""
        try:
            response = client.chat.completions.with_raw_response.create(**self.body, timeout=seconds)
        except openai.APIError as error:
            failure = describe_failure(error)
            if failure.form_refused and self.form is ResponseForm.JSON_SCHEMA:
                self._take(ResponseForm.JSON_OBJECT)
                failure = failure.in_another_form()
            raise failure from error
        return response.content
