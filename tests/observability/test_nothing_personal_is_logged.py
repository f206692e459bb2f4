"""[I9] What people, models and clients write never reaches a line of the log, on any path."""

from datetime import timedelta

import pytest
from django.db import IntegrityError
from django.test import Client
from django.utils import timezone

from config.celery import app
from ledger.models import ErasableText
from refunds import pipeline, tasks
from refunds.actions import reading_message
from refunds.models import CustomerMessage, MessageReading, Proposal, RefundWorkflow
from refunds.proposers.port import Proposed
from refunds.stages import s06_propose_action
from tests.api.calls import URL as API
from tests.api.calls import ask, problem_of, token_client
from tests.customer.pages import text_of
from tests.factories import make_duplicate_order, make_policy, make_staff, workflow_in_state

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_cache")]
CANARY = "kanarienvogel"
CARD = "4242 4242 4242 4242"
HEADERS = {
    "User-Agent": CANARY,
    "X-Request-Id": CANARY,
    "X-Correlation-Id": CANARY,
    "Referer": f"http://testserver/{CANARY}",
    "Cookie": f"a={CANARY}",
    "X-Anything": CANARY,
    "traceparent": CANARY,
}


@pytest.fixture
def committed(django_capture_on_commit_callbacks):
    return lambda: django_capture_on_commit_callbacks(execute=True)


@pytest.fixture
def unsent(monkeypatch):
    monkeypatch.setattr(app, "send_task", lambda *_, **__: None)


@pytest.fixture
def order():
    now = timezone.now()
    made = make_duplicate_order(number="2841", description=f"for {CANARY}", now=now).order
    make_policy(merchant=made.merchant, effective_from=now - timedelta(days=60))
    return made


class Parrot:
    """A model that repeats what nobody should log."""

    def __init__(self, raw_text):
        self._raw_text = raw_text

    def propose(self, _context, **_asked):
        return Proposed(
            raw_text=self._raw_text, model_snapshot="parrot-1", prompt_version="p1", latency_ms=1, requests=1
        )

    read_message = propose


@pytest.mark.failure("F131")
@pytest.mark.failure("F132")
@pytest.mark.parametrize(
    "output", [f"{{not json {CANARY}", f'{{"recommended_action": "{CANARY}"}}', CANARY, f'["{CANARY}"]' * 500]
)
def test_from_the_message_to_the_decision(log, committed, unsent, order, monkeypatch, output):
    monkeypatch.setattr(s06_propose_action, "get_proposers", lambda: (("parrot", Parrot(output)),))
    with committed():
        answer = ask(
            token_client(order.customer.user),
            order_number="2841",
            message=f"Twice, says {CANARY}.",
            headers=HEADERS,
        )
    assert answer.status_code == 201
    workflow_id = answer.json()["workflow_id"]
    with committed():
        tasks.advance_workflow.apply(kwargs={"workflow_id": workflow_id})
    assert CANARY in Proposal.objects.get().draft.body  # it was there to be logged
    assert CANARY in CustomerMessage.objects.get().text.body
    assert log.named("refund_workflow.action_proposed")
    assert Proposal.objects.get().output_sha256 in log.text
    assert [line for line in log.text.splitlines() if CANARY in line] == []


@pytest.mark.failure("F132")
@pytest.mark.parametrize(
    "output",
    [
        f"{{not json {CANARY}",
        f'{{"intent": "{CANARY}", "problem": "none", "order_hint": "{CANARY}", "language": "en"}}',
        f'{{"intent": "other", "problem": "none", "order_hint": "{CANARY}", "language": "en"}}',
    ],
)
def test_a_reading(log, committed, unsent, order, monkeypatch, output):
    monkeypatch.setattr(reading_message, "get_proposers", lambda: (("parrot", Parrot(output)),))
    with committed():
        answer = ask(token_client(order.customer.user), message=f"Twice, says {CANARY}.")
    workflow_id = answer.json()["workflow_id"]
    with committed():
        tasks.read_message.apply(kwargs={"workflow_id": workflow_id})
    kept = MessageReading.objects.values().get()
    assert CANARY not in str(kept)
    assert [line for line in log.text.splitlines() if CANARY in line] == []


