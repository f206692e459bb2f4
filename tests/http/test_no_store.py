"""No cache keeps a refusal or a fault."""

import pytest
from django.test import Client
from django.urls import reverse

from refunds.states import WorkflowState
from tests.console.conftest import ticket_of
from tests.factories import make_merchant, make_policy, make_staff, make_user, workflow_in_state

pytestmark = pytest.mark.django_db


def stored(answer):
    """Whether a cache may keep the answer."""
    return "no-store" not in answer.headers.get("Cache-Control", "")


@pytest.mark.failure("F100")
def test_refusals_of_pages_are_not_kept(client):
    merchant = make_merchant()
    make_policy(merchant=merchant)
    reader = make_staff(merchant=merchant, can_approve=False)
    ticket = ticket_of(workflow_in_state(WorkflowState.MANUAL_REVIEW))
    client.force_login(reader)
    found = {
        404: [client.get("/nowhere"), client.get(f"/admin/review/{ticket}/"), client.get("/static/none.css")],
        405: [client.post("/admin/review/"), client.get("/webhooks/stripe"), client.put("/support/")],
    }
    client.force_login(make_user())
    found[403] = [
        client.get("/admin/review/"),
        Client(enforce_csrf_checks=True).post("/support/", {"a": "b"}),
    ]
    found[400] = [client.get("/support/", headers={"Host": "evil.example"}), client.get("/support/?x=%00")]
    found[413] = [client.post("/support/", b"x" * 5_000_000, content_type="text/plain")]
    for status, answers in found.items():
        for answer in answers:
            assert (answer.status_code, stored(answer)) == (status, False), answer.request["PATH_INFO"]


def test_faults_and_refusals_of_the_api_are_not_kept(monkeypatch):
    client = Client(raise_request_exception=False)
    assert not stored(client.get("/api/v1/refund-requests"))
    assert not stored(client.get("/api/nowhere"))

    def broken(*_):
        raise RuntimeError("gone")

    monkeypatch.setattr("drf_spectacular.views.SpectacularAPIView.dispatch", broken)
    answer = client.get("/api/schema/")
    assert (answer.status_code, stored(answer)) == (500, False)


def test_what_a_cache_may_keep_stays_so(client):
    answer = client.get(reverse("support:ask"), follow=True)
    assert answer.status_code == 200
    redirected = client.get("/")
    assert (redirected.status_code, redirected.headers.get("Cache-Control")) == (302, None)
