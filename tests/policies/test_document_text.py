"""What staff may upload as a house text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.redaction import find_in_words
from policies.document_text import (
    LANGUAGES,
    MAX_BODY,
    MAX_PARAGRAPH,
    MAX_PARAGRAPHS,
    DocumentRefusedError,
    check_body,
    check_language,
    check_title,
    paragraph_of,
)


def code_of(check, text):
    with pytest.raises(DocumentRefusedError) as refused:
        check(text)
    assert refused.value.text.endswith(".")
    return refused.value.code


def test_paragraphs_are_parted_by_one_empty_line_and_keep_their_words():
    assert check_body("\r\n One.\r\nStill one.\r\n \t \r\n\r\nTwo — é, שלום.\n\n\n\n") == (
        "One.\nStill one.\n\nTwo — é, שלום."
    )
    assert check_title("  How we word it ") == "How we word it"
    assert [paragraph_of("One.\n\nTwo.", number) for number in (1, 2)] == ["One.", "Two."]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "BODY_REQUIRED"),
        (" \r\n\t ", "BODY_REQUIRED"),
        ("\u00a0…—", "BODY_REQUIRED"),
        ("x" * (MAX_PARAGRAPH + 1), "PARAGRAPH_TOO_LONG"),
        ("\n\n".join(["ab"] * (MAX_PARAGRAPHS + 1)), "TOO_MANY_PARAGRAPHS"),
        ("x" * (MAX_BODY + 1), "BODY_TOO_LONG"),
    ],
)
def test_what_has_no_usable_length_is_refused(text, code):
    assert code_of(check_body, text) == code


def test_the_longest_text_is_taken():
    body = "\n\n".join(["x" * MAX_PARAGRAPH] * 13)
    assert check_body(body) == body
    assert len(body) <= MAX_BODY


def test_empty_lines_do_not_part_what_stands_together_once_stored():
    far = " \n" * 30
    assert code_of(check_body, f"4242 4242\n{far}4242 4242") == "BODY_HAS_CARD_NUMBER"


HIDDEN = {
    "NUL": "\x00", "bell": "\x07", "DEL": "\x7f", "surrogate": "\ud800", "override": "\u202e", "isolate": "\u2066",
    "zero width space": "\u200b", "joiner": "\u200d", "soft hyphen": "\u00ad", "byte order mark": "\ufeff",
    "tag letter": "\U000e0041", "filler": "\u3164", "variation selector": "\ufe0f", "private": "\ue000",
    "noncharacter": "\ufdd0", "line separator": "\u2028",
}  # fmt: skip


@pytest.mark.failure("F136")
@pytest.mark.parametrize("hidden", HIDDEN.values(), ids=HIDDEN)
def test_what_an_approver_cannot_see_is_refused(hidden):
    """Letters of the tag block spell orders to a model that no person sees on the page."""
    assert code_of(check_body, f"Say it{hidden} kindly.") == "BODY_NOT_READABLE"
    assert code_of(check_title, f"How{hidden} we say it") == "TITLE_NOT_READABLE"


def test_a_title_has_one_line():
    assert code_of(check_title, "One\ntwo") == "TITLE_NOT_READABLE"
    assert code_of(check_title, "x" * 81) == "TITLE_TOO_LONG"
    assert code_of(check_title, "  ") == "TITLE_REQUIRED"


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("card 4242 4242 4242 4242", "CARD_NUMBER"),
        ("write to ana@example.com", "EMAIL"),
        ("call +1 202 555 0143", "PHONE"),
        ("IBAN GB82 WEST 1234 5698 7654 32", "IBAN"),
        ("the password is hunter2", "PASSWORD"),
        ("CVV: 123", "SECURITY_CODE"),
        ("write to ana@example.com, card 4242 4242 4242 4242", "CARD_NUMBER"),
    ],
)
def test_personal_data_is_refused_and_named_and_never_taken_out(words, kind):
    assert code_of(check_body, f"If in doubt, {words}.") == f"BODY_HAS_{kind}"
    assert code_of(check_title, words) == f"TITLE_HAS_{kind}"


@settings(deadline=None)  # the machine may be busy
@given(st.text(max_size=600))
def test_what_is_stored_is_stable_bounded_and_clean(text):
    try:
        body = check_body(text)
    except DocumentRefusedError:
        return
    assert check_body(body) == body
    assert len(body) <= MAX_BODY
    assert all(0 < len(paragraph) <= MAX_PARAGRAPH for paragraph in body.split("\n\n"))
    assert find_in_words(body) == []
    assert "".join(body.split()) == "".join(text.split())


@pytest.mark.parametrize("text", ["EN", " de "])
def test_a_known_language_is_taken(text):
    assert check_language(text) in LANGUAGES


@pytest.mark.parametrize("text", ["", "xx", "english", "e\u0301"])
def test_another_language_is_refused(text):
    assert code_of(check_language, text) == "LANGUAGE_UNKNOWN"
