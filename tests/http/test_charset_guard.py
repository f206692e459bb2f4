"""The charset of ``Content-Type``, and headers nobody can read, over the WSGI application that gunicorn serves."""

import io
from wsgiref.util import setup_testing_defaults

import pytest

from config.wsgi import application

CODECS = (
    "utf-7", "latin-1", "iso-8859-1", "utf-16", "utf-32", "cp037", "hex", "base64", "zlib", "bz2", "quopri", "uu",
    "rot13", "idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "ascii", "nonsense",
    "utf-8-sig", "x" * 5000, "\x00", "\xff",
)  # fmt: skip


def call(
    path="/accounts/login/", *, content_type, method="POST", query="", body=b"login=a&password=b", accept=""
):
    """Return status and headers of one request."""
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "CONTENT_TYPE": content_type,
        "CONTENT_LENGTH": str(len(body)),
        "HTTP_ACCEPT": accept,
        "wsgi.input": io.BytesIO(body),
    }
    setup_testing_defaults(environ)
    seen = []
    b"".join(application(environ, lambda status, headers, *_: seen.append((status, dict(headers)))))
    ((status, headers),) = seen
    return int(status[:3]), headers


@pytest.mark.django_db
@pytest.mark.failure("F136")
@pytest.mark.parametrize("charset", CODECS)
@pytest.mark.parametrize(
    "target",
    [
        {"path": "/accounts/login/"},
        {"path": "/accounts/password/reset/"},
        {"path": "/support/"},
        {"path": "/support/", "method": "GET", "query": "a=%E9", "body": b""},
        {"path": "/api/v1/refund-requests", "query": "page=1"},
    ],
    ids=lambda target: target["path"] + target.get("query", ""),
)
def test_only_utf_8_is_read(charset, target, caplog):
    status, headers = call(content_type=f"application/x-www-form-urlencoded; charset={charset}", **target)
    assert status in {400, 415}
    is_api = target["path"].startswith("/api/")
    assert headers["Content-Type"].startswith("application/problem+json" if is_api else "text/html")
    assert caplog.records == []


@pytest.mark.django_db
@pytest.mark.parametrize(
    "charset", ["", "; charset=utf-8", "; charset=UTF8", '; charset="utf-8"', "; boundary=x"]
)
def test_utf_8_by_any_name_is_read(charset):
    status, _ = call(content_type=f"application/x-www-form-urlencoded{charset}")
    assert status == 403  # the form has no CSRF token


@pytest.mark.django_db
@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain; charset*=hex''41",
        "text/plain; charset*=utf-8''hex",
        "text/plain; name*=nonsense''a",
        "text/plain; a*=zlib''41",
        "; charset",
        ";;;=;",
        "multipart/form-data",
        "multipart/form-data; boundary*=hex''41",
        "multipart/form-data; boundary=\xe9",
    ],
)
def test_a_header_that_nobody_can_read_is_no_fault(content_type):
    for method in ("GET", "POST"):
        assert call(content_type=content_type, method=method, query="a=1")[0] < 500


@pytest.mark.django_db
@pytest.mark.parametrize(
    "part",
    [
        b"Content-Disposition: form-data; name*=hex''41",
        b"Content-Disposition: form-data; name*=nonsense''41",
        b"Content-Disposition: form-data; name=\"a\"; filename*=zlib''b",
        b'Content-Disposition: form-data; name="a"\r\nContent-Type: text/plain; charset=hex',
        b'Content-Disposition: form-data; name="a"\r\nContent-Transfer-Encoding: base64',
        b'Content-Disposition: form-data; name="\xff"',
        b"Content-Disposition: form-data",
        b'Content-Disposition: form-data; name="a"; a*=1; a*0*=b',
    ],
)
def test_a_part_that_nobody_can_read_is_no_fault(part):
    body = b"--x\r\n" + part + b"\r\n\r\n\xff!\r\n--x--\r\n"
    for path in ("/accounts/login/", "/support/"):
        assert call(path, content_type="multipart/form-data; boundary=x", body=body)[0] < 500


@pytest.mark.django_db
@pytest.mark.failure("F136")
@pytest.mark.parametrize("path", ["/accounts/login/", "/support/", "/api/v1/refund-requests"])
def test_a_form_whose_parts_nobody_can_read_is_refused(path):
    part = b'--x\r\nContent-Disposition: form-data; name="a"; a*=1; a*0*=b\r\n\r\n!\r\n--x--\r\n'
    status, headers = call(path, content_type="multipart/form-data; boundary=x", body=part)
    assert status == 400
    is_api = path.startswith("/api/")
    assert headers["Content-Type"].startswith("application/problem+json" if is_api else "text/html")


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/accounts/login/", "/support/"])
def test_a_form_in_parts_is_read(path):
    body = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n!\r\n--x--\r\n'
    assert call(path, content_type="multipart/form-data; boundary=x", body=body)[0] == 403  # no CSRF token


@pytest.mark.django_db
@pytest.mark.failure("F136")
@pytest.mark.parametrize("path", ["/api/v1/refund-requests", "/api/schema/", "/accounts/login/", "/livez"])
@pytest.mark.parametrize(
    "accept",
    [
        "application/json; a*=1; a*0*=b",
        "text/html, application/json; a*=1; a*0*=b;q=1",
        "text/html; a*=nonsense''b",
    ],
)
def test_an_accept_header_that_nobody_can_read_is_refused(path, accept):
    status, headers = call(path, content_type="", method="GET", body=b"", accept=accept)
    assert status == 400
    is_api = path.startswith("/api/")
    assert headers["Content-Type"].startswith("application/problem+json" if is_api else "text/html")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "accept",
    ["", "*/*", ",;", "text/html;q=0.9, */*;q=0.8", "application/json; a*=utf-8''b", 'a/b; c="d, e"'],
)
def test_any_other_accept_header_is_passed_on(accept):
    assert call("/accounts/login/", content_type="", method="GET", body=b"", accept=accept)[0] == 200
    assert call("/api/v1/refund-requests", content_type="", method="GET", body=b"", accept=accept)[0] in {
        401,
        406,
    }


def test_a_head_request_has_no_body():
    status, headers = call(content_type="text/plain; charset=hex", method="HEAD", body=b"")
    assert (status, int(headers["Content-Length"]) > 0) == (415, True)
