"""One HTTP exchange on a connection of its own, under the provider's SDK.

A connection that was used before may have been closed by the other side, and then nobody can tell whether the
request arrived. Here every exchange connects first and writes second, so a failure to connect proves that
nothing was sent, and any failure after it proves nothing. Redirects are not followed, and proxies and
credentials from the environment are not used: both would add a request that no attempt row knows of.
"""

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final, cast
from urllib.parse import urlsplit

import stripe

from refunds.gateways.codes import AdapterCode

# It counts while the machine sleeps, where there is such a clock.
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
MAX_BODY_BYTES: Final = 4 * 1024 * 1024  # a page of 100 refunds is some 200 kB


class NoWholeAnswerError(Exception):
    """If you see this, the exchange failed; the SDK does not know this error and so never tries again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """How one exchange ended: ``failure`` and its ``cause``, or an answer. Header names are lower-case."""

    failure: AdapterCode | None = None
    cause: str = ""  # class name of the exception, for people
    http_status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


class OneExchange(stripe.HTTPClient):
    """An HTTP client for the SDK that makes exactly one request and remembers how it ended.

    ``connect_timeout_seconds`` bounds each step of connecting, ``answer_timeout_seconds`` the whole answer. A request
    that could only leave later than both together, counted from this object's making, is not sent at all: looking up
    a name has no limit of its own, and a process may have been stopped.
    """

    name = "http.client"

    def __init__(
        self, *, connect_timeout_seconds: float, answer_timeout_seconds: float, tls: ssl.SSLContext
    ) -> None:
        super().__init__()
        self._connect_timeout_seconds = connect_timeout_seconds
        self._answer_timeout_seconds = answer_timeout_seconds
        self._tls = tls
        self._made_at = time.clock_gettime(_CLOCK)
        self.exchange: Exchange | None = None

    def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None,
        post_data: str | None = None,
        *,
        _usage: list[str] | None = None,
    ) -> tuple[str, int, Mapping[str, str]]:
        """Make the exchange; raises NoWholeAnswerError if none, or half of one, arrived."""
        if self.exchange is not None:
            raise RuntimeError("this client makes one request only")
        # Whatever interrupts this method from here on, "nothing was sent" is only ever said by _connect.
        self.exchange = Exchange(failure=AdapterCode.CONNECTION_LOST)
        connection = self._connect(url)
        try:
            with _deadline(connection.sock, self._answer_timeout_seconds) as passed:
                try:
                    response, body = _exchange(connection, method, url, headers or {}, post_data)
                except Exception as error:
                    late = passed.is_set() or isinstance(error, TimeoutError)
                    failure = AdapterCode.ANSWER_TIMED_OUT if late else AdapterCode.CONNECTION_LOST
                    raise self._failed(failure, error) from error
        finally:
            connection.close()
        named = {name.lower(): value for name, value in response.getheaders()}
        self.exchange = Exchange(http_status=response.status, headers=named, body=body)
        # The SDK asks for headers by several spellings; the standard library's message ignores case.
        return cast("str", body), response.status, cast("Mapping[str, str]", response.headers)

    def close(self) -> None:
        """Nothing is kept open."""

    def _connect(self, url: str) -> http.client.HTTPConnection:
        parts = urlsplit(url)
        host, seconds = parts.hostname or "", self._connect_timeout_seconds
        connection = (
            http.client.HTTPSConnection(host, parts.port, timeout=seconds, context=self._tls)
            if parts.scheme == "https"
            else http.client.HTTPConnection(host, parts.port, timeout=seconds)
        )
        try:
            connection.connect()  # TCP and TLS; the first byte of the request leaves after this
            self._refuse_if_late()
        except Exception as error:
            connection.close()
            raise self._failed(AdapterCode.CONNECT_FAILED, error) from error
        return connection

    def _refuse_if_late(self) -> None:
        waited = time.clock_gettime(_CLOCK) - self._made_at
        if waited > self._connect_timeout_seconds + self._answer_timeout_seconds:
            raise TimeoutError

    def _failed(self, failure: AdapterCode, error: Exception) -> NoWholeAnswerError:
        self.exchange = Exchange(failure=failure, cause=type(error).__name__)
        return NoWholeAnswerError(f"{failure}: {type(error).__name__}")


def _exchange(
    connection: http.client.HTTPConnection,
    method: str,
    url: str,
    headers: Mapping[str, str],
    post_data: str | None,
) -> tuple[http.client.HTTPResponse, bytes]:
    parts = urlsplit(url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    body = None if post_data is None else post_data.encode("ascii")
    connection.request(method.upper(), target, body=body, headers={**headers, "Connection": "close"})
    with connection.getresponse() as response:
        content = response.read(MAX_BODY_BYTES + 1)
        if len(content) > MAX_BODY_BYTES:
            raise http.client.HTTPException("the answer is larger than any that is expected")
        if response.length:  # a read with a size does not raise IncompleteRead itself
            raise http.client.IncompleteRead(content, response.length)
    return response, content


@contextmanager
def _deadline(sock: socket.socket, seconds: float) -> Iterator[threading.Event]:
    """End the connection when the whole answer is not there in time, also when it trickles in."""
    passed = threading.Event()

    def end() -> None:
        passed.set()
        try:
            socket.socket.shutdown(sock, socket.SHUT_RDWR)
        except OSError:  # the other side, or this one, was faster
            return

    sock.settimeout(seconds)
    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield passed
    finally:
        timer.cancel()


def trusted_tls() -> ssl.SSLContext:
    """Return a TLS context that trusts what the SDK trusts."""
    return ssl.create_default_context(cafile=stripe.ca_bundle_path)


def refuse_clear_text(api_base: str) -> None:
    """Raise ValueError for an address that would send the API key unencrypted over a network."""
    parts = urlsplit(api_base)
    host = parts.hostname or ""
    if not (parts.scheme == "https" and host) and not (parts.scheme == "http" and _is_loopback(host)):
        raise ValueError("the gateway's address must be https, or http on this machine")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
