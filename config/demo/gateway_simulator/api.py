"""The provider's side under /v1/: who asks, what goes wrong by order, what is executed once."""

from collections.abc import Callable
from functools import partial
from typing import Any

from config.demo.gateway_simulator.book import Book
from config.demo.gateway_simulator.charges import charge_object, get_charge
from config.demo.gateway_simulator.events import Cause, Events
from config.demo.gateway_simulator.faults import Fault, FaultKind, Faults
from config.demo.gateway_simulator.forms import Form, allow_only, parse_form
from config.demo.gateway_simulator.idempotency import Keep, Keys, key_in_use
from config.demo.gateway_simulator.journal import Journal
from config.demo.gateway_simulator.messages import (
    Answer,
    ApiError,
    ConnectionDroppedError,
    Request,
    json_answer,
    new_id,
)
from config.demo.gateway_simulator.refunds import (
    create_refund,
    get_refund,
    list_refunds,
    refund_object,
    retrieve_refund,
    update_refund,
)
from config.demo.gateway_simulator.settling import Course

Execute = Callable[[], dict[str, Any]]
# What a change returns, and the deliveries that must leave before its answer.
Change = Callable[[], tuple[dict[str, Any], list[int]]]

_SERVER_ERROR = 500


class Api:
    """Answers requests; raises ConnectionDroppedError where the client gets none."""

    def __init__(self, *, book: Book, faults: Faults, journal: Journal, events: Events) -> None:
        self._book = book
        self._events = events
        self._faults = faults
        self._journal = journal
        self._keys = Keys(book)

    def handle(self, request: Request) -> Answer:
        """Return the answer with the headers that every answer has (docs.stripe.com/api/request_ids)."""
        request_id = new_id("req_", 14)
        number = self._journal.arrived(request, request_id)
        try:
            try:
                answer = self._answer(request, request_id)
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

    def _answer(self, request: Request, request_id: str) -> Answer:
        _authenticate(request)
        parts = request.path.strip("/").split("/")
        form = parse_form(_text(request))
        cause = Cause(request_id, request.idempotency_key)
        match request.method, parts:
            case "POST", ["v1", "refunds"]:
                return self._create(request, form, cause)
            case "POST", ["v1", "refunds", identifier]:
                update = partial(self._update, request.account, identifier, form, cause)
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

    def _create(self, request: Request, form: Form, cause: Cause) -> Answer:
        references = self._references(request.account, form)
        fault = self._faults.take(on="create", references=references, idempotency_key=request.idempotency_key)

        def create() -> tuple[dict[str, Any], list[int]]:
            made = create_refund(self._book, request.account, form, course=_course(fault))
            return made, self._events.refund_created(made, request.account, cause)

        return self._write(request, form, create, fault=fault, references=references)

    def _update(
        self, account: str, identifier: str, form: Form, cause: Cause
    ) -> tuple[dict[str, Any], list[int]]:
        before = refund_object(get_refund(self._book, account, identifier))
        after = update_refund(self._book, account, identifier, form)
        return after, self._events.refund_changed(before, after, account, cause)

    def _write(
        self,
        request: Request,
        form: Form,
        change: Change,
        *,
        fault: Fault | None = None,
        references: frozenset[str] = frozenset(),
    ) -> Answer:
        if fault is not None:
            self._before_execution(request, fault)
        first_to_leave: list[int] = []

        def run(keep: Keep) -> Answer:
            if fault and fault.kind is FaultKind.DELAY_BEFORE:
                self._faults.wait(fault.seconds, references)
            with self._book.transaction():
                answer = _status_answer(fault) if fault and _is_kept_500(fault) else None
                if answer is None or (fault and fault.book):
                    executed = _executed(lambda: _noting(change, first_to_leave))
                    answer = answer or executed
                keep(answer)
            return answer

        endpoint = f"{request.method} {request.path}"
        answer = self._keys.once(request.account, request.idempotency_key, endpoint, form, run)
        self._events.outbox.wake.set()
        self._events.outbox.wait_until_tried(first_to_leave)
        return self._deliver(answer, fault, references)

    def _before_execution(self, request: Request, fault: Fault) -> None:
        """Raise what ends a request before its endpoint begins."""
        match fault.kind:
            case FaultKind.DROP_BEFORE:
                raise ConnectionDroppedError
            case FaultKind.IN_FLIGHT:
                raise key_in_use(request.idempotency_key or "")
            # docs.stripe.com/error-low-level: a limiter or a broken gateway in front keeps nothing.
            case FaultKind.STATUS if not fault.book and not _is_kept_500(fault):
                raise _status_error(fault)

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


def _noting(change: Change, first_to_leave: list[int]) -> dict[str, Any]:
    changed, numbers = change()
    first_to_leave.extend(numbers)
    return changed


def _course(fault: Fault | None) -> Course | None:
    """Return what the fault orders for the refund, if it does."""
    if fault is None or fault.kind is not FaultKind.PENDING:
        return None
    return Course(fault.first, fault.then, fault.failure_reason, fault.seconds)


def _is_kept_500(fault: Fault) -> bool:
    """Whether the answer is a 500, kept and replayed like any result (docs.stripe.com/error-low-level)."""
    return fault.kind is FaultKind.STATUS and fault.status == _SERVER_ERROR


def _status_answer(fault: Fault) -> Answer:
    return _status_error(fault).answer


def _status_error(fault: Fault) -> ApiError:
    headers = {"Stripe-Rate-Limited-Reason": fault.rate_limited_reason} if fault.rate_limited_reason else {}
    if fault.should_retry is not None:  # docs.stripe.com/error-low-level; facts 1.4
        headers["Stripe-Should-Retry"] = "true" if fault.should_retry else "false"
    return ApiError(
        "An error was ordered for this request.",
        status=fault.status,
        error_type="api_error" if fault.status >= _SERVER_ERROR else "invalid_request_error",
        code=fault.code,
        headers=headers,
    )


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
