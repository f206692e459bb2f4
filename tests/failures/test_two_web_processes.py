"""Two web processes on one database, as they are deployed."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.utils import timezone
from knox.models import AuthToken

from approvals.models import ReviewCase
from ledger.models import ErasableText
from refunds.models import GatewayAttempt, RefundOperation, RefundWorkflow
from refunds.nudges import advance
from tests.api.calls import URL
from tests.factories import latest_approval, make_staff
from tests.failures.web import Web
from tests.support.workers import purge

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def webs(django_db_setup, tmp_path_factory):
    folder = tmp_path_factory.mktemp("web")
    started = [Web(log=folder / f"{number}.log") for number in (1, 2)]
    try:
        for web in started:
            web.wait()
        yield started
    finally:
        for web in started:
            web.stop()
        purge()


def at_once(webs, *, method="POST", **request):
    """Make the same request on each process at the same moment."""
    together = Barrier(len(webs))

    def one(web):
        together.wait(30)
        return web.call(method, **request)

    with ThreadPoolExecutor(len(webs)) as pool:
        return list(pool.map(one, webs))


@pytest.mark.failure("F001")
@pytest.mark.parametrize("key", ["one-click", None])
def test_the_same_submit_on_two_processes_is_one_request_and_one_refund(desk, webs, key):
    desk.now = timezone.now() - timedelta(seconds=1)
    made = desk.duplicate(desk.customer())
    _, token = AuthToken.objects.create(user=made.order.customer.user)
    headers = {"Authorization": f"Token {token}", "Content-Type": "application/json"}
    body = json.dumps({"message": "I was charged twice.", "order_number": made.order.number})

    answers = at_once(webs, path=URL, body=body, headers=headers | ({"Idempotency-Key": key} if key else {}))

    assert sorted(status for status, _, _ in answers) == [200, 201]
    (workflow_id,) = {json.loads(answer)["workflow_id"] for _, _, answer in answers}
    desk.now = timezone.now()
    desk.run([advance(workflow_id)] * 2)
    assert desk.workflow(workflow_id).state == "COMPLETED"
    assert RefundOperation.objects.count() == GatewayAttempt.objects.count() == 1
    assert (len(desk.posts()), len(desk.sim.refunds())) == (1, 1)


@pytest.mark.failure("F001")
@pytest.mark.failure("F107")
def test_the_same_approval_on_two_processes_is_one_refund(desk, webs):
    desk.now = timezone.now() - timedelta(seconds=1)
    made = desk.duplicate(desk.customer(), amount_minor_units=14_900)
    workflow_id = desk.ask(made.order)
    workflow = desk.workflow(workflow_id)
    assert workflow.state == "REQUIRES_HUMAN_APPROVAL"
    browser, secret = Client(), "c" * 32
    browser.force_login(make_staff(merchant=workflow.merchant))
    form = {
        "fingerprint": latest_approval(workflow).request_fingerprint,
        "reason_code": "DUPLICATE_CONFIRMED",
        "note": "Compared.",
        "csrfmiddlewaretoken": secret,
    }
    headers = {
        "Cookie": f"sessionid={browser.cookies['sessionid'].value}; csrftoken={secret}",
        "Content-Type": "application/x-www-form-urlencoded",
    }

    ticket = ReviewCase.objects.get(subject_id=workflow_id, closed_at=None).ticket
    answers = at_once(webs, path=f"/admin/review/{ticket}/approve/", body=urlencode(form), headers=headers)

    statuses = sorted(status for status, _, _ in answers)
    assert statuses in ([302, 302], [302, 409])
    assert latest_approval(workflow).events.exclude(voter_id="").count() == 1
    desk.now = timezone.now()
    desk.run([advance(workflow_id)] * 2)
    assert desk.workflow(workflow_id).state == "COMPLETED"
    assert (len(desk.posts()), len(desk.sim.refunds())) == (1, 1)


# -- what is too large


def begun(web, *lines, path=URL, body=b""):
    """Begin a request and keep its connection: the rest of the body never comes."""
    client = socket.create_connection(("127.0.0.1", web.port), timeout=60)
    head = "\r\n".join((f"POST {path} HTTP/1.1", "Host: 127.0.0.1", *lines, "", ""))
    client.sendall(head.encode() + body)
    return client


@pytest.mark.failure("F140")
@pytest.mark.parametrize("path", [URL, "/support/", "/accounts/login/"])
@pytest.mark.parametrize("size", [5_000_000, 64_000_000])
def test_a_body_that_is_too_large_is_refused_before_it_is_read(webs, path, size):
    web = webs[0]
    kind = "application/json" if path == URL else "application/x-www-form-urlencoded"
    length = f"Content-Length: {size}"
    with begun(web, f"Content-Type: {kind}", length, path=path, body=b"[" * 10_000) as refused:
        assert refused.recv(65536).startswith(b"HTTP/1.1 413 ")
    assert (RefundWorkflow.objects.count(), ErasableText.objects.count()) == (0, 0)


@pytest.mark.failure("F140")
def test_endless_bodies_keep_nobody_from_being_served(webs):
    web = webs[0]
    chunk = b"%x\r\n" % 300_000 + b"x" * 300_000 + b"\r\n"
    endless = [
        begun(web, "Content-Type: application/json", "Transfer-Encoding: chunked", body=chunk)
        for _ in range(3)
    ]
    try:
        assert web.call("GET", "/livez")[0] == 200
        assert [client.recv(65536)[9:12] for client in endless] == [b"413"] * 3
        assert web.call("GET", "/livez")[0] == 200
    finally:
        for client in endless:
            client.close()
    assert (RefundWorkflow.objects.count(), ErasableText.objects.count()) == (0, 0)


@pytest.mark.failure("F136")
@pytest.mark.parametrize(
    "raw",
    [
        b"GET /support/\x00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /support/%00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /support/ HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: sessionid=a\x00b\r\n\r\n",
        b"GET /api/v1/refund-requests HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Token a\x00b\r\n\r\n",
        b"GET /support/ HTTP/1.1\r\nHost: 127.0.0.1\x00.example\r\n\r\n",
    ],
)
def test_a_raw_nul_on_the_wire_is_a_4xx(webs, raw):
    web = webs[0]
    with socket.create_connection(("127.0.0.1", web.port), timeout=60) as client:
        client.sendall(raw)
        assert client.recv(65536).startswith(b"HTTP/1.1 4")
    assert "Traceback" not in web.log.read_text()


@pytest.mark.failure("F141")
def test_a_request_line_that_is_too_long_is_a_4xx(webs):
    assert webs[0].call("GET", "/support/requests/" + "9" * 10_000 + "/")[0] in range(400, 500)
