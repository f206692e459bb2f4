from datetime import UTC, datetime

import pytest

from refunds.proposers.attempts import read_retry_after

NOW = datetime(2026, 8, 11, 10, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        ("0", 0.0),
        ("-3", 0.0),
        ("Tue, 11 Aug 2026 10:00:30 GMT", 30.0),
        ("Tue, 11 Aug 2026 12:00:30 +0200", 30.0),
        ("Tue, 11 Aug 2026 10:00:30 -0000", 30.0),
        ("Tue, 11 Aug 2026 09:00:00 GMT", 0.0),
    ],
)
def test_retry_after_is_seconds_or_a_date(header, seconds):
    assert read_retry_after(header, now=NOW) == seconds


@pytest.mark.parametrize("header", [None, "", "soon", "nan", "inf", "Tue, 99 Aug 2026 10:00:30 GMT", "1e999"])
def test_an_unusable_retry_after_is_ignored(header):
    assert read_retry_after(header, now=NOW) is None
