"""How often a customer may ask, and how long a token lasts."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.test import override_settings
from django.utils import timezone
from knox.models import AuthToken

from ledger.throttle import count_new_request
from refunds.models import RefundWorkflow
from tests.api.calls import URL, ask, problem_of, token_client
from tests.factories import make_customer
from tests.test_cache import UNREACHABLE

START = datetime(2026, 11, 28, 10, 0, 5, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _own_cache(settings):
    """Counters of this test alone: the Redis of a test run is shared by its processes."""
    settings.CACHES = {
        "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": uuid4().hex}
    }


@pytest.mark.failure("F102")
def test_a_customer_who_asks_too_often_waits_whatever_address_they_name(api, order, settings, monkeypatch):
    monkeypatch.setattr("refunds.api.views.now_utc", lambda: START)
    settings.NEW_REQUESTS_PER_MINUTE = 5
    answers = [
        ask(api, order_number=str(n), headers={"X-Forwarded-For": f"198.51.100.{n}"}) for n in range(20)
    ]
    assert [answer.status_code for answer in answers] == [404] * 5 + [429] * 15
    assert problem_of(answers[-1]) == (429, "throttled")
    assert answers[-1].headers["Retry-After"] == "55"
    other = token_client(make_customer().user)
    assert ask(other, order_number="1").status_code == 404
    assert api.get(URL).status_code == 200
    assert RefundWorkflow.objects.count() == 0


@pytest.mark.django_db
def test_the_next_minute_counts_anew(settings):
    settings.NEW_REQUESTS_PER_MINUTE = 2
    waits = [count_new_request(customer_id=7, now=START + timedelta(seconds=second)) for second in range(4)]
    assert waits == [0, 0, 53, 52]
    assert count_new_request(customer_id=8, now=START) == 0
    assert count_new_request(customer_id=7, now=START + timedelta(seconds=55)) == 0


@pytest.mark.django_db
def test_a_cache_that_is_away_refuses_nobody(settings):
    settings.NEW_REQUESTS_PER_MINUTE = 1
    with override_settings(CACHES=UNREACHABLE):
        assert [count_new_request(customer_id=7, now=START) for _ in range(3)] == [0, 0, 0]


@pytest.mark.failure("F099")
def test_an_order_that_is_not_theirs_is_logged_without_its_number(api, order, caplog):
    assert ask(api, order_number="SECRET-77").status_code == 404
    (line,) = [record.msg for record in caplog.records if "order.not_found" in record.getMessage()]
    assert line["customer_id"] == order.customer_id
    assert "SECRET-77" not in caplog.text


def test_a_token_ends_after_ninety_days(api):
    token = AuthToken.objects.get()
    assert timedelta(days=89) < token.expiry - timezone.now() <= timedelta(days=90)
    token.expiry = timezone.now() - timedelta(seconds=1)
    token.save()
    assert problem_of(api.get(URL)) == (401, "authentication_failed")
    assert not AuthToken.objects.exists()
