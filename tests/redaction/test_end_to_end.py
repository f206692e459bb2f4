"""[I9] The corpus through the real paths: what of it is in any table, line, prompt, e-mail, page or audit event."""

import json
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from config.celery import app
from ledger.models import AuditOutbox, ErasableText
from ledger.relay import relay_audit_events
from ledger.sinks import FileSink
from notifications.channels.email import EmailChannel
from notifications.channels.fake import FakeChannel
from refunds import pipeline, tasks
from refunds.models import CustomerMessage, Proposal, RefundWorkflow
from refunds.proposers.customer_text import prepare_customer_text
from refunds.stages import s06_propose_action
from tests.api.calls import ask, problem_of, token_client
from tests.customer.pages import text_of
from tests.factories import (
    latest_approval,
    make_customer,
    make_duplicate_order,
    make_order,
    make_payment,
    make_policy,
    make_staff,
    workflow_in_state,
)
from tests.proposers.asking import choice, completion, proposer_at
from tests.proposers.raw_server import serving
from tests.redaction.places import every_column, in_messages
from tests.redaction.rows import MUST, leaks

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("own_cache")]
CARD_DATA = [row for row in MUST if row.kind in {"CARD_NUMBER", "SECURITY_CODE"}]
REMOVED = [row for row in MUST if row not in CARD_DATA]
MESSAGES = in_messages(REMOVED)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: "


@pytest.fixture
def committed(django_capture_on_commit_callbacks):
    return lambda: django_capture_on_commit_callbacks(execute=True)


@pytest.fixture
def shop(settings, monkeypatch):
    """A customer with one doubly charged order for each message; nothing is sent to a broker."""
    monkeypatch.setattr(app, "send_task", lambda *_, **__: None)
    settings.NEW_REQUESTS_PER_MINUTE = 10_000
    now = timezone.now()
    customer = make_customer(user__email="customer@refunds.test")
    make_policy(merchant=customer.merchant, effective_from=now - timedelta(days=60))
    for number in range(len(MESSAGES)):
        make_duplicate_order(customer=customer, number=f"28{number:02}", now=now)
    return customer


def parrot(text):
    """Return what a model's server sends that repeats what it read, in a form that can't be parsed."""
    body = completion(choice(content=f"{{broken: {prepare_customer_text(text)}"))
    return (HEAD + str(len(body)).encode() + b"\r\n\r\n" + body,)


@pytest.mark.failure("F131")
@pytest.mark.failure("F132")
def test_from_the_message_to_the_e_mail(log, committed, shop, monkeypatch, tmp_path):
    browser, api = Client(), token_client(shop.user)
    browser.force_login(shop.user)
    shown, requests = [], []
    for number, (rows, text) in enumerate(MESSAGES):
        order = f"28{number:02}"
        with committed():
            answer = ask(api, order_number=order, message=text)
            checked = browser.post("/support/check/", {"message": text, "order": order, "client_token": "a"})
            added = browser.post(
                f"/support/requests/{answer.json()['reference']}/message/", {"message": f"{text}\nagain"}
            )
        assert (answer.status_code, checked.status_code, added.status_code) == (201, 200, 302)
        assert set(answer.headers["Removed-From-Message"].split(", ")) >= {row.kind for row in rows} - {
            "TOKEN"
        }
        shown += [answer.content.decode(), checked.content.decode(), browser.get(added.url).content.decode()]
        with serving(parrot(text)) as model:
            proposer = proposer_at(model.url)
            monkeypatch.setattr(s06_propose_action, "get_proposers", lambda p=proposer: (("parrot", p),))
            with committed():
                tasks.advance_workflow.apply(kwargs={"workflow_id": answer.json()["workflow_id"]})
        requests += [request.decode() for request in model.requests]
    assert CustomerMessage.objects.count() == 2 * len(MESSAGES)
    assert Proposal.objects.count() == len(MESSAGES)
    assert len(requests) >= len(MESSAGES)
    assert all("customer_text" in request for request in requests)
    now, earlier = timezone.now(), timezone.now() - timedelta(hours=2)
    order = make_order(customer=shop, number="2899", placed_at=earlier)
    paid_once = make_payment(order=order, at=earlier, refreshed_at=now).order
    with committed():
        answer = ask(api, order_number=paid_once.number, message=MESSAGES[0][1])
        tasks.advance_workflow.apply(kwargs={"workflow_id": answer.json()["workflow_id"]})
    channel = send_what_is_owed(monkeypatch)
    events = published(tmp_path)
    assert len(channel.sent) == 1
    dump = every_column()
    assert "[password removed]" in dump["erasable_texts"]
    assert {name for name, rows in dump.items() if leaks(REMOVED, rows)} == set()
    assert leaks(REMOVED, *shown, *requests, log.text, events) == []
    assert leaks(REMOVED, *(f"{mail.subject}\n{mail.body}" for mail in channel.sent)) == []


