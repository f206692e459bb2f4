"""Requests as they arrive, answers as they leave, and the errors that become answers."""

import json
import secrets
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_ALPHANUMERIC = string.ascii_letters + string.digits


def new_id(prefix: str, length: int) -> str:
    """Return an id in the provider's form: ``re_3Q...``, ``req_A1...``."""
    return prefix + "".join(secrets.choice(_ALPHANUMERIC) for _ in range(length))


@dataclass(frozen=True, slots=True)
class Request:
    """One request, read whole. Header names are lower-case."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def account(self) -> str:
        """The connected account, "" for the platform: docs.stripe.com/connect/authentication."""
        return self.headers.get("stripe-account", "")

    @property
    def version(self) -> str | None:
        """The API version that the client pins: docs.stripe.com/api/versioning."""
        return self.headers.get("stripe-version")

    @property
    def idempotency_key(self) -> str | None:
        """The key; on reads it has no effect: docs.stripe.com/api/idempotent_requests."""
        return self.headers.get("idempotency-key") if self.method == "POST" else None


@dataclass(frozen=True, slots=True)
class Answer:
    """A status with a body that is sent as it is: at once, or drop by drop, or cut off in the middle."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    drip_seconds: float = 0.0
    cut: bool = False


def json_answer(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """Return an answer in the provider's layout: indented JSON."""
    return Answer(status, json.dumps(value, indent=2).encode() + b"\n", headers or {})


class ConnectionDroppedError(Exception):
    """Raised to close the connection without an answer; with ``reset`` as a crashed machine does."""

    def __init__(self, *, reset: bool = False) -> None:
        super().__init__()
        self.reset = reset


class ApiError(Exception):
    """An error envelope (docs.stripe.com/api/errors).

    ``executed`` says whether the endpoint had begun to execute: only then is the answer kept under the
    idempotency key (docs.stripe.com/api/idempotent_requests).
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        error_type: str = "invalid_request_error",
        code: str | None = None,
        param: str | None = None,
        executed: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.executed = executed
        error: dict[str, str] = {"message": message, "type": error_type}
        if code is not None:
            error["code"] = code
            error["doc_url"] = f"https://docs.stripe.com/error-codes/{code.replace('_', '-')}"
        if param is not None:
            error["param"] = param
        self.answer = json_answer({"error": error}, status=status, headers=headers)


def missing(kind: str, identifier: str, *, param: str, executed: bool = False) -> ApiError:
    """404 resource_missing: docs.stripe.com/error-codes."""
    return ApiError(
        f"No such {kind}: '{identifier}'",
        status=404,
        code="resource_missing",
        param=param,
        executed=executed,
    )
