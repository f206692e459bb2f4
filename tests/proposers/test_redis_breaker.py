"""When the shared breaker opens, probes and closes; the clock stands still unless the test moves it."""

import pytest

from refunds.proposers.breaker import BreakerThresholds, outcome_of
from refunds.proposers.port import Declined, DeclinedKind, Proposed, Unavailable, UnavailableKind
from tests.proposers.breakers import ANSWERED, FAILED, LIMITS, TIMED_OUT, Trial


@pytest.fixture
def trial():
    return Trial()


@pytest.fixture
def opened(trial):
    trial.fail(6)
    assert trial.state == "OPEN"
    return trial


def test_half_of_enough_questions_open_it(trial):
    trial.answer(3)
    trial.fail(2)
    assert trial.state == "CLOSED"

    assert trial.ask(FAILED, by="a third person")

    assert trial.state == "OPEN"
    assert not trial.ask(ANSWERED)


def test_fewer_than_half_do_not(trial):
    trial.answer(20)
    trial.fail(19)
    assert trial.state == "CLOSED"


def test_three_timeouts_in_ten_open_it_and_three_other_failures_do_not(trial):
    trial.answer(8)
    trial.fail(3)
    assert trial.state == "CLOSED"
    other = Trial()
    other.answer(7)
    other.fail(3, outcome=TIMED_OUT)
    assert other.state == "OPEN"


def test_too_few_questions_never_open_it(trial):
    trial.fail(5)
    assert trial.state == "CLOSED"


def test_one_persons_failures_never_open_it(trial):
    for _ in range(50):
        assert trial.ask(TIMED_OUT, by="the same")
    assert trial.ask(TIMED_OUT, by="one more")
    assert trial.state == "CLOSED"


def test_one_persons_failures_do_not_make_the_rate_for_everybody(trial):
    trial.answer(12)
    for _ in range(40):
        assert trial.ask(TIMED_OUT, by="the same")
    assert trial.ask(FAILED, by="person-0")
    assert trial.ask(FAILED, by="person-1")
    assert trial.state == "CLOSED"


def test_one_persons_answers_do_not_hide_what_fails_for_everybody(trial):
    for _ in range(40):
        assert trial.ask(ANSWERED, by="the same")
    trial.fail(6)
    assert trial.state == "OPEN"


def test_the_window_rolls(trial):
    trial.fail(5)
    trial.clock.forward(60)
    trial.fail(5)
    assert trial.state == "CLOSED"

    trial.clock.forward(59)
    trial.ask(FAILED, by="somebody")

    assert trial.state == "OPEN"


def test_after_the_cooldown_only_so_many_find_out(opened):
    opened.clock.forward(29.999)
    assert not opened.breaker.admit().allowed

    opened.clock.forward(0.001)
    allowed = [opened.breaker.admit().allowed for _ in range(5)]

    assert allowed == [True, True, False, False, False]
    assert opened.state == "HALF_OPEN"


def test_two_answers_close_it_and_forget_the_failures(opened):
    opened.clock.forward(30)
    assert opened.ask(ANSWERED)
    assert opened.state == "HALF_OPEN"

    assert opened.ask(ANSWERED)

    assert opened.state == "CLOSED"
    opened.fail(5)
    assert opened.state == "CLOSED"


@pytest.mark.parametrize("outcome", [FAILED, TIMED_OUT])
def test_one_failed_probe_opens_it_for_another_cooldown(opened, outcome):
    opened.clock.forward(30)
    opened.ask(ANSWERED)
    opened.ask(outcome)

    assert opened.state == "OPEN"
    opened.clock.forward(29)
    assert not opened.breaker.admit().allowed
    opened.clock.forward(1)
    assert opened.breaker.admit().allowed


def test_a_probe_that_tells_nothing_frees_its_place_after_its_lease(opened):
    opened.clock.forward(30)
    silent = [opened.breaker.admit() for _ in range(2)]
    opened.clock.forward(LIMITS.probe_lease_seconds - 1)
    assert not opened.breaker.admit().allowed

    opened.clock.forward(1)
    assert opened.ask(ANSWERED)

    # What the forgotten probes say now is nobody's any more, and opens nothing.
    for permit in silent:
        opened.breaker.report(permit, FAILED, asked_for="late")
    assert opened.state == "HALF_OPEN"