def send_what_is_owed(monkeypatch):
    channel = FakeChannel()
    monkeypatch.setattr(EmailChannel, "from_settings", lambda: channel)
    tasks.deliver_notifications.apply()
    return channel


def published(folder):
    sink = FileSink(folder / "audit.jsonl")
    sink.path.touch()
    assert relay_audit_events(now=timezone.now(), limit=10_000, sink=sink) == AuditOutbox.objects.count()
    return sink.path.read_text()


def test_card_data_is_stored_shown_and_logged_nowhere(log, committed, shop):
    browser, api = Client(), token_client(shop.user)
    browser.force_login(shop.user)
    shown = []
    with committed():
        for row in CARD_DATA:
            answer = ask(api, order_number="2800", message=row.text)
            assert problem_of(answer)[0] == 422
            assert problem_of(answer)[1] in {"message_has_card_number", "message_has_security_code"}
            shown.append(answer.content.decode())
        for _, text in in_messages(CARD_DATA):
            page = browser.post("/support/", {"message": text, "order": "2800", "client_token": "a"})
            assert page.status_code == 422
            assert "nothing was saved" in text_of(page)
            shown.append(page.content.decode())
    assert (RefundWorkflow.objects.count(), ErasableText.objects.count()) == (0, 0)
    assert leaks(CARD_DATA, *shown, log.text, *every_column().values()) == []


def test_a_fault_that_quotes_a_row_shows_it_to_nobody(log, shop, monkeypatch):
    def broken(*, message, **_):
        raise ValueError(f"cannot use {message}") from UnicodeError(said[0])

    monkeypatch.setattr("refunds.api.views.open_request", broken)
    monkeypatch.setattr("refunds.customer.views.open_request", broken)
    browser, api = Client(raise_request_exception=False), token_client(shop.user)
    browser.force_login(shop.user)
    api.raise_request_exception = False
    shown, said = [], [""]
    for _, said[0] in MESSAGES:
        form = {"message": said[0], "order": "2800", "client_token": "a"}
        headers = {"traceparent": json.dumps(said[0]), "user-agent": json.dumps(said[0])}
        for answer in (
            browser.post("/support/", form),
            ask(api, order_number="2800", message=said[0], headers=headers),
        ):
            assert answer.status_code == 500
            shown.append(answer.content.decode())
    assert log.text.count("ValueError: (") >= 2 * len(MESSAGES)
    assert leaks(MUST, *shown, log.text) == []


def test_a_colleagues_note_is_kept_without_it_and_mailed_to_nobody(log, committed, shop, monkeypatch):
    for rows, text in MESSAGES:
        workflow = workflow_in_state("REQUIRES_HUMAN_APPROVAL")
        reviewer = make_staff(merchant=workflow.merchant)
        approval = latest_approval(workflow)
        with committed():
            pipeline.decide(
                approval_id=approval.pk, decision="reject", staff_user_id=reviewer.pk,
                fingerprint=approval.request_fingerprint, reason_code="NOT_A_DUPLICATE", note=text,
                now=timezone.now(),
            )  # fmt: skip
        assert leaks(rows, log.text) == []
    channel = send_what_is_owed(monkeypatch)
    assert len(channel.sent) == len(MESSAGES)
    assert leaks(REMOVED, *(mail.body for mail in channel.sent), *every_column().values()) == []
