"""Idempotency keys (docs.stripe.com/api/idempotent_requests, docs.stripe.com/error-low-level; facts 1.1 to 1.3)."""

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from config.demo.gateway_simulator.book import Book, Row
from config.demo.gateway_simulator.forms import Form
from config.demo.gateway_simulator.messages import Answer, ApiError, Request

MAX_KEY_LENGTH = 255

Keep = Callable[[Answer], None]


@dataclass(frozen=True, slots=True)
class Keyed:
    """One request under a key: whose it is, what it asks, and what else may be compared when it comes again."""

    account: str
    key: str | None
    endpoint: str
    form: Form
    asked: dict[str, Any]

    @classmethod
    def of(cls, request: Request, form: Form) -> "Keyed":
        """Return what a request says of itself; the secret only as a digest."""
        secret = request.headers.get("authorization", "")
        asked = {
            "order": list(form),
            "version": request.version,
            "secret": hashlib.sha256(secret.encode()).hexdigest(),
        }
        endpoint = f"{request.method} {request.path}"
        return cls(request.account, request.idempotency_key, endpoint, form, asked)


class Keys:
    """Answers kept for each key, and the keys that are executing at this moment.

    Kept answers are in the book, since they are as durable as the refunds they tell of. Executing keys are in
    memory: a killed process executes nothing.
    """

    def __init__(self, book: Book) -> None:
        self._book = book
        self._lock = threading.Lock()
        self._executing: set[tuple[str, str]] = set()

    def once(self, keyed: Keyed, execute: Callable[[Keep], Answer]) -> Answer:
        """Return the kept answer, or that of ``execute``, which keeps it in the transaction that books."""
        key = keyed.key
        if key is None:
            return execute(lambda _answer: None)
        if not 0 < len(key) <= MAX_KEY_LENGTH:
            raise ApiError(f"Idempotency keys can have up to {MAX_KEY_LENGTH} characters.")
        with self._claimed(self._scope(keyed), key):
            kept = self._kept(keyed)
            if kept is not None:
                return kept
            return execute(lambda answer: self._keep(keyed, answer))

    @contextmanager
    def _claimed(self, scope: str, key: str) -> Iterator[None]:
        """Hold the key while its request executes; a second request is told so and nothing is kept."""
        with self._lock:
            if (scope, key) in self._executing:
                raise key_in_use(self._book, key)
            self._executing.add((scope, key))
        try:
            yield
        finally:
            with self._lock:
                self._executing.discard((scope, key))

    def _kept(self, keyed: Keyed) -> Answer | None:
        """Return the first answer under this key, byte for byte; raises if this is another request."""
        row = self._book.row(
            "SELECT * FROM kept_answers WHERE account = ? AND idempotency_key = ?",
            self._scope(keyed),
            keyed.key,
        )
        if row is None or self._is_pruned(row):
            return None
        if row["endpoint"] != keyed.endpoint:
            # docs.stripe.com/api/errors: an idempotency_error also when the endpoint differs.
            raise _mismatch(
                "Keys for idempotent requests can only be used for the same endpoint they were first used"
                f" for ('{keyed.endpoint}' vs '{row['endpoint']}')."
            )
        if row["parameters"] != self._parameters(keyed.form) or self._differs(row, keyed):
            raise _mismatch(
                "Keys for idempotent requests can only be used with the same parameters they were first"
                " used with."
            )
        return Answer(row["status"], row["body"], {"Idempotent-Replayed": "true"})

    def _is_pruned(self, row: Row) -> bool:
        """Whether the key is older than it has to stand; what is used after that is a new request (facts 1.1)."""
        settings = self._book.settings
        stands = settings.key_retention_seconds + settings.prune_delay_seconds
        if row["kept_at"] is None or self._book.now() - row["kept_at"] < stands:
            return False
        self._book.execute(
            "DELETE FROM kept_answers WHERE account = ? AND idempotency_key = ?",
            row["account"],
            row["idempotency_key"],
        )
        return True

    def _keep(self, keyed: Keyed, answer: Answer) -> None:
        self._book.insert(
            "kept_answers",
            {
                "account": self._scope(keyed),
                "idempotency_key": keyed.key,
                "endpoint": keyed.endpoint,
                "parameters": self._parameters(keyed.form),
                "status": answer.status,
                "body": answer.body,
                "kept_at": self._book.now(),
                "asked": keyed.asked,
            },
        )

    def _scope(self, keyed: Keyed) -> str:
        return keyed.account if self._book.settings.key_scope == "account" else ""

    def _parameters(self, form: Form) -> str:
        """Return what is compared of the parameters (facts 1.1: whether ``expand[]`` is, is not documented)."""
        compared = self._book.settings.match_expand
        kept = {name: value for name, value in form.items() if compared or name.partition("[")[0] != "expand"}
        return json.dumps(kept, sort_keys=True)

    def _differs(self, row: Row, keyed: Keyed) -> bool:
        settings, was = self._book.settings, row["asked"] or {}
        compared = {
            "order": settings.match_order,
            "version": settings.match_version,
            "secret": settings.match_secret,
        }
        return any(is_on and was.get(name) != keyed.asked[name] for name, is_on in compared.items())


def key_in_use(book: Book, key: str) -> ApiError:
    """409: docs.stripe.com/api/errors, docs.stripe.com/error-codes (idempotency_key_in_use); facts 1.3."""
    return ApiError(
        "There is currently another in-progress request using this Idempotent Key (that probably"
        " means you submitted twice, and the other request is still going through):"
        f" {key}. Please try again later.",
        status=409,
        code="idempotency_key_in_use",
        error_type=book.settings.in_use_type,
    )


def forget_keys(book: Book, key: str | None = None) -> int:
    """Prune kept answers, all or one key's, as after 24 hours; return how many (facts 1.1, after pruning)."""
    if key is None:
        return book.execute("DELETE FROM kept_answers")
    return book.execute("DELETE FROM kept_answers WHERE idempotency_key = ?", key)


def _mismatch(message: str) -> ApiError:
    return ApiError(
        f"{message} Try using a different key if you meant to execute a different request.",
        error_type="idempotency_error",
    )
