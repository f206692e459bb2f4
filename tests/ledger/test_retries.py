"""The waiting rules: attempts are totals, waits are random below a growing bound, exceptions are never retried."""

import pytest

from ledger.retries import GATEWAY_LOOKUP, LEDGER_SOURCE, RetryRule, run_attempts


def never_again(_answer):
    return False


def again(_answer):
    return True


def run(rule, answers, *, is_passing, waits):
    remaining = iter(answers)
    return run_attempts(rule, lambda: next(remaining), is_passing=is_passing, sleep=waits.append)


def test_an_answer_that_stands_is_not_asked_for_again():
    waits = []
    done = run(LEDGER_SOURCE, ["first"], is_passing=never_again, waits=waits)
    assert (done.answer, done.attempts, waits) == ("first", 1, [])


def test_the_first_answer_that_stands_is_returned():
    waits = []
    done = run(LEDGER_SOURCE, ["down", "up"], is_passing=lambda answer: answer == "down", waits=waits)
    assert (done.answer, done.attempts, len(waits)) == ("up", 2, 1)


@pytest.mark.parametrize(("rule", "cap"), [(LEDGER_SOURCE, 3), (GATEWAY_LOOKUP, 5)])
def test_the_desks_rules_are_three_attempts_in_all_and_their_caps(rule, cap):
    waits = []
    done = run(rule, ["a", "b", "c", "d"], is_passing=again, waits=waits)
    assert (done.answer, done.attempts, len(waits)) == ("c", 3, 2)
    assert rule.wait_cap_seconds == cap


def test_waits_are_spread_over_the_whole_range_below_a_bound_that_doubles_up_to_the_cap():
    rule = RetryRule(attempts=5, wait_cap_seconds=3.0, first_wait_seconds=1.0)
    rounds = []
    for _ in range(200):
        waits = []
        run(rule, range(5), is_passing=again, waits=waits)
        rounds.append(waits)
    for number, bound in enumerate((1.0, 2.0, 3.0, 3.0)):
        seen = [waits[number] for waits in rounds]
        assert 0 <= min(seen) < bound / 4  # the chance that 200 spread waits all miss a quarter is 1e-25
        assert bound * 3 / 4 < max(seen) <= bound


def test_an_exception_is_not_an_answer_and_is_raised_at_once():
    calls = []

    def ask():
        calls.append(1)
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        run_attempts(LEDGER_SOURCE, ask, is_passing=again, sleep=calls.append)
    assert calls == [1]
