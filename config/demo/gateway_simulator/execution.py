"""How one request is executed: once for each key, and with whatever was armed to go wrong with it."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from config.demo.gateway_simulator.book import Book
from config.demo.gateway_simulator.events import Events
from config.demo.gateway_simulator.expanding import with_expansions
from config.demo.gateway_simulator.fault_kinds import UNPARSABLE_BODIES, Fault, FaultKind
from config.demo.gateway_simulator.faults import Faults
from config.demo.gateway_simulator.idempotency import Keep, Keyed, Keys, key_in_use
from config.demo.gateway_simulator.limits import ObjectLocks
from config.demo.gateway_simulator.messages import (
    Answer,
    ApiError,
    ConnectionDroppedError,
    Request,
    json_answer,
)
from config.demo.gateway_simulator.routes import Asked, Route
from config.demo.gateway_simulator.settling import Course

_SERVER_ERROR = 500
_DEPENDENCY_FAILED = 424
_TOO_MANY = 429


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """One write on its way, and the deliveries that must leave before its answer."""

    route: Route
    asked: Asked
    request: Request
    references: frozenset[str]
    fault: Fault | None
    first_to_leave: list[int] = field(default_factory=list)


class Execution:
    """Runs routes on the book; raises ConnectionDroppedError where the client gets no answer."""

    def __init__(self, *, book: Book, faults: Faults, events: Events) -> None:
        self._book = book
        self._faults = faults
        self._events = events
        self._keys = Keys(book)
        self._locks = ObjectLocks(book)

    def read(self, route: Route, asked: Asked, request: Request, references: frozenset[str]) -> Answer:
        """Answer a read; nothing is kept and no key is looked at."""
        fault = self._faults.take(on=route.place, references=references) if route.place else None
        if fault and fault.kind is FaultKind.DROP_BEFORE:
            raise ConnectionDroppedError(reset=fault.reset)
        if fault and fault.kind is FaultKind.DELAY_BEFORE:
            self._faults.wait(fault.seconds, references)
        with self._book.transaction():
            answer = self._shown(route.read(asked) if route.read else {}, asked, request)
        return self._deliver(answer, fault, references)

    def write(self, route: Route, asked: Asked, request: Request, references: frozenset[str]) -> Answer:
        """Answer a write under its key, after its effect is in the book."""
        fault = None
        if route.place:
            key = request.idempotency_key
            fault = self._faults.take(on=route.place, references=references, idempotency_key=key)
        if fault is not None:
            self._before_execution(request, fault)
        asked = replace(asked, course=_course(fault))
        call = _Call(route=route, asked=asked, request=request, references=references, fault=fault)
        answer = self._keys.once(Keyed.of(request, asked.form), partial(self._run, call))
        self._events.outbox.wake.set()
        self._events.outbox.wait_until_tried(call.first_to_leave)
        return self._deliver(answer, fault, references)

    def _run(self, call: _Call, keep: Keep) -> Answer:
        """Execute for the first time under a key, under the payment's lock if there is one."""
        try:
            with self._locks.held(call.references):
                return self._execute(call, keep)
        except ApiError as error:
            if not error.executed:
                raise
            keep(error.answer)
            return error.answer

    def _execute(self, call: _Call, keep: Keep) -> Answer:
        fault = call.fault
        if fault and fault.kind is FaultKind.DELAY_BEFORE:
            self._faults.wait(fault.seconds, call.references)
        if not self._book.clock.wait(self._book.settings.execution_seconds):
            raise ConnectionDroppedError  # the book was emptied under it
        with self._book.transaction():
            answer = _status_error(fault).answer if fault and self._is_kept(fault) else None
            if answer is None or (fault and fault.book):
                executed = self._endpoint(call)
                answer = answer or executed
            elif fault and fault.kind is FaultKind.LATE_EFFECT:
                self._promise(call.asked, fault.seconds)
            keep(answer)
        if fault and fault.kind is FaultKind.EXECUTING:
            self._events.outbox.wake.set()
            self._faults.wait(fault.seconds, call.references)
        return answer

    def _endpoint(self, call: _Call) -> Answer:
        """Run the endpoint; a refusal after it began is an answer that is kept like any other."""
        try:
            changed, numbers = call.route.write(call.asked) if call.route.write else ({}, [])
        except ApiError as error:
            if not error.executed:  # docs.stripe.com/error-low-level: parameter validation is not kept
                raise
            return error.answer
        call.first_to_leave.extend(numbers)
        return self._shown(changed, call.asked, call.request)

    def _shown(self, thing: dict[str, Any], asked: Asked, request: Request) -> Answer:
        return json_answer(with_expansions(self._book, asked.account, thing, asked.form, request.version))

    def _promise(self, asked: Asked, seconds: float) -> None:
        """Write down an effect that comes later (docs.stripe.com/error-low-level; fact 4 of the first ten)."""
        due_at = self._book.now() + seconds
        self._book.insert("late_effects", {"account": asked.account, "form": asked.form, "due_at": due_at})

    def _before_execution(self, request: Request, fault: Fault) -> None:
        """Raise what ends a request before its endpoint begins."""
        match fault.kind:
            case FaultKind.DROP_BEFORE:
                raise ConnectionDroppedError(reset=fault.reset)
            case FaultKind.IN_FLIGHT:
                raise key_in_use(self._book, request.idempotency_key or "")
            # docs.stripe.com/error-low-level: a limiter or a broken gateway in front keeps nothing.
            case FaultKind.STATUS if not fault.book and not self._is_kept(fault):
                raise _status_error(fault)

    def _is_kept(self, fault: Fault) -> bool:
        """Whether the ordered answer is kept and replayed like any result (docs.stripe.com/error-low-level)."""
        settings, status = self._book.settings, fault.status
        if fault.kind is FaultKind.LATE_EFFECT:
            return True
        if fault.kind is not FaultKind.STATUS:
            return False
        if status > _SERVER_ERROR:
            return settings.keeps_gateway_errors
        if status == _DEPENDENCY_FAILED:
            return settings.keeps_dependency_errors
        if status == _TOO_MANY and fault.rate_limited_reason is None:
            return settings.keeps_lock_timeouts
        return status == _SERVER_ERROR

    def _deliver(self, answer: Answer, fault: Fault | None, references: frozenset[str]) -> Answer:
        """Return what reaches the client of an answer that stands already."""
        match fault.kind if fault else None:
            case FaultKind.DROP_AFTER if fault:
                raise ConnectionDroppedError(reset=fault.reset)
            case FaultKind.DELAY | FaultKind.HOLD if fault:
                self._faults.wait(fault.seconds, references)
            case FaultKind.UNPARSABLE if fault:
                return Answer(200, UNPARSABLE_BODIES[fault.body])
            case FaultKind.SLOW_BODY if fault:
                return replace(answer, drip_seconds=fault.seconds)
            case FaultKind.CUT_BODY:
                return replace(answer, cut=True)
            case FaultKind.STATUS if fault:
                return _status_error(fault).answer
        return answer


def _course(fault: Fault | None) -> Course | None:
    """Return what the fault orders for the refund: its whole course, or what becomes of one that succeeded."""
    if fault is None:
        return None
    if fault.kind is FaultKind.PENDING:
        return Course(fault.first, fault.then, fault.failure_reason, fault.seconds)
    if fault.kind is FaultKind.STATUS and fault.then is not None:  # a 500 whose effect is undone later
        return Course("succeeded", fault.then, fault.failure_reason, fault.seconds)
    return None


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
