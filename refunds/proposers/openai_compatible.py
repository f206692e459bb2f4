"""A proposer that asks any server which speaks OpenAI's chat completions, through the official SDK.

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
from refunds.proposers.prompts import PROMPT_VERSION, build_messages
from refunds.proposers.qualification import endpoint_host
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
        question = self._question(context, repair_of=repair_of)
        attempts = Attempts(deadline_seconds=deadline_seconds)
        try:
            with self._client() as client:
                body = attempts.run(lambda seconds: question.ask(client, seconds=seconds))
        except NotAnsweredError as failure:
            return Unavailable(
                kind=failure.kind,
                detail=failure.detail,
                requests=attempts.requests,
                latency_ms=attempts.elapsed_ms(),
            )
        remember_form(question.form, base_url=self._base_url, model=self._model)
        return self._result(body, question, attempts)

    def _question(self, context: ProposalContext, *, repair_of: str | None) -> "_Question":
        parameters = self._parameters
        request: dict[str, Any] = {
            "model": self._model,
            "messages": build_messages(context, repair_of=repair_of),
            parameters.output_limit_field: parameters.max_output_tokens,
        }
        if parameters.temperature is not None:
            request["temperature"] = parameters.temperature
        form = form_of(base_url=self._base_url, model=self._model)
        return _Question(request, form, length_limits=parameters.length_limits)

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

    def _result(self, body: bytes, question: "_Question", attempts: Attempts) -> ProposalResult:
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
        snapshot = answer.model or self._model
        parameters, request_sha256 = self._evidence(question.form), canonical_sha256(question.body)
        if isinstance(answer, Answer):
            return Proposed(
                raw_text=answer.text,
                model_snapshot=snapshot,
                prompt_version=PROMPT_VERSION,
                latency_ms=latency_ms,
                requests=requests,
                parameters=parameters,
                request_sha256=request_sha256,
            )
        return Declined(
            kind=answer.kind,
            detail=answer.detail,
            model_snapshot=snapshot,
            prompt_version=PROMPT_VERSION,
            latency_ms=latency_ms,
            requests=requests,
            raw_text=answer.kept,
            parameters=parameters,
            request_sha256=request_sha256,
        )

    def _evidence(self, form: ResponseForm) -> dict[str, Scalar]:
        """Return what the answered request asked with; of the address only its host, which holds no secret."""
        return {
            **self._parameters.as_evidence(),
            "response_form": str(form),
            "endpoint_host": endpoint_host(self._base_url),
        }


class _Question:
    """One request body, which takes another form when the server refuses the first."""

    def __init__(self, request: dict[str, Any], form: ResponseForm, *, length_limits: bool) -> None:
        self._request, self._length_limits = request, length_limits
        self._take(form)

    def _take(self, form: ResponseForm) -> None:
        self.form = form
        self.body = in_form(self._request, form, length_limits=self._length_limits)

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