def test_refused_headers_hosts_and_tokens(log, order):
    strict = Client(enforce_csrf_checks=True, raise_request_exception=False)
    strict.force_login(order.customer.user)
    answers = [
        Client().get("/support/", headers={"Host": f"{CANARY}.example.com"}),
        Client().get(API, headers={"Authorization": f"Token {CANARY}"}),
        Client().get(API, headers={"Authorization": f"Bearer {CANARY}"}),
        Client().get(f"/{CANARY}/", headers=HEADERS),
        strict.post("/support/", {"message": CANARY}, headers={"Origin": f"https://{CANARY}.example.com"}),
        strict.post(
            "/support/", {"message": CANARY}, secure=True, headers={"Referer": f"https://{CANARY}.example"}
        ),
        Client().post("/accounts/login/", {"login": f"{CANARY}@example.com", "password": CANARY}),
        token_client(order.customer.user).post(
            API, f'{{"message": "{CANARY}"', content_type="application/json"
        ),
    ]
    assert [a.status_code for a in answers] == [400, 401, 401, 404, 403, 403, 200, 400]
    assert log.named("csrf.refused")
    assert log.named("refused: DisallowedHost")
    assert [line for line in log.text.splitlines() if CANARY in line] == []


@pytest.mark.parametrize("error", [ValueError, RuntimeError, KeyError, IntegrityError])
def test_a_fault_that_quotes_somebody(log, order, monkeypatch, error):
    def broken(**_):
        raise error(f"cannot use {CANARY}") from UnicodeError(CANARY)

    monkeypatch.setattr("refunds.api.views.open_request", broken)
    monkeypatch.setattr("refunds.customer.views.open_request", broken)
    monkeypatch.setattr(pipeline, "advance_workflow", broken)
    browser = Client(raise_request_exception=False)
    browser.force_login(order.customer.user)
    api = token_client(order.customer.user)
    api.raise_request_exception = False
    answers = [
        ask(api, order_number="2841"),
        browser.post("/support/", {"message": "Twice.", "order": "2841", "client_token": "a"}),
    ]
    tasks.advance_workflow.apply(kwargs={"workflow_id": "wf_x"})
    assert [a.status_code for a in answers] == [500, 500]
    assert log.text.count(error.__name__) >= 3
    assert log.text.count("characters, sha256") >= 3
    assert [line for line in log.text.splitlines() if CANARY in line] == []


def test_a_decisions_note(log, committed, unsent):
    workflow = workflow_in_state("REQUIRES_HUMAN_APPROVAL")
    reviewer = make_staff(merchant=workflow.merchant)
    browser = Client()
    browser.force_login(reviewer)
    with committed():
        browser.get("/admin/review/", headers=HEADERS)
    assert [line for line in log.text.splitlines() if CANARY in line] == []


@pytest.mark.failure("F136")
@pytest.mark.parametrize("written", [CARD, "4242-4242-\r\n4242-4242", "４２４２４２４２４２４２４２４２"])
def test_a_card_number_is_refused_before_storage_and_shown_and_logged_nowhere(log, committed, order, written):
    browser = Client()
    browser.force_login(order.customer.user)
    message = f"I paid with {written} twice."
    with committed():
        by_api = ask(token_client(order.customer.user), order_number="2841", message=message)
        by_page = browser.post("/support/", {"message": message, "order": "2841", "client_token": "a"})
    assert problem_of(by_api) == (422, "message_has_card_number")
    assert by_page.status_code == 422
    assert "last four digits" in text_of(by_page)
    assert "I paid with [card number removed] twice." in by_page.content.decode()
    for shown in (by_api.content.decode(), by_page.content.decode(), log.text):
        assert written not in shown
        assert "4242" not in shown
    assert (
        RefundWorkflow.objects.count(),
        CustomerMessage.objects.count(),
        ErasableText.objects.count(),
    ) == (0, 0, 0)
