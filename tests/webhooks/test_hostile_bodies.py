"""Signed bodies that no provider would send: each is answered, none is a fault, and none leaves half a row."""

import pytest

from ledger.models import ErasableText
from refunds.models import GatewayWebhook
from tests.webhooks.signed import SECRET, deliver, event

pytestmark = pytest.mark.django_db
_START = b'{"object":"event","id":"evt_1","type":"refund.updated","created":'
NO_EVENTS = (
    b"", b"{", b"[]", b"null", b"NaN", b"\xff", b'{"object":"event"}', b"[" * 100_000, b'{"a":' * 40_000,
    _START + b"NaN}", _START + b"1e400}", _START + b"9" * 4000 + b"}", _START + b"9" * 40_000 + b"}",
    _START + b"true}", _START + b"-99999999999999}",
    b'{"object":["event"],"id":"evt_5"}', b'{"object":{"a":1},"id":"evt_5"}',
    _START + b'"0001-01-01T00:00:00+14:00"}', _START + b'"9999-12-31T23:59:59-14:00"}',
)  # fmt: skip
EVENTS = (
    _START + b'1,"data":{"object":{"id":"\\ud800"}}}', _START + b'1,"x":"\\ud800"}', _START + b'1,"x":"\\u0000"}',
    _START + b'1,"account":{"id":["a"]},"id":"evt_2"}', _START + b'1,"data":[1],"related_object":{"id":7}}',
    _START + b'1,"type":"charge.dispute.created","data":{"object":{"id":"dp_1","amount":NaN}}}',
    _START + b'1,"account":"' + b"a" * 255 + b'"}',
    _START + b'1,"data":{"object":{"metadata":{"refund_operation_id":"' + b"x" * 255 + b'"}}}}',
    _START + b'1,"request":{"idempotency_key":"refund:' + b"x" * 240 + b'"}}',
)  # fmt: skip


@pytest.fixture(autouse=True)
def _secret(settings):
    settings.STRIPE_WEBHOOK_SECRETS = (SECRET,)


@pytest.mark.failure("F136")
@pytest.mark.parametrize("body", NO_EVENTS, ids=range(len(NO_EVENTS)))
def test_what_is_no_event_is_refused_and_leaves_nothing(client, body):
    assert deliver(client, body).status_code == 400
    assert not GatewayWebhook.objects.exists()
    assert not ErasableText.objects.exists()


@pytest.mark.failure("F136")
@pytest.mark.parametrize("body", EVENTS, ids=range(len(EVENTS)))
def test_what_an_event_holds_beside_what_is_read_does_no_harm(client, body):
    assert deliver(client, body).status_code == 200
    assert GatewayWebhook.objects.get().body.body == body.decode()


@pytest.mark.parametrize(
    "signature",
    ["", ",", "t=", "t=1", "t=1,v1=", "t=1,v1=\xe9", "t=1,t=2,v1=a", "v1=" * 5000, "t=-1,v1=a", "=,=,="],
)
def test_a_forged_signature_is_refused_whatever_its_shape(client, signature):
    assert deliver(client, event(), signature=signature).status_code == 400
    assert not ErasableText.objects.exists()


def test_other_methods_and_bodies_beyond_the_limit_are_refused(client):
    for method in ("get", "head", "put", "patch", "delete", "options", "trace"):
        assert getattr(client, method)("/webhooks/stripe").status_code in {405, 403}
    assert client.generic("POST", "/webhooks/stripe", b"x" * 5_000_000).status_code == 413
