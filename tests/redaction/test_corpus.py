"""Every row through every policy: logs and reports, prompts, and the door."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.intake import (
    IntakeRefusedError,
    check_message,
    check_note,
    removed_from,
    tell_removed,
    without_sensitive_data,
)
from ledger.redaction import MASK, Kind, find_sensitive, redact, redact_text
from refunds.proposers.customer_text import prepare_customer_text
from tests.redaction.rows import LOOK_ALIKES, MUST, leaks

REFUSED = {"CARD_NUMBER": "MESSAGE_HAS_CARD_NUMBER", "SECURITY_CODE": "MESSAGE_HAS_SECURITY_CODE"}
KINDS = sorted({row.kind for row in MUST})
of_every_kind = pytest.mark.parametrize("kind", KINDS)
# Pieces that meet in hostile texts.
PIECES = st.sampled_from(
    [*(row.text for row in MUST), *LOOK_ALIKES, MASK, "[password removed]", "[\u2026]", "password", ": ", " is ", "=", "\n",
     "@", "%40", "4242 ", "cvv", '"', "{", "Bearer ", "é", "\u200b", "DE89"]
)  # fmt: skip


def test_the_corpus_is_as_large_as_it_claims():
    assert len(MUST) >= 200
    assert len(LOOK_ALIKES) >= 100
    assert {row.kind for row in MUST} == set(Kind) - {Kind.IDENTITY}
    assert len({row.text for row in MUST} | set(LOOK_ALIKES)) == len(MUST) + len(LOOK_ALIKES)
    assert [row for row in MUST if not all(secret and secret in row.text for secret in row.secrets)] == []


def rows_of(kind):
    return [row for row in MUST if row.kind == kind]


@of_every_kind
def test_it_vanishes_from_whatever_is_logged_or_reported(kind):
    for row in rows_of(kind):
        shown = redact_text(row.text)
        assert leaks([row], shown) == []
        assert MASK in shown
        assert kind in {span.kind for span in find_sensitive(row.text)}, row
        nested = redact({"event": row.text, "more": [row.text.encode()], row.text: 1})
        assert leaks([row], str(nested)) == []


@of_every_kind
def test_it_vanishes_from_prompts(kind):
    for row in rows_of(kind):
        prepared = prepare_customer_text(row.text)
        assert prepared is not None
        assert leaks([row], prepared) == []
        assert prepare_customer_text(prepared) == prepared


@pytest.mark.parametrize("kind", sorted(REFUSED))
def test_card_data_is_refused_at_the_door(kind):
    for row in rows_of(kind):
        for check, code in (
            (check_message, REFUSED[kind]),
            (check_note, REFUSED[kind].replace("MESSAGE", "NOTE")),
        ):
            with pytest.raises(IntakeRefusedError) as refused:
                check(row.text)
            assert refused.value.code == code, row
            assert leaks([row], refused.value.text, without_sensitive_data(row.text)) == []


@pytest.mark.parametrize("kind", sorted(set(KINDS) - set(REFUSED)))
def test_the_rest_is_replaced_in_the_open_at_the_door(kind):
    for row in rows_of(kind):
        kept = check_message(row.text)
        assert leaks([row], kept) == []
        assert kind in removed_from(kept), row
        assert tell_removed(kept).startswith("We took out what looked like a")
        assert check_message(kept) == check_note(kept) == without_sensitive_data(kept) == kept


def test_look_alikes_stay():
    for policy in (redact_text, check_message, prepare_customer_text):
        changed = [text for text in LOOK_ALIKES if policy(text) != text]
        assert len(changed) <= 0.02 * len(LOOK_ALIKES), changed


@pytest.mark.parametrize("before", [55_990, 63_995])
def test_it_vanishes_wherever_it_stands_in_a_long_text(before):
    for row in MUST[::25]:
        filling = ("so it goes on. " * 10_000)[:before] + "\n"
        assert leaks([row], redact_text(f"{filling}{row.text}\n{filling}")) == []
    value = "kettle" * 5_000
    shown = redact_text(f"{'so it goes on. ' * 4_200}\ncookie: a={value}\n{'so it goes on. ' * 9_000}")
    assert "kettle" not in shown
    assert shown.count("so it goes on.") == 13_200


@given(st.lists(PIECES, max_size=5).map("".join))
def test_redacting_twice_is_redacting_once(text):
    once = redact_text(text)
    assert redact_text(once) == once


@given(st.lists(PIECES, max_size=5).map("".join))
def test_what_the_door_keeps_it_keeps_unchanged(text):
    try:
        kept = check_message(text)
    except IntakeRefusedError:
        return
    assert check_message(kept) == kept


@given(st.lists(PIECES, max_size=4).map("".join))
def test_a_prepared_text_stays_as_it_is(text):
    prepared = prepare_customer_text(text)
    assert prepared is None or prepare_customer_text(prepared) == prepared


WORDS = st.sampled_from(["", "said ", "I paid and then\n", "value: ", "- ", "(", "'", "see, "])


@given(
    st.sampled_from(MUST),
    WORDS,
    st.sampled_from([" thanks", ".\n", ")", "'", '"}', "&b=1", " 7"]),
)
def test_words_around_it_hide_nothing(row, before, after):
    shown = redact_text(f"{before}{row.text}{after}")
    assert leaks([row], shown) == []
