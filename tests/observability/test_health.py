"""Probes: what they answer to whom, and what they ask."""

import socket
import time

import pytest
from django.db import connection
from django.test import Client, override_settings

from config import health
from config.health import Readiness

STRANGER = {"REMOTE_ADDR": "203.0.113.9"}


def ask(path, **meta):
    return Client().get(path, **{"HTTP_HOST": "localhost"} | meta)


@pytest.fixture
def nowhere(monkeypatch):
    """A database that refuses connections."""
    monkeypatch.setitem(connection.settings_dict, "PORT", "1")


def test_the_process_answers_without_asking_anybody(nowhere, log):
    with override_settings(CELERY_BROKER_URL="redis://127.0.0.1:1/0"):
        answer = ask("/livez", **STRANGER)
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert log.text == ""


@pytest.mark.django_db
def test_a_migrated_database_is_ready():
    answer = ask("/readyz")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")
    assert answer.json() == {"status": "ready", "database": "ok", "migrations": "ok", "redis": "ok"}
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.django_db
def test_without_redis_requests_are_still_served():
    with override_settings(CELERY_BROKER_URL="redis://127.0.0.1:1/0"):
        answer = ask("/readyz")
    assert (answer.status_code, answer.json()["status"], answer.json()["redis"]) == (
        200,
        "ready",
        "unreachable",
    )


@pytest.mark.django_db
def test_a_missing_migration_is_not_ready(monkeypatch):
    monkeypatch.setattr(health, "_newest", {("refunds", "9999_not_applied")})
    answer = ask("/readyz")
    assert (answer.status_code, answer.json()["migrations"]) == (503, "pending")


def test_a_database_that_is_away_is_not_ready(nowhere):
    answer = ask("/readyz")
    assert answer.status_code == 503
    assert answer.json() == {
        "status": "unready", "database": "unreachable", "migrations": "unknown", "redis": "ok",
    }  # fmt: skip


def test_a_database_that_hangs_holds_the_probe_for_seconds_only(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setitem(connection.settings_dict, "HOST", "127.0.0.1")
        monkeypatch.setitem(connection.settings_dict, "PORT", str(silent.getsockname()[1]))
        begun = time.monotonic()
        assert ask("/readyz").status_code == 503
        assert time.monotonic() - begun < 5


@pytest.mark.django_db
@pytest.mark.parametrize(
    "meta", [STRANGER, {"HTTP_X_FORWARDED_FOR": "127.0.0.1"}, {"HTTP_HOST": "desk.example"}]
)
def test_strangers_learn_one_word(meta, nowhere):
    answer = ask("/readyz", **meta)
    assert (answer.status_code, answer.json()) == (503, {"status": "unready"})


def test_anybody_may_ask_and_the_services_are_asked_once_a_second(monkeypatch):
    asked, now = [], [10.0]
    monkeypatch.setattr(
        health, "_database_parts", lambda: asked.append(1) or {"database": "ok", "migrations": "ok"}
    )
    seen = Readiness(clock=lambda: now[0])
    for _ in range(5):
        seen.parts()
    assert len(asked) == 1
    now[0] += 1
    seen.parts()
    assert len(asked) == 2


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics"])
def test_probes_need_no_host_and_no_https(settings, path):
    settings.SECURE_SSL_REDIRECT = True
    settings.METRICS_TOKEN = "right-right-right"
    told = {"HTTP_HOST": "10.1.2.3:8000", "HTTP_AUTHORIZATION": "Bearer right-right-right"}
    assert ask(path, **told).status_code == 200
    assert Client().head(path, **told).status_code == 200
    assert Client().post(path).status_code == 405


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("proxies", "meta", "status"),
    [
        (0, {}, 200),
        (0, {"REMOTE_ADDR": "::1"}, 200),
        (0, STRANGER, 403),
        (0, {"REMOTE_ADDR": ""}, 403),
        (0, {"HTTP_X_FORWARDED_FOR": "127.0.0.1"}, 403),  # a proxy that nobody told us of
        (0, {"HTTP_FORWARDED": "for=127.0.0.1"}, 403),
        (1, {}, 200),  # the proxy was not passed
        (1, {"HTTP_X_FORWARDED_FOR": "127.0.0.1, 203.0.113.9"}, 403),
        (1, {"HTTP_X_FORWARDED_FOR": "203.0.113.9, 127.0.0.1"}, 403),  # a client's own word, or a proxy here
        (1, {"HTTP_X_FORWARDED_FOR": "127.0.0.1"}, 403),
        (0, {"HTTP_X_REAL_IP": "127.0.0.1"}, 403),
        (0, {"HTTP_VIA": "1.1 proxy"}, 403),
        (0, {"HTTP_X_FORWARDED_FOR": ""}, 403),
        (0, {"HTTP_HOST": "desk.example"}, 403),  # a proxy here that adds nothing
        (0, {"HTTP_HOST": ""}, 403),
        (0, {"HTTP_HOST": "127.0.0.1.evil.example"}, 403),
        (0, {"HTTP_HOST": "localhost@evil.example"}, 403),
        (0, {"HTTP_HOST": "127.0.0.1:8000"}, 200),
        (0, {"HTTP_HOST": "[::1]:8000"}, 200),
        (0, {"HTTP_HOST": "LocalHost"}, 200),
        (2, {"HTTP_X_FORWARDED_FOR": "127.0.0.1"}, 403),
        (1, STRANGER, 403),
    ],
)
def test_without_a_token_the_numbers_are_for_this_machine(settings, proxies, meta, status):
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = proxies
    assert ask("/metrics", **meta).status_code == status


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({}, 403),
        ({"HTTP_AUTHORIZATION": "Bearer wrong-wrong-wrong"}, 403),
        ({"HTTP_AUTHORIZATION": "Bearer right-right-right"}, 200),
        ({"HTTP_AUTHORIZATION": "Bearer \udcff"}, 403),
        ({"HTTP_AUTHORIZATION": "Bearer right-right-right", **STRANGER}, 200),
    ],
)
def test_with_a_token_only_its_holders_see_them(settings, sent, status):
    settings.METRICS_TOKEN = "right-right-right"
    answer = ask("/metrics", **sent)
    assert answer.status_code == status
    assert (b"refund_desk_" in answer.content) == (status == 200)
