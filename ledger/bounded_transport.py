"""An HTTP transport on which one exchange has one time limit and one size limit.

HTTP clients limit each read, so a server that sends one byte now and then is waited for without end. Here the
read timeout of a request limits the whole exchange, from connecting to the last byte read.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx2


class BodyRefusedError(httpx2.RemoteProtocolError):
    """If you see this, an answer's body was larger than allowed, or compressed; none of it was used."""


class BoundedTransport(httpx2.BaseTransport):
    """Wrap a transport that keeps no connection open, since only a new connection can be cut.

    Raises httpx2.ReadTimeout when an exchange takes longer than the request's read timeout, and
    BodyRefusedError for a body that is larger than ``max_body_bytes`` or compressed.
    """

    def __init__(self, inner: httpx2.BaseTransport, *, max_body_bytes: int) -> None:
        self._inner = inner
        self._max_body_bytes = max_body_bytes

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
            raise BodyRefusedError("a compressed body was not asked for")
        return httpx2.Response(
            status_code=response.status_code,
            headers=response.headers,
            stream=_BoundedStream(response, cutter, self._max_body_bytes),
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
        """Raise ReadTimeout instead of ``error`` if cutting the connection caused it."""
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
    def __init__(self, response: httpx2.Response, cutter: _Cutter, max_body_bytes: int) -> None:
        self._response = response
        self._cutter = cutter
        self._max_body_bytes = max_body_bytes

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for chunk in self._chunks():
            size += len(chunk)
            if size > self._max_body_bytes:
                raise BodyRefusedError("the body is larger than allowed")
            yield chunk

    def _chunks(self) -> Iterator[bytes]:
        try:
            yield from self._response.iter_raw()
        except httpx2.TransportError as error:
            self._cutter.explain(error)
            raise

    def close(self) -> None:
        self._cutter.stop()
        self._response.close()
