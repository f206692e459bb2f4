"""What redaction costs: linear in the text, and little for a usual line of the log."""

import time

import pytest

from ledger.redaction import redact_text
from tests.redaction.rows import MUST


def seconds(text):
    """Return the processor's seconds for one text."""
    begun = time.process_time()
    redact_text(text)
    return time.process_time() - begun


@pytest.mark.parametrize(
    "piece",
    [
        *("a", "a@", "a.", "9", "9 ", "(9", "+9", "0-", "é", "'", '"', "\\", " at ", "DE8", "de89 ", "password ", "password: "),
        *("cvv ", "security code of my ", "phone ", "phone is ", "://a", "://a:", "csrf_", "Bearer ", "token is ", "eyJ", "sk-"),
        *("-----BEGIN PRIVATE KEY-----", "%41", "&#64;", "\\u0041", "密码", "パスワードは", "cookie: a=", "authorization: "),
    ],
)  # fmt: skip
def test_no_piece_makes_it_slow(piece):
    once, twice = ((piece * 40_000)[: 40_000 * factor] for factor in (1, 2))
    assert seconds(once) < 1
    assert seconds(twice) < 2


def test_five_megabytes_take_seconds():
    line = "2026-11-30 worker advanced refund wf_01K2ABCDEFGHJKMNPQRSTVWXYZ to COMPLETED in 12 ms\n"
    rows = "\n".join(row.text for row in MUST if row.text.isascii())
    story = (line * 60_000)[: 5_000_000 - len(rows)] + rows
    assert len(story) == 5_000_000
    assert seconds(story) < 15
    assert seconds("x" * 5_000_000) < 5