def test_a_probe_that_was_never_asked_gives_its_place_back(opened):
    opened.clock.forward(30)
    opened.breaker.release(opened.breaker.admit())
    assert [opened.breaker.admit().allowed for _ in range(3)] == [True, True, False]


def test_questions_from_before_it_opened_say_nothing_about_afterwards(trial):
    early = [trial.breaker.admit() for _ in range(4)]
    trial.fail(6)
    trial.clock.forward(30)
    for permit in early[:2]:
        trial.breaker.report(permit, ANSWERED, asked_for="early")
    assert trial.state == "HALF_OPEN"  # its cooldown is over; nobody has found out
    trial.answer(2)
    assert trial.state == "CLOSED"
    for permit in early[2:]:
        trial.breaker.report(permit, FAILED, asked_for="early")
    trial.fail(5)
    assert trial.state == "CLOSED"


def test_only_so_many_questions_are_kept(trial):
    limits = BreakerThresholds(min_questions=6, most_questions=10)
    busy = Trial(limits=limits)
    busy.fail(2)
    busy.clock.forward(1)
    busy.answer(100)
    assert busy.client.zcard(busy.breaker._keys[1]) == 10


def test_nothing_in_redis_is_kept_for_ever_or_names_a_person(opened):
    opened.clock.forward(30)
    opened.ask(ANSWERED, by="ana@example.com")
    opened.ask(ANSWERED, by="ana@example.com")
    opened.ask(FAILED, by="ana@example.com")
    keys = [key for key in opened.breaker._keys if opened.client.exists(key)]
    assert len(keys) == 2
    for key in keys:
        assert 0 < opened.client.ttl(key) <= 2000
    kept = opened.client.zrange(opened.breaker._keys[1], 0, -1)
    assert len(kept) == 1
    assert "ana" not in kept[0]


def test_endpoints_do_not_share_a_breaker(opened):
    assert Trial().ask(ANSWERED)
    assert not opened.ask(ANSWERED)


def test_an_endpoint_that_nobody_asked_for_long_is_forgotten(opened):
    opened.client.delete(*opened.breaker._keys)  # what Redis does when their time is over
    assert opened.state == "CLOSED"
    assert opened.ask(ANSWERED)


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        (UnavailableKind.TIMEOUT, TIMED_OUT),
        (UnavailableKind.RATE_LIMITED, FAILED),
        (UnavailableKind.SERVER_ERROR, FAILED),
        (UnavailableKind.CONNECTION_FAILED, FAILED),
        (UnavailableKind.UNREADABLE_ANSWER, ANSWERED),
        (UnavailableKind.STREAMED_ANSWER, ANSWERED),
        (UnavailableKind.REQUEST_REFUSED, ANSWERED),
    ],
)
def test_what_the_endpoint_does_counts_and_what_it_says_does_not(kind, outcome):
    assert outcome_of(Unavailable(kind=kind, detail="", requests=1, latency_ms=1)) is outcome
    assert outcome_of(Unavailable(kind=kind, detail="", requests=0, latency_ms=1)) is None


@pytest.mark.parametrize("kind", DeclinedKind)
def test_a_refusal_or_a_filter_is_an_answer(kind):
    declined = Declined(
        kind=kind, detail="", model_snapshot="m", prompt_version="p", latency_ms=1, requests=1
    )
    said = Proposed(raw_text="nonsense", model_snapshot="m", prompt_version="p", latency_ms=1, requests=1)
    assert outcome_of(declined) is outcome_of(said) is ANSWERED


@pytest.mark.parametrize(
    "wrong",
    [
        {"failure_rate": 0},
        {"timeout_rate": 1.1},
        {"min_people": 0},
        {"probes_at_once": 0},
        {"most_questions": 5},
    ],
)
def test_thresholds_that_mean_nothing_are_refused(wrong):
    with pytest.raises(ValueError):
        BreakerThresholds(**wrong)


def test_a_state_that_is_not_ours_is_no_state(trial):
    trial.client.hset(trial.breaker._keys[0], "state", "canary")
    assert trial.breaker.state() is None
