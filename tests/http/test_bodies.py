"""Bodies that break off: over sockets, on the server that is deployed."""

import os
import socket
import subprocess
import sys
import time

import pytest
from django.test import RequestFactory

from refunds.middleware import IntakeGuardMiddleware

REQUESTS = "/api/v1/refund-requests"


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    """A gunicorn of its own: its port, and its log as a text."""
    log = tmp_path_factory.mktemp("web") / "log"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = (sys.executable, "-m", "gunicorn", "config.wsgi:application", "--bind", f"127.0.0.1:{port}")
    with log.open("wb") as out:
        process = subprocess.Popen(
            (*command, "--threads", "2", "--no-control-socket"), stdout=out, stderr=out, env=os.environ
        )
    try:
        _wait_until_it_answers(port)
        yield port, log.read_text
    finally:
        process.terminate()
        process.wait(20)


def _wait_until_it_answers(port):
    ends_at = time.monotonic() + 30
    while time.monotonic() < ends_at:
        try:
            answer = send(port, b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        except ConnectionRefusedError:
            time.sleep(0.2)
        else:
            assert answer.startswith(b"HTTP/1.1 200 ")
            return
    raise TimeoutError


def send(port, raw, *, hang_up=False):
    """Send raw bytes and return what comes back; ``hang_up`` ends the sending side first, or resets."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(raw)
        if hang_up == "reset":
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            return b""
        if hang_up:
            client.shutdown(socket.SHUT_WR)
        return client.recv(65536)


def head(path, *lines):
    return "\r\n".join((f"POST {path} HTTP/1.1", "Host: 127.0.0.1", *lines, "", "")).encode()


@pytest.mark.parametrize("path", [REQUESTS, "/accounts/login/", "/support/"])
@pytest.mark.parametrize(
    "chunks",
    [
        b"zz\r\nabc\r\n0\r\n\r\n",
        b"5\r\nab",
        b"-1\r\n",
        b"3\r\nabcdef\r\n0\r\n\r\n",
        b"3;\x00\r\nabc\r\n",
        b"",
    ],
)
def test_broken_chunks_are_400_and_no_fault(web, path, chunks):
    port, log = web
    form = "Content-Type: application/x-www-form-urlencoded"
    answer = send(port, head(path, form, "Transfer-Encoding: chunked") + chunks, hang_up=True)
    assert answer.startswith(b"HTTP/1.1 400 ")
    if path == REQUESTS:
        assert b"application/problem+json" in answer
    assert "Traceback" not in log()


@pytest.mark.parametrize("path", [REQUESTS, "/accounts/login/", "/support/"])
@pytest.mark.parametrize("body", [b"", b'{"message": "Tw', b"login=a&password="])
def test_half_a_body_is_400_and_not_taken_for_the_whole(web, path, body):
    port, log = web
    answer = send(port, head(path, "Content-Length: 100") + body, hang_up=True)
    assert answer.startswith(b"HTTP/1.1 400 ")
    send(port, head(path, "Content-Length: 100") + body, hang_up="reset")
    send(port, head(path, "Transfer-Encoding: chunked") + b"5\r\nab", hang_up="reset")
    _wait_until_it_answers(port)
    assert "Traceback" not in log()
    assert " 500" not in log()


def test_a_reset_link_is_nowhere_in_the_servers_own_log(web):
    port, log = web
    path = "/accounts/password/reset/key/1-secret-key/x"
    lines = (f"GET {path} HTTP/1.1", "Host: 127.0.0.1", f"Referer: http://127.0.0.1{path}", "", "")
    assert send(port, "\r\n".join(lines).encode()).startswith(b"HTTP/1.1 301 ")
    assert "request_started" in log()
    assert "secret-key" not in log()


@pytest.mark.parametrize("kind", [OSError, ValueError, Exception])
@pytest.mark.parametrize("path", [REQUESTS, "/support/"])
def test_whatever_a_server_raises_for_a_broken_body_is_400(kind, path):
    class Broken:
        def read(self, *_):
            raise kind

    environ = {"wsgi.input": Broken(), "wsgi.input_terminated": True, "HTTP_TRANSFER_ENCODING": "chunked"}
    request = RequestFactory().post(path)
    request.META |= environ
    del request.META["CONTENT_LENGTH"]
    assert IntakeGuardMiddleware(lambda _request: pytest.fail("passed on"))(request).status_code == 400
