"""One question to an HTTP ledger source: a GET with a bearer token, bounded in seconds and in bytes.

Redirects are not followed, and neither proxies nor credentials from the environment are used: the configured
address alone is spoken to, over a connection that serves one question.
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

import httpx2

from ledger.bounded_transport import BodyRefusedError, BoundedTransport
from ledger.sources.port import SourceFailureKind

MAX_BODY_BYTES: Final = 1_000_000
_CONNECT_SECONDS: Final = 2.0
_PASSING: Final = frozenset(
    {HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT}
)
_REFUSED: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Why there is no document; ``passing`` failures may be tried again at once. ``detail`` holds codes only."""

    kind: SourceFailureKind
    detail: str
    passing: bool = False


class SourceExchange:
    """Asks one address; keeps no connection, so that it is safe to share between threads and across forks."""

    def __init__(self, *, base_url: str, token: str, timeout_seconds: float) -> None:
        """``timeout_seconds`` bounds one exchange as a whole. Raises ValueError for an address that is none."""
        parts = urlsplit(base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("a ledger source needs an http(s) address")
        if parts.query or parts.fragment or parts.username:
            raise ValueError("a ledger source's address has no query, no fragment and no user in it")
        if not (token.isascii() and token.isprintable()) or " " in token:
            raise ValueError("the ledger source's token has characters that no token has")
        self._base_url = base_url.rstrip("/")
        self._headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._timeout = httpx2.Timeout(timeout_seconds, connect=min(_CONNECT_SECONDS, timeout_seconds))
        self._tls = ssl.create_default_context()

    def get(self, path: str, *, query: Mapping[str, str]) -> bytes | NoAnswer:
        """Return the body of a 200, or why there is none; nothing about the network is raised."""
        inner = httpx2.HTTPTransport(
            verify=self._tls, trust_env=False, limits=httpx2.Limits(max_keepalive_connections=0)
        )
        transport = BoundedTransport(inner, max_body_bytes=MAX_BODY_BYTES)
        with httpx2.Client(
            transport=transport, follow_redirects=False, trust_env=False, timeout=self._timeout
        ) as client:
            try:
                answer = client.get(f"{self._base_url}{path}", params=dict(query), headers=self._headers)
            except httpx2.TransportError as error:
                return explain_error(error)
        return answer.content if answer.status_code == HTTPStatus.OK else explain_status(answer.status_code)


def explain_error(error: httpx2.TransportError) -> NoAnswer:
    """Return what a broken exchange means. The name of the error's class says enough; its text may hold data."""
    name = type(error).__name__
    if isinstance(error, BodyRefusedError):
        return NoAnswer(SourceFailureKind.DISCREPANCY, "BODY_REFUSED")
    if isinstance(error, httpx2.TimeoutException) and not isinstance(error, httpx2.PoolTimeout):
        return NoAnswer(SourceFailureKind.TIMEOUT, name, passing=True)
    return NoAnswer(SourceFailureKind.CONNECTION, name, passing=True)


def explain_status(status: int) -> NoAnswer:
    """Return what an answer without a document means."""
    detail = f"HTTP {status}"
    if status in _PASSING:
        return NoAnswer(SourceFailureKind.UNAVAILABLE, detail, passing=True)
    if status in _REFUSED:
        return NoAnswer(SourceFailureKind.REFUSED, detail)
    if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return NoAnswer(SourceFailureKind.UNAVAILABLE, detail)  # asking again at once would not help
    if status == HTTPStatus.NOT_FOUND:
        return NoAnswer(SourceFailureKind.DISCREPANCY, "ORDER_UNKNOWN")
    return NoAnswer(SourceFailureKind.DISCREPANCY, detail)
