"""The transport to a model: one time limit and one size limit for one exchange, and the proxy on the way."""

from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2

from ledger import bounded_transport

MAX_BODY_BYTES: Final = 262_144  # larger than any proposal


class StreamedAnswerError(httpx2.RemoteProtocolError):
    """If you see this, a server began to stream an answer that was asked for in one piece; none of it was read."""


class BoundedTransport(bounded_transport.BoundedTransport):
    """Wrap a transport whose connections are not reused between proposals; see the base for what it raises.

    Raises StreamedAnswerError for an answer that is a stream of events: it may have no end.
    """

    def __init__(self, inner: httpx2.BaseTransport) -> None:
        super().__init__(inner, max_body_bytes=MAX_BODY_BYTES)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Run one exchange."""
        response = super().handle_request(request)
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "text/event-stream" and response.status_code < HTTPStatus.MULTIPLE_CHOICES:
            response.close()
            raise StreamedAnswerError("an event stream was not asked for")
        return response


def proxy_for(base_url: str) -> str | None:
    """Return the proxy that the environment names for this address, if any."""
    parts = urlsplit(base_url)
    if proxy_bypass(parts.hostname or ""):
        return None
    proxies = getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")
