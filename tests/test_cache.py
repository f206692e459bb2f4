import pytest
from django.core.cache import cache
from django.test import override_settings

UNREACHABLE = {
    "default": {
        "BACKEND": "config.cache.FailOpenRedisCache",
        "LOCATION": "redis://127.0.0.1:1/0",
        "OPTIONS": {"socket_connect_timeout": 0.2},
    }
}


def test_a_reachable_cache_remembers():
    cache.set("k", [1, 2], 10)
    assert cache.get("k") == [1, 2]
    assert cache.add("k", 3) is False
    assert cache.delete("k") is True
    cache.set("n", 1, 10)
    assert cache.incr("n") == 2


def test_a_cache_that_is_down_is_empty_and_never_an_error():
    with override_settings(CACHES=UNREACHABLE):
        cache.set("k", 1, 10)
        assert cache.get("k", "absent") == "absent"
        assert cache.add("k", 1) is True
        assert cache.delete("k") is False
        assert cache.touch("k", 5) is False
        assert cache.incr("n", 2) == 2


@pytest.mark.django_db
def test_sign_in_works_while_redis_is_down(client):
    with override_settings(CACHES=UNREACHABLE):
        answer = client.post("/accounts/login/", {"login": "nobody@example.com", "password": "wrong"})
    assert answer.status_code == 200
    assert b"password" in answer.content
