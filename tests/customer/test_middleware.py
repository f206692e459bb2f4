from io import BytesIO

import pytest
import structlog
from django.http import HttpResponse
from django.test import RequestFactory

from ledger.tracing import current_trace_id
from refunds.middleware import IntakeGuardMiddleware, TraceMiddleware

LIMIT = 256 * 1024


def echo(request):
    return HttpResponse(request.body)


def guard(**environ):
    request = RequestFactory().generic("POST", environ.pop("path", "/support/"), environ.pop("data", b""))
    request.META.update(environ)
    for name in [name for name, value in environ.items() if value is None]:
        del request.META[name]
    return IntakeGuardMiddleware(echo)(request)


def chunked(body, *, terminated=True, path="/api/v1/refund-requests"):
    """Return the answer to a body of unstated length, as gunicorn hands it over."""
    return guard(
        path=path,
        HTTP_TRANSFER_ENCODING="chunked",
        CONTENT_LENGTH=None,
        **{"wsgi.input": BytesIO(body), "wsgi.input_terminated": terminated},
    )


@pytest.mark.failure("F140")
def test_a_body_above_the_limit_is_refused_by_its_length_alone():
    unread = BytesIO(b"never read")
    response = guard(CONTENT_LENGTH=str(LIMIT + 1), **{"wsgi.input": unread})
    assert response.status_code == 413
    assert b"The request body is too large. Nothing was stored." in response.content
    assert unread.tell() == 0
    assert guard(data=b"x" * LIMIT).status_code == 200


@pytest.mark.failure("F140")
def test_a_body_of_unstated_length_is_read_up_to_the_limit():
    assert chunked(b'{"a": 1}').content == b'{"a": 1}'
    assert chunked(b"x" * LIMIT).status_code == 200
    endless = BytesIO(b"x" * (3 * LIMIT))
    response = guard(
        path="/api/v1/refund-requests",
        HTTP_TRANSFER_ENCODING="chunked",
        CONTENT_LENGTH=None,
        **{"wsgi.input": endless, "wsgi.input_terminated": True},
    )
    assert (response.status_code, response.headers["Content-Type"]) == (413, "application/problem+json")
    assert endless.tell() == LIMIT + 1


def test_a_server_that_cannot_end_the_input_asks_for_a_length():
    assert chunked(b"{}", terminated=False).status_code == 411


@pytest.mark.parametrize("length", ["-1", "abc", "1.5", "\u00b2", "9" * 5000])
def test_a_length_that_is_none_is_refused(length):
    assert guard(CONTENT_LENGTH=length).status_code in {400, 413}


@pytest.mark.failure("F136")
@pytest.mark.parametrize("path", ["/support/%00", "/support/?page=%00", "/support/requests/RF-%00/"])
def test_a_nul_in_the_address_is_a_page_that_explains(client, path):
    response = client.get(path)
    assert response.status_code == 400
    assert b"The request holds characters that cannot be used." in response.content


def test_a_callers_trace_is_adopted_and_bound_to_the_log():
    seen = []

    def view(_request):
        seen.append((current_trace_id(), structlog.contextvars.get_contextvars()["trace_id"]))
        return HttpResponse()

    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    request = RequestFactory().get("/", headers={"traceparent": f"00-{trace}-00f067aa0ba902b7-01"})
    TraceMiddleware(view)(request)
    TraceMiddleware(view)(RequestFactory().get("/", headers={"traceparent": "nonsense"}))
    assert seen[0] == (trace, trace)
    assert len(seen[1][0]) == 32
    assert seen[1][0] == seen[1][1] != trace
    assert "trace_id" not in structlog.contextvars.get_contextvars()
