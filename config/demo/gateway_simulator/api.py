"""The provider's side under /v1/: who asks, what goes wrong by order, what is executed once."""

from collections.abc import Callable
from functools import partial
from typing import Any

from config.demo.gateway_simulator.book import Book
from config.demo.gateway_simulator.charges import charge_object, get_charge
from config.demo.gateway_simulator.faults import Fault, FaultKind, Faults
from config.demo.gateway_simulator.forms import Form, allow_only, parse_form
from config.demo.gateway_simulator.idempotency import Keep, Keys
from config.demo.gateway_simulator.journal import Journal
from config.demo.gateway_simulator.messages import (
    Answer,
    ApiError,
    ConnectionDroppedError,
    Request,
    json_answer,
    new_id,
)
from config.demo.gateway_simulator.refunds import create_refund, list_refunds, retrieve_refund, update_refund

Execute = Callable[[], dict[str, Any]]

_SERVER_ERROR = 500


class Api:
    """Answers requests; raises ConnectionDroppedError where the client gets none."""

    def __init__(self, *, book: Book, faults: Faults, journal: Journal) -> None:
        self._book = book
        self._faults = faults
        self._journal = journal
        self._keys = Keys(book)

    def handle(self, request: Request) -> Answer:
        """Return the answer with the headers that every answer has (docs.stripe.com/api/request_ids)."""
        request_id = new_id("req_", 14)
        number = self._journal.arrived(request, request_id)
        try:
            try:
                answer = self._answer(request)
            except ApiError as error:
                answer = error.answer
        except ConnectionDroppedError:
            self._journal.dropped(number)
            raise
        self._journal.answered(number, answer)
        headers = {"Request-Id": request_id, **answer.headers}
        for name, echoed in (("Stripe-Version", "stripe-version"), ("Idempotency-Key", "idempotency-key")):
            if echoed in request.headers:
                headers[name] = request.headers[echoed]
        return Answer(answer.status, answer.body, headers)

    def _answer(self, request: Request) -> Answer:
        _authenticate(request)
        parts = request.path.strip("/").split("/")
        form = parse_form(_text(request))
        match request.method, parts:
            case "POST", ["v1", "refunds"]:
                return self._create(request, form)
            case "POST", ["v1", "refunds", identifier]:
                update = partial(update_refund, self._book, request.account, identifier, form)
                return self._write(request, form, update)
            case "GET", ["v1", "refunds"]:
                references = self._references(request.account, form)
                return self._read(
                    "list", references, partial(list_refunds, self._book, request.account, form)
                )
            case "GET", ["v1", "refunds", identifier]:
                retrieve = partial(retrieve_refund, self._book, request.account, identifier, form)
                return self._read("retrieve", frozenset({identifier}), retrieve)
            case "GET", ["v1", "charges", identifier]:
                allow_only(form)
                charge = get_charge(self._book, request.account, identifier, param="id")
                return json_answer(charge_object(self._book, charge))
        raise ApiError(f"Unrecognized request URL ({request.method}: {request.path[:200]}).", status=404)

    def _create(self, request: Request, form: Form) -> Answer:
        references = self._references(request.account, form)
        fault = self._faults.take(on="create", references=references)
        status = "pending" if fault and fault.kind is FaultKind.PENDING else "succeeded"
        return self._write(
            request,
            form,
            partial(create_refund, self._book, request.account, form, status=status),
            fault=fault,
            references=references,
        )

    def _write(
        self,
        request: Request,
        form: Form,
        execute: Execute,
        *,
        fault: Fault | None = None,
        references: frozenset[str] = frozenset(),
    ) -> Answer:
        kind = fault.kind if fault else None
        if kind is FaultKind.DROP_BEFORE:
            raise ConnectionDroppedError
        # docs.stripe.com/error-low-level: a 500 is kept and replayed like any result; a limiter or a broken
        # gateway in front of the endpoint keeps nothing.
        ordered_500 = fault is not None and kind is FaultKind.STATUS and fault.status == _SERVER_ERROR
        if fault and kind is FaultKind.STATUS and not fault.book and not ordered_500:
            return _status_answer(fault)

        def run(keep: Keep) -> Answer:
            if fault and kind is FaultKind.DELAY_BEFORE:
                self._faults.wait(fault.seconds, references)
            with self._book.transaction():
                answer = _status_answer(fault) if fault and ordered_500 else None
                if answer is None or (fault and fault.book):
                    executed = _executed(execute)
                    answer = answer or executed
                keep(answer)
            return answer

        answer = self._keys.once(
            request.account, request.idempotency_key, f"{request.method} {request.path}", form, run
        )
        return self._deliver(answer, fault, references)

    def _read(self, on: str, references: frozenset[str], execute: Execute) -> Answer:
        fault = self._faults.take(on=on, references=references)
        if fault and fault.kind is FaultKind.DROP_BEFORE:
            raise ConnectionDroppedError
        if fault and fault.kind is FaultKind.DELAY_BEFORE:
            self._faults.wait(fault.seconds, references)
        with self._book.transaction():
            answer = json_answer(execute())
        return self._deliver(answer, fault, references)

    def _deliver(self, answer: Answer, fault: Fault | None, references: frozenset[str]) -> Answer:
        """Return what reaches the client of an answer that stands already."""
        match fault.kind if fault else None:
            case FaultKind.DROP_AFTER:
                raise ConnectionDroppedError
            case FaultKind.DELAY | FaultKind.HOLD if fault:
                self._faults.wait(fault.seconds, references)
            case FaultKind.UNPARSABLE:
                return Answer(200, b"<html><body>upstream said something else</body></html>")
            case FaultKind.STATUS if fault:
                return _status_answer(fault)
        return answer

    def _references(self, account: str, form: Form) -> frozenset[str]:
        """Return both references of the payment that a form names, so that a fault finds it by either."""
        named = [form[param] for param in ("charge", "payment_intent") if form.get(param)]
        row = self._book.row(
            "SELECT id, payment_intent FROM charges WHERE account = ? AND (id = ? OR payment_intent = ?)",
            account,
            *(named[:1] * 2 or ["", ""]),
        )
        return frozenset([*named, *(row.values() if row else ())])


def _executed(execute: Execute) -> Answer:
    """Run an endpoint; a refusal after it began is an answer that is kept like any other."""
    try:
        return json_answer(execute())
    except ApiError as error:
        if not error.executed:  # docs.stripe.com/error-low-level: parameter validation is not kept
            raise
        return error.answer


def _status_answer(fault: Fault) -> Answer:
    headers = {"Stripe-Rate-Limited-Reason": fault.rate_limited_reason} if fault.rate_limited_reason else None
    return ApiError(
        "An error was ordered for this request.",
        status=fault.status,
        error_type="api_error" if fault.status >= _SERVER_ERROR else "invalid_request_error",
        code=fault.code,
        headers=headers,
    ).answer


def _authenticate(request: Request) -> None:
    """Take any test key: docs.stripe.com/api/authentication."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not key:
        raise ApiError("You did not provide an API key.", status=401)
    if not key.startswith("sk_test_"):
        raise ApiError(f"Invalid API Key provided: {key[:8]}****", status=401)


def _text(request: Request) -> str:
    try:
        return request.body.decode("utf-8") if request.method == "POST" else request.query
    except UnicodeDecodeError as error:
        raise ApiError("The request body is not UTF-8.") from error
