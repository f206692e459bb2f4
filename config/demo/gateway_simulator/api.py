"""The provider's side under /v1/: who asks, what is asked, and the headers that every answer has."""

from config.demo.gateway_simulator.book import Book
from config.demo.gateway_simulator.events import Cause, Events
from config.demo.gateway_simulator.execution import Execution
from config.demo.gateway_simulator.faults import Faults
from config.demo.gateway_simulator.forms import Form, parse_form
from config.demo.gateway_simulator.journal import Journal
from config.demo.gateway_simulator.limits import Limiter
from config.demo.gateway_simulator.messages import Answer, ApiError, ConnectionDroppedError, Request, new_id
from config.demo.gateway_simulator.routes import Asked, find

_ECHOED = (("Stripe-Version", "stripe-version"), ("Idempotency-Key", "idempotency-key"))
_TEST_KEYS = ("sk_test_", "rk_test_")


class Api:
    """Answers requests; raises ConnectionDroppedError where the client gets none."""

    def __init__(self, *, book: Book, faults: Faults, journal: Journal, events: Events) -> None:
        self._book = book
        self._events = events
        self._journal = journal
        self._limiter = Limiter(book)
        self._execution = Execution(book=book, faults=faults, events=events)

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
        echoed = {name: request.headers[given] for name, given in _ECHOED if given in request.headers}
        headers = {"Request-Id": request_id, **answer.headers, **echoed}
        return Answer(answer.status, answer.body, headers, drip_seconds=answer.drip_seconds, cut=answer.cut)

    def _answer(self, request: Request, request_id: str) -> Answer:
        _authenticate(request)
        self._limiter.check()
        form = parse_form(_text(request))
        found = find(request.method, request.path)
        if found is None:
            raise ApiError(f"Unrecognized request URL ({request.method}: {request.path[:200]}).", status=404)
        route, ids = found
        asked = Asked(
            book=self._book,
            events=self._events,
            account=request.account,
            form=form,
            ids=ids,
            cause=Cause(request_id, request.idempotency_key),
        )
        references = self._references(request.account, form) | frozenset(ids)
        if route.write is not None:
            return self._execution.write(route, asked, request, references)
        return self._execution.read(route, asked, request, references)

    def _references(self, account: str, form: Form) -> frozenset[str]:
        """Return both references of the payment that a form names, so that a fault finds it by either."""
        named = [form[param] for param in ("charge", "payment_intent") if form.get(param)]
        row = self._book.row(
            "SELECT id, payment_intent FROM charges WHERE account = ? AND (id = ? OR payment_intent = ?)",
            account,
            *(named[:1] * 2 or ["", ""]),
        )
        return frozenset([*named, *(row.values() if row else ())])


def _authenticate(request: Request) -> None:
    """Take any test key: docs.stripe.com/api/authentication."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not key:
        raise ApiError("You did not provide an API key.", status=401)
    if not key.startswith(_TEST_KEYS):
        raise ApiError(f"Invalid API Key provided: {key[:8]}****", status=401)


def _text(request: Request) -> str:
    try:
        return request.body.decode("utf-8") if request.method == "POST" else request.query
    except UnicodeDecodeError as error:
        raise ApiError("The request body is not UTF-8.") from error
