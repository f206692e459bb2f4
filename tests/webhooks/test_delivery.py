"""What the provider's deliveries leave behind: one stored event each, whatever else is wrong with them."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction
from django.db.utils import ProgrammingError
from django.test import Client

from ledger.models import ErasableText
from refunds.models import GatewayWebhook
from refunds.states import OperationState
from tests.factories import operation_in_state
from tests.stages.trail import nothing_written
from tests.webhooks.signed import SECRET, deliver, event, sign

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _secret(settings):
    settings.STRIPE_WEBHOOK_SECRETS = (SECRET,)


@pytest.fixture
def operation():
    return operation_in_state(OperationState.SUBMITTED)


def test_an_event_is_stored_as_it_came_and_waits_to_be_applied(client, operation):
    answer = deliver(client, event(operation))
    assert (answer.status_code, answer.json()) == (200, {"received": True})
    stored = GatewayWebhook.objects.get()
    assert (stored.provider, stored.event_id, stored.event_type, stored.livemode) == (
        "stripe",
        "evt_1",
        "refund.updated",
        False,
    )
    assert (stored.object_id, stored.operation_id) == ("re_1", operation.pk)
    assert (stored.outcome, stored.next_attempt_at) == ("RECEIVED", stored.received_at)
    assert json.loads(stored.body.body) == event(operation)
    assert stored.body_sha256 == stored.body.sha256


@pytest.mark.failure("F066")
def test_an_event_that_comes_again_is_answered_and_changes_nothing(client, operation):
    deliver(client, event(operation))
    with nothing_written():
        for _ in range(3):
            assert deliver(client, event(operation)).status_code == 200
    assert (GatewayWebhook.objects.count(), ErasableText.objects.filter(body__contains="evt_1").count()) == (
        1,
        1,
    )


def test_the_same_id_of_another_account_is_another_event(client, operation):
    deliver(client, event(operation))
    deliver(client, event(operation, account="acct_1"))
    assert GatewayWebhook.objects.count() == 2


@pytest.mark.failure("F039")
@pytest.mark.parametrize(
    ("make", "status", "code"),
    [
        (lambda body: sign(body, at=1), 400, "signature_refused"),
        (lambda body: sign(body + b" "), 400, "signature_refused"),
        (lambda body: sign(body, secret="whsec_other"), 400, "signature_refused"),
        (lambda _body: "", 400, "signature_refused"),
    ],
)
def test_what_is_not_the_providers_is_refused_and_leaves_nothing(client, operation, make, status, code):
    body = json.dumps(event(operation)).encode()
    with nothing_written():
        answer = deliver(client, body, signature=make(body))
    assert (answer.status_code, answer.headers["Content-Type"]) == (status, "application/problem+json")
    assert answer.json()["code"] == code


@pytest.mark.parametrize("secrets", [("whsec_new", SECRET), (SECRET, "whsec_new")])
def test_any_of_several_secrets_will_do(client, operation, settings, secrets):
    settings.STRIPE_WEBHOOK_SECRETS = secrets
    assert deliver(client, event(operation)).status_code == 200


def test_a_body_that_was_written_anew_on_the_way_is_not_the_providers(client, operation):
    sent = json.dumps(event(operation)).encode()
    rewritten = json.dumps(event(operation), separators=(",", ":")).encode()
    with nothing_written():
        assert deliver(client, rewritten, signature=sign(sent)).status_code == 400


@pytest.mark.failure("F039")
def test_without_a_secret_every_delivery_is_refused(client, operation, settings):
    settings.STRIPE_WEBHOOK_SECRETS = ()
    with nothing_written():
        assert deliver(client, event(operation)).status_code == 503


@pytest.mark.parametrize("body", [b"{}", b"null", b'{"a": "\x00"}', b"\xff\xfe", b"[" * 50_000])
def test_a_signed_body_that_is_no_event_is_refused_and_leaves_nothing(client, body):
    with nothing_written():
        assert deliver(client, body).status_code == 400


@pytest.mark.failure("F140")
def test_a_huge_delivery_is_refused_before_it_is_verified(client):
    with nothing_written():
        assert deliver(client, b"x" * 5_000_000, signature="t=1,v1=00").status_code == 413


def test_it_is_a_post_and_needs_no_session(client):
    assert client.get("/webhooks/stripe").status_code == 405
    client.handler.enforce_csrf_checks = True
    assert deliver(client, event()).status_code == 200


def test_what_the_provider_sent_never_changes(client, operation):
    deliver(client, event(operation))
    for column, value in (("event_type", "refund.failed"), ("object_id", "re_2"), ("operation_id", "")):
        with pytest.raises(ProgrammingError), transaction.atomic():
            GatewayWebhook.objects.update(**{column: value})


@pytest.mark.django_db(transaction=True)
@pytest.mark.failure("F066")
def test_deliveries_at_the_same_moment_are_one_event():
    def post(_number):
        try:
            return deliver(Client(), event()).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(post, range(16))) == {200}
    assert (GatewayWebhook.objects.count(), ErasableText.objects.count()) == (1, 1)
