"""Webhook endpoints and how patiently they are tried (docs.stripe.com/webhooks; facts 4.1, 4.2)."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from config.demo.simulator_http import is_loopback

API_VERSION = "2026-10-28.endive"
# Since this version every refund has refund.* events (changelog acacia; facts 4.1).
_REFUND_EVENTS_SINCE = "2024-10-28"


class EndpointError(ValueError):
    """An endpoint or setting that makes no sense; the message is for the one who wrote it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where events go. Its version, not the request's, shapes them (facts 4.1)."""

    url: str
    secrets: tuple[str, ...]
    api_version: str = API_VERSION
    types: tuple[str, ...] = ()  # all, if empty

    def takes(self, event_type: str) -> bool:
        """Whether it is told of events of this type."""
        if event_type.startswith("refund.") and self.api_version[:10] < _REFUND_EVENTS_SINCE:
            return False
        return not self.types or event_type in self.types


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How often and how fast a delivery is tried.

    A sandbox tries three times over a few hours (facts 4.2); the hours are scaled by ``retry_seconds``, the
    wait before the second attempt, which doubles.
    """

    attempts: int = 3
    retry_seconds: float = 5.0
    timeout_seconds: float = 5.0


class Endpoints:
    """The endpoints of now; a restart or reset leaves the one of the command line."""

    def __init__(self, first: Endpoint | None = None) -> None:
        self._first = first
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """Return to the state of the start."""
        with self._lock:
            self._by_url = {self._first.url: self._first} if self._first else {}
            self.patience = Patience()

    def add(self, endpoint: Endpoint) -> None:
        """Add an endpoint, or replace the one with its address."""
        with self._lock:
            self._by_url[endpoint.url] = endpoint

    def clear(self) -> None:
        """Remove every endpoint."""
        with self._lock:
            self._by_url.clear()

    def all(self) -> list[Endpoint]:
        """Return every endpoint."""
        with self._lock:
            return list(self._by_url.values())

    def get(self, url: str) -> Endpoint | None:
        """Return the endpoint at an address, if it is still there."""
        with self._lock:
            return self._by_url.get(url)

    def set_patience(self, value: Any) -> Patience:
        """Change some of attempts, retry_seconds, timeout_seconds; raises EndpointError."""
        if not isinstance(value, Mapping) or set(value) - set(Patience.__slots__):
            raise EndpointError(f"settings are {', '.join(Patience.__slots__)}")
        patience = replace(self.patience, **value)
        waits = (patience.retry_seconds, patience.timeout_seconds)
        if type(patience.attempts) is not int or patience.attempts < 1:
            raise EndpointError("attempts must be a whole number above 0")
        if any(isinstance(wait, bool) or not isinstance(wait, int | float) or wait <= 0 for wait in waits):
            raise EndpointError("retry_seconds and timeout_seconds must be above 0")
        self.patience = patience
        return patience


def read_endpoint(value: Any) -> Endpoint:
    """Return an endpoint from JSON: url, secrets, and api_version and types if wanted."""
    if not isinstance(value, Mapping) or set(value) - set(Endpoint.__slots__):
        raise EndpointError(f"an endpoint has {', '.join(Endpoint.__slots__)}")
    url, secrets, types = value.get("url"), value.get("secrets"), value.get("types", [])
    version = value.get("api_version", API_VERSION)
    if not isinstance(url, str) or not _is_local(url):
        raise EndpointError("url must be an http:// address on this machine")
    if not _are_texts(secrets) or not secrets or not all(text.startswith("whsec_") for text in secrets):
        raise EndpointError("secrets must be a list of texts that begin with whsec_")
    if not _are_texts(types) or not isinstance(version, str):
        raise EndpointError("types must be a list of texts and api_version a text")
    return Endpoint(url=url, secrets=tuple(secrets), api_version=version, types=tuple(types))


def _is_local(url: str) -> bool:
    if not (url.isascii() and url.isprintable()):
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme == "http" and is_loopback(parts.hostname or "") and (parts.port or 80) > 0
    except ValueError:
        return False


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
