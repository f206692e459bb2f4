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
MOST_ROLLING_SECONDS = 86_400  # docs.stripe.com/webhooks
_READ = ("url", "secrets", "api_version", "types")


class EndpointError(ValueError):
    """An endpoint or setting that makes no sense; the message is for the one who wrote it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where events go. Its version, not the request's, shapes them (facts 4.1)."""

    url: str
    secrets: tuple[str, ...]
    api_version: str = API_VERSION
    types: tuple[str, ...] = ()  # all, if empty
    rolled_until: tuple[tuple[str, float], ...] = ()  # old secrets, and when each stops signing

    def active_secrets(self, now: float) -> tuple[str, ...]:
        """Return what signs a delivery: while a secret is rolled, the old one too (facts 4.3)."""
        return (*self.secrets, *(secret for secret, until in self.rolled_until if now < until))

    def takes(self, event_type: str) -> bool:
        """Whether it is told of events of this type."""
        if event_type.startswith("refund.") and self.api_version[:10] < _REFUND_EVENTS_SINCE:
            return False
        return not self.types or event_type in self.types


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How often and how fast a delivery is tried.

    A sandbox tries three times over a few hours (facts 4.2); the hours are scaled by ``retry_seconds``, the
    wait before the second attempt, which doubles. With ``for_seconds`` it is tried so long instead: live mode goes
    on for three days. Waits are of the provider's time, ``timeout_seconds`` is of the machine's.
    """

    attempts: int = 3
    retry_seconds: float = 5.0
    timeout_seconds: float = 5.0
    for_seconds: float | None = None

    def next_attempt(self, made: int, *, now: float, first_due_at: float) -> float | None:
        """Return when the next attempt is due after so many, or None after the last."""
        due_at = now + self.retry_seconds * 2 ** (made - 1)
        if self.for_seconds is not None:
            return due_at if due_at <= first_due_at + self.for_seconds else None
        return due_at if made < self.attempts else None


LIVE_MODE_SECONDS = 3 * 86_400.0  # docs.stripe.com/webhooks: up to three days


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

    def roll(self, value: Any, *, now: float) -> Endpoint:
        """Give an endpoint a new secret; the old ones go on for ``seconds``, at most a day (facts 4.3)."""
        url = value.get("url") if isinstance(value, Mapping) else None
        endpoint = self.get(str(url))
        if endpoint is None or set(value) - {"url", "secret", "seconds"}:
            raise EndpointError(
                "rolling a secret needs the url of an endpoint, secret, and seconds if wanted"
            )
        secret, seconds = value.get("secret"), value.get("seconds", MOST_ROLLING_SECONDS)
        if not isinstance(secret, str) or not secret.startswith("whsec_"):
            raise EndpointError("secret must be a text that begins with whsec_")
        is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
        if not is_number or not 0 <= seconds <= MOST_ROLLING_SECONDS:
            raise EndpointError(f"seconds must be from 0 to {MOST_ROLLING_SECONDS}")
        old = tuple((one, now + seconds) for one in endpoint.secrets)
        rolled = replace(endpoint, secrets=(secret,), rolled_until=(*endpoint.rolled_until, *old))
        self.add(rolled)
        return rolled

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
        waits = [patience.retry_seconds, patience.timeout_seconds]
        waits += [] if patience.for_seconds is None else [patience.for_seconds]
        if type(patience.attempts) is not int or patience.attempts < 1:
            raise EndpointError("attempts must be a whole number above 0")
        if any(isinstance(wait, bool) or not isinstance(wait, int | float) or wait <= 0 for wait in waits):
            raise EndpointError("retry_seconds, timeout_seconds and for_seconds must be above 0")
        self.patience = patience
        return patience


def read_endpoint(value: Any) -> Endpoint:
    """Return an endpoint from JSON: url, secrets, and api_version and types if wanted."""
    if not isinstance(value, Mapping) or set(value) - set(_READ):
        raise EndpointError(f"an endpoint has {', '.join(_READ)}")
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
