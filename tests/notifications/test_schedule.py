from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from notifications.schedule import MAX_ATTEMPTS, ceiling, next_attempt_at

NOW = datetime(2026, 11, 28, 10, 0, tzinfo=UTC)


def test_there_are_eight_attempts_over_about_a_day_on_average():
    waits = [ceiling(made) for made in range(1, MAX_ATTEMPTS)]
    assert waits[0] == timedelta(seconds=160)
    assert all(later == 3 * earlier for earlier, later in pairwise(waits))
    half = sum(waits, timedelta()) / 2
    assert timedelta(hours=24) < half < timedelta(hours=25)


def test_after_the_eighth_attempt_there_is_none():
    assert next_attempt_at(attempts_made=7, now=NOW, jitter=lambda s: s) == NOW + ceiling(7)
    assert next_attempt_at(attempts_made=8, now=NOW, jitter=lambda s: s) is None


@given(st.integers(1, 7), st.floats(0, 1))
def test_jitter_covers_everything_from_nothing_to_the_ceiling(made, share):
    due = next_attempt_at(attempts_made=made, now=NOW, jitter=lambda seconds: seconds * share)
    assert timedelta(0) <= due - NOW <= ceiling(made)
