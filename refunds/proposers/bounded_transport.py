"""An HTTP transport on which one exchange has one time limit and one size limit.

HTTP clients limit each read, so a server that sends one byte now and then is waited for without end. Here the
read timeout of a request limits the whole exchange, from the first byte sent to the last byte read.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2

MAX_BODY_BYTES: Final = 262_144


class BoundedTransport(httpx2.BaseTransport):
    """Wrap a transport whose connections are not reused between proposals.

    Raises httpx2.ReadTimeout when an exchange takes longer than the request's read timeout, and
    httpx2.RemoteProtocolError for a body that is larger than `MAX_BODY_BYTES` or compressed.
    """

    def __init__(self, inner: httpx2.BaseTransport) -> None:
        self._inner = inner

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Run one exchange; the body is read, and limited, as the caller iterates it."""
        cutter = _Cutter(seconds=request.extensions["timeout"]["read"])
        request.extensions["trace"] = cutter.remember
        try:
            response = self._inner.handle_request(request)
        except BaseException as error:
            cutter.stop()
            cutter.explain(error)
            raise
        if response.headers.get("content-encoding", "identity") != "identity":
            cutter.stop()
            response.close()
            raise httpx2.RemoteProtocolError("a compressed body was not asked for")
        return httpx2.Response(
            status_code=response.status_code,
            headers=response.headers,
            stream=_BoundedStream(response, cutter),
            extensions=response.extensions,
        )

    def close(self) -> None:
        """Close every connection."""
        self._inner.close()


class _Cutter:
    """Cuts the connection when the time is over, so that a blocked read ends."""

    def __init__(self, *, seconds: float) -> None:
        self._stream: Any = None
        self._fired = False
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True
        self._timer.start()

    def remember(self, _event: str, info: dict[str, Any]) -> None:
        """Keep the newest network stream; the signature is that of httpcore's trace extension."""
        stream = info.get("return_value")
        if hasattr(stream, "get_extra_info"):
            self._stream = stream
            if self._fired:
                self._shut_down()

    def stop(self) -> None:
        self._timer.cancel()

    def explain(self, error: BaseException) -> None:
        """Raise ReadTimeout instead of `error` if cutting the connection caused it."""
        if self._fired and isinstance(error, httpx2.TransportError):
            raise httpx2.ReadTimeout("the exchange took longer than allowed") from error

    def _cut(self) -> None:
        self._fired = True
        self._shut_down()

    def _shut_down(self) -> None:
        raw = self._stream.get_extra_info("socket") if self._stream is not None else None
        if isinstance(raw, socket.socket):
            with suppress(OSError):
                # The plain method also for TLS: a TLS goodbye could block on the peer that is being cut off.
                socket.socket.shutdown(raw, socket.SHUT_RDWR)


class _BoundedStream(httpx2.SyncByteStream):
    def __init__(self, response: httpx2.Response, cutter: _Cutter) -> None:
        self._response = response
        self._cutter = cutter

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        try:
            for chunk in self._response.iter_raw():
                size += len(chunk)
                if size > MAX_BODY_BYTES:
                    raise httpx2.RemoteProtocolError("the body is larger than any proposal")
                yield chunk
        except httpx2.TransportError as error:
            self._cutter.explain(error)
            raise

    def close(self) -> None:
        self._cutter.stop()
        self._response.close()


def proxy_for(base_url: str) -> str | None:
    """Return the proxy that the environment names for this address, if any."""
    parts = urlsplit(base_url)
    if proxy_bypass(parts.hostname or ""):
        return None
    proxies = getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")
