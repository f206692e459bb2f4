"""Redis that is gone, silent, strange or back: questions are asked all the time, and nothing raises or waits for long."""

import time

import pytest
from redis.exceptions import RedisError

from config.demo.services import ports
from refunds.proposers.redis_breaker import connect
from tests.proposers.breakers import ANSWERED, FAILED, Trial
from tests.proposers.hanging_redis import hanging_redis


class PauseClock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def nobody():
    """A breaker whose Redis refuses connections."""
    return Trial(url=f"redis://127.0.0.1:{ports.free_port()}/0")


def test_without_redis_every_question_is_let_through(nobody):
    assert nobody.fail(50) == [True] * 50
    assert nobody.breaker.state() is None
    permit = nobody.breaker.admit()
    nobody.breaker.release(permit)
    nobody.breaker.report(permit, FAILED, asked_for="somebody")


def test_a_redis_that_hangs_is_waited_for_once_and_then_left_alone():
    with hanging_redis() as (url, taken):
        pause = PauseClock()
        trial = Trial(url=url, pause_clock=pause)
        started = time.monotonic()
        assert trial.fail(200) == [True] * 200
        assert time.monotonic() - started < 3
        assert len(taken) == 1

        pause.now = 3.1
        assert trial.ask(ANSWERED)
        assert len(taken) == 2


def test_redis_that_is_back_counts_again():
    pause = PauseClock()
    trial = Trial(pause_clock=pause)
    evalsha = trial.client.evalsha

    def gone(*_args, **_kwargs):
        raise RedisError("gone")

    trial.client.evalsha = gone
    assert trial.fail(20) == [True] * 20
    trial.client.evalsha = evalsha
    assert trial.fail(20) == [True] * 20  # it is still left alone
    pause.now = 3.0

    trial.fail(6)

    assert trial.state == "OPEN"


def test_a_wiped_redis_is_a_closed_breaker_and_takes_its_scripts_again():
    trial = Trial()
    trial.fail(6)
    assert trial.state == "OPEN"
    trial.client.delete(*trial.breaker._keys)
    trial.client.script_flush()

    assert trial.answer(3) == [True] * 3
    assert trial.state == "CLOSED"


def test_keys_of_another_type_are_let_through():
    trial = Trial()
    trial.client.set(trial.breaker._keys[0], "not a hash")
    assert trial.fail(8) == [True] * 8
    assert trial.breaker.state() is None


def test_celerys_name_for_a_socket_is_understood():
    options = connect("redis+socket:///run/redis.sock").connection_pool.connection_kwargs
    assert options["path"] == "/run/redis.sock"
    assert options["socket_timeout"] < 1
