"""A database that restarted, and a Redis that hangs."""

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import psycopg
import pytest
from django.conf import settings as django_settings
from django.core.cache import cache, caches
from django.db import connection
from django.test import override_settings

from config import celery as deployment
from config.cache import FailOpenRedisCache, Pause
from refunds.nudges import DELIVER
from refunds.tasks import send_nudges
from tests.factories import make_customer


@pytest.fixture
def silent_port():
    """A server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=50) as server:
        yield server.getsockname()[1]


@pytest.fixture
def hanging(silent_port):
    """The cache as it is deployed, on a Redis that hangs, by a clock that the test moves."""
    options = {"socket_timeout": 0.2, "socket_connect_timeout": 0.2}
    options = django_settings.CACHES["default"]["OPTIONS"] | options
    now = [100.0]
    hung = FailOpenRedisCache(f"redis://127.0.0.1:{silent_port}/0", {"OPTIONS": options})
    hung.pause = Pause(seconds=3, clock=lambda: now[0])
    return hung, now


def seconds_of(call):
    begun = time.monotonic()
    call()
    return time.monotonic() - begun


def test_the_pool_waits_for_seconds_and_notices_the_server_again():
    pool = django_settings.DATABASES["default"]["OPTIONS"]["pool"]
    assert (pool["timeout"], pool["reconnect_timeout"]) == (3, 2)


def end_sessions():
    """End every session of this database, as a restart of the server does; return how many there were."""
    database = connection.settings_dict
    with psycopg.connect(
        host=database["HOST"],
        port=database["PORT"],
        user=database["USER"],
        password=database["PASSWORD"],
        dbname="postgres",
        autocommit=True,
    ) as other:
        ended = other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [database["NAME"]]
        ).fetchall()
    return len(ended)


def hold_connections(number):
    """Take so many connections of this process's pool at once, and give them all back."""
    together = Barrier(number)

    def hold(_thread):
        connection.ensure_connection()
        together.wait(30)
        connection.close()

    with ThreadPoolExecutor(number) as threads:
        list(threads.map(hold, range(number)))


@pytest.mark.slow  # it ends every session of the database, so nothing else may use the pool meanwhile
@pytest.mark.failure("F060")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("idle", [1, 15])
def test_connections_that_the_server_ended_are_not_handed_out(client, idle):
    client.force_login(make_customer().user)
    assert client.get("/support/requests/").status_code == 200
    connection.close()  # back to the pool
    hold_connections(idle)
    assert end_sessions() >= idle
    assert client.get("/support/requests/").status_code == 200


def test_a_cache_that_hangs_is_asked_once_and_then_left_alone_for_a_while(hanging):
    hung, now = hanging
    assert seconds_of(lambda: hung.get("k")) >= 0.2
    assert seconds_of(lambda: [hung.add("k", 1), hung.set("k", 1), hung.get("k"), hung.incr("k")]) < 0.1
    assert (hung.get("k", "absent"), hung.add("k", 1), hung.delete("k")) == ("absent", True, False)
    now[0] += 3
    assert seconds_of(lambda: hung.get("k")) >= 0.2


def test_what_one_thread_learns_about_redis_holds_for_the_process(silent_port):
    location = f"redis://127.0.0.1:{silent_port}/0"
    first, second = (FailOpenRedisCache(location, {}) for _ in range(2))
    assert first.pause is second.pause
    assert caches["default"].pause is not first.pause


def test_the_deployed_cache_waits_a_second_and_tries_once():
    options = cache._cache.get_client().connection_pool.connection_kwargs
    assert (options["socket_timeout"], options["socket_connect_timeout"]) == (1, 1)
    assert options["retry"].get_retries() == 0


@pytest.mark.django_db
def test_sign_in_waits_once_for_a_redis_that_hangs(client, silent_port):
    deployed = django_settings.CACHES["default"]
    with override_settings(CACHES={"default": deployed | {"LOCATION": f"redis://127.0.0.1:{silent_port}/0"}}):
        waited = seconds_of(
            lambda: client.post("/accounts/login/", {"login": "nobody@example.com", "password": "wrong"})
        )
    assert 1 <= waited < 4


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_hangs_holds_a_publisher_for_about_a_second(silent_port, monkeypatch, caplog):
    options = deployment.app.conf.broker_transport_options
    assert (options["socket_timeout"], options["socket_connect_timeout"], options["max_retries"]) == (1, 1, 0)

    publish = deployment.app.send_task

    def on_the_hung_broker(name, **members):
        with deployment.app.connection_for_write(f"redis://127.0.0.1:{silent_port}/0") as hung:
            return publish(name, connection=hung, **members)

    monkeypatch.setattr(deployment.app, "send_task", on_the_hung_broker)
    assert 0.9 < seconds_of(lambda: send_nudges([DELIVER])) < 2.5
    assert "nudge.lost" in caplog.text


def test_a_worker_waits_longer_for_work():
    published = deployment.app.conf.broker_transport_options
    try:
        deployment._wait_longer_for_work()
        options = deployment.app.conf.broker_transport_options
        assert (options["socket_timeout"], options["socket_connect_timeout"]) == (10, 1)
        assert options["max_retries"] is None
    finally:
        deployment.app.conf.broker_transport_options = published
