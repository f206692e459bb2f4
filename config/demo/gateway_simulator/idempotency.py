"""Idempotency keys (docs.stripe.com/api/idempotent_requests, docs.stripe.com/error-low-level)."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from config.demo.gateway_simulator.book import Book
from config.demo.gateway_simulator.forms import Form
from config.demo.gateway_simulator.messages import Answer, ApiError

MAX_KEY_LENGTH = 255

Keep = Callable[[Answer], None]


class Keys:
    """Answers kept for each key, and the keys that are executing at this moment.

    Kept answers are in the book, since they are as durable as the refunds they tell of. Executing keys are in
    memory: a killed process executes nothing.
    """

    def __init__(self, book: Book) -> None:
        self._book = book
        self._lock = threading.Lock()
        self._executing: set[tuple[str, str]] = set()

    def once(
        self, account: str, key: str | None, endpoint: str, form: Form, execute: Callable[[Keep], Answer]
    ) -> Answer:
        """Return the kept answer, or that of ``execute``, which keeps it in the transaction that books."""
        if key is None:
            return execute(lambda _answer: None)
        if not 0 < len(key) <= MAX_KEY_LENGTH:
            raise ApiError(f"Idempotency keys can have up to {MAX_KEY_LENGTH} characters.")
        with self._claimed(account, key):
            kept = self._kept(account, key, endpoint, form)
            if kept is not None:
                return kept
            return execute(lambda answer: self._keep(account, key, endpoint, form, answer))

    @contextmanager
    def _claimed(self, account: str, key: str) -> Iterator[None]:
        """Hold the key while its request executes; a second request is told so and nothing is kept."""
        with self._lock:
            if (account, key) in self._executing:
                raise key_in_use(key)
            self._executing.add((account, key))
        try:
            yield
        finally:
            with self._lock:
                self._executing.discard((account, key))

    def _kept(self, account: str, key: str, endpoint: str, form: Form) -> Answer | None:
        """Return the first answer under this key, byte for byte; raises if this is another request."""
        row = self._book.row(
            "SELECT * FROM kept_answers WHERE account = ? AND idempotency_key = ?", account, key
        )
        if row is None:
            return None
        if row["endpoint"] != endpoint:
            # docs.stripe.com/api/errors: an idempotency_error also when the endpoint differs.
            raise _mismatch(
                "Keys for idempotent requests can only be used for the same endpoint they were first used"
                f" for ('{endpoint}' vs '{row['endpoint']}')."
            )
        if row["parameters"] != _canonical(form):
            raise _mismatch(
                "Keys for idempotent requests can only be used with the same parameters they were first"
                " used with."
            )
        return Answer(row["status"], row["body"], {"Idempotent-Replayed": "true"})

    def _keep(self, account: str, key: str, endpoint: str, form: Form, answer: Answer) -> None:
        self._book.insert(
            "kept_answers",
            {
                "account": account,
                "idempotency_key": key,
                "endpoint": endpoint,
                "parameters": _canonical(form),
                "status": answer.status,
                "body": answer.body,
            },
        )


def key_in_use(key: str) -> ApiError:
    """409: docs.stripe.com/api/errors, docs.stripe.com/error-codes (idempotency_key_in_use)."""
    return ApiError(
        "There is currently another in-progress request using this Idempotent Key (that probably"
        " means you submitted twice, and the other request is still going through):"
        f" {key}. Please try again later.",
        status=409,
        code="idempotency_key_in_use",
    )


def forget_keys(book: Book, key: str | None = None) -> int:
    """Prune kept answers, all or one key's, as after 24 hours; return how many (facts 1.1, after pruning)."""
    if key is None:
        return book.execute("DELETE FROM kept_answers")
    return book.execute("DELETE FROM kept_answers WHERE idempotency_key = ?", key)


def _canonical(form: Form) -> str:
    return json.dumps(form, sort_keys=True)


def _mismatch(message: str) -> ApiError:
    return ApiError(
        f"{message} Try using a different key if you meant to execute a different request.",
        error_type="idempotency_error",
    )
