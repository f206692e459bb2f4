from datetime import timedelta

import pytest

from ledger.findings import ReasonCode
from refunds.console.wording import (
    WHY_A_PERSON,
    WHY_NOT_DONE,
    WHY_REFUSED,
    waiting_text,
    why_a_person,
    why_refused,
)
from refunds.proposers.check_results import CheckRule
from refunds.states import CheckVerdict


def test_every_reason_that_can_open_a_case_has_a_sentence():
    to_people = {
        *(code for code in ReasonCode if code.needs_investigation),
        *CheckRule,
        "PERSON_REQUIRED",
        "CUSTOMER_ASKED_PERSON",
        "POLICY_MISSING",
        "POLICY_OVERLAP",
        "POLICY_UNREADABLE",
        CheckVerdict.NOT_FOUND_YET,
        CheckVerdict.STILL_AMBIGUOUS,
        CheckVerdict.CONFIRMED_FAILED,
        "ANSWER_FAILED",
        "ANSWER_REFUSED",
    }
    assert to_people - set(WHY_A_PERSON) == set()


def test_an_unknown_code_is_shown_as_it_is():
    assert why_a_person("SOMETHING_NEW") == "Reason code: SOMETHING_NEW."
    assert why_a_person("") == "No reason was recorded."


@pytest.mark.parametrize(
    "code",
    [
        *("NOTE_REQUIRED", "NOTE_TOO_LONG", "NOTE_NOT_READABLE"),
        *("NOTE_HAS_CARD_NUMBER", "NOTE_HAS_SECURITY_CODE"),
    ],
)
def test_what_is_wrong_with_a_note_has_a_sentence_wherever_notes_are_written(code):
    assert WHY_NOT_DONE[code] == WHY_REFUSED[code]


@pytest.mark.parametrize("code", [*WHY_REFUSED, "SOMETHING_NEW"])
def test_every_refusal_says_that_nothing_was_recorded(code):
    assert why_refused(code).endswith(". Your decision was not recorded.")


@pytest.mark.parametrize(
    ("waiting", "text"),
    [
        (timedelta(seconds=-5), "less than a minute"),
        (timedelta(seconds=59), "less than a minute"),
        (timedelta(minutes=1), "1 min"),
        (timedelta(minutes=130), "2 h 10 min"),
        (timedelta(days=3, hours=4, minutes=59), "3 d 4 h"),
    ],
)
def test_a_waiting_time_is_given_in_its_two_largest_units(waiting, text):
    assert waiting_text(waiting) == text
