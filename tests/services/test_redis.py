import os
import socket
import stat

import pytest
import redis as client

from config.demo.services import ports, redis
from config.demo.services.failure import ServiceError
from tests.services.processes import alive


def nothing():
    pass


def test_it_answers_its_password_keeps_nothing_and_goes_with_its_folder():
    server = redis.start(check=nothing)

    try:
        with client.Redis.from_url(server.url) as connection:
            assert connection.ping() is True
            assert connection.config_get("save") == {"save": ""}
            assert connection.config_get("appendonly") == {"appendonly": "no"}
            assert connection.config_get("bind") == {"bind": "127.0.0.1"}
        with client.Redis(port=server.port) as stranger, pytest.raises(client.AuthenticationError):
            stranger.ping()
    finally:
        server.stop()
    assert not alive(server.child.pid)
    assert not server.folder.exists()


def test_a_port_that_was_taken_meanwhile_is_given_up(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        offers = iter([taken.getsockname()[1], ports.free_port()])
        monkeypatch.setattr(ports, "free_port", lambda: next(offers))

        server = redis.start(check=nothing)

        server.stop()
        assert server.port != taken.getsockname()[1]


def test_the_server_on_path_serves_where_none_is_bundled(tmp_path, monkeypatch):
    bundled = redis.find_program()
    (tmp_path / "redis-server").symlink_to(bundled)
    monkeypatch.setattr(redis.importlib.util, "find_spec", lambda _name: None)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert redis.find_program() == str(tmp_path / "redis-server")


def test_without_any_server_one_sentence_says_what_to_do(tmp_path, monkeypatch):
    broken = tmp_path / "redis-server"
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(stat.S_IRWXU)
    monkeypatch.setattr(redis.importlib.util, "find_spec", lambda _name: None)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/nowhere")

    with pytest.raises(ServiceError) as missing:
        redis.start(check=nothing)

    assert str(missing.value) == (
        "Redis: no redis-server was found that runs on this machine\n"
        "What to do: install redis-server with your system's package manager, or set REDIS_URL to a Redis server"
    )
